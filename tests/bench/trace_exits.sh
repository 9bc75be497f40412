#!/bin/bash
# trace_exits.sh COMMAND...: runs a monitor whose serial console is its stdout until the tiny guest
# prints its first line, with KVM's tracepoints on, and prints what the exits were for: first by
# reason, then by port, address, register or leaf, most frequent first. Tracing takes time, so
# there are a few more timer ticks than without it. Needs root and a host where KVM works.
set -euo pipefail

events=(kvm_exit kvm_pio kvm_mmio kvm_msr kvm_cpuid kvm_apic kvm_userspace_exit kvm_inj_virq)

work=$(mktemp -d)
monitor=""
clean_up() {
  [[ ! $monitor ]] || kill -KILL "$monitor" 2>/dev/null || true
  [[ ! ${tracing:-} ]] || echo 0 >"$tracing/events/kvm/enable"
  rm -rf "$work"
}
trap clean_up EXIT

tracing=/sys/kernel/tracing
mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
echo 0 >"$tracing/tracing_on"
echo 50000 >"$tracing/buffer_size_kb"
: >"$tracing/trace"
for event in "${events[@]}"; do echo 1 >"$tracing/events/kvm/$event/enable"; done

mkfifo "$work/serial"
echo 1 >"$tracing/tracing_on"
"$@" </dev/null >"$work/serial" &
monitor=$!
# grep ends at the line; the monitor then finds nobody to read, but is stopped already.
grep --max-count=1 'skiff-tiny: init' "$work/serial" >/dev/null || true
kill -STOP "$monitor"
echo 0 >"$tracing/tracing_on"

# ranked TITLE SED_PROGRAM: counts what the program makes of the trace's lines.
ranked() {
  printf '\n%s\n' "$1"
  sed -nE "$2" "$tracing/trace" | sort | uniq -c | sort -rn | head -n 25
}
port_of_pci='s/.*pio_write at 0xcf8 .* val 0x80([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2}) .*/bus \1 function \2 register \3/p'
ranked "exits by reason" 's/.*kvm_exit: .*reason ([^ ]+) .*/\1/p'
ranked "exits to the monitor" 's/.*kvm_userspace_exit: reason ([^ ]+) .*/\1/p'
ranked "ports" 's/.*kvm_pio: pio_([a-z]+ at 0x[0-9a-f]+) .*/\1/p'
ranked "PCI functions (hexadecimal device * 8 + function), by port" "${port_of_pci/ register \\3/}"
ranked "PCI registers, by port" "$port_of_pci"
ranked "MMIO" 's/.*kvm_mmio: mmio ([a-z-]+) len [0-9]+ gpa (0x[0-9a-f]+) .*/\1 \2/p'
ranked "MSRs" 's/.*kvm_msr: (msr_[a-z]+ [0-9a-f]+) .*/\1/p'
ranked "CPUID leaves" 's/.*kvm_cpuid: func ([0-9a-f]+) .*/\1/p'
ranked "instructions that write CR4" 's/.*reason write_cr4 (rip 0x[0-9a-f]+) .*/\1/p'
ranked "interrupts injected" 's/.*kvm_inj_virq: (.*)/\1/p'
