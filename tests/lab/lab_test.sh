#!/bin/bash
# What tests/lab/run promises, checked from outside. Most of it shares one boot of the machine.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run=$here/run
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/lab_test.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

# expect WHAT WANTED GOT
expect() {
  if [[ $2 == "$3" ]]; then
    echo "ok: $1"
  else
    printf 'FAILED: %s\n  wanted: %q\n  got:    %q\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

# lab NAME ARGUMENT...: runs the lab with results in $work/NAME; sets rc, stdout, stderr, status.
lab() {
  local dir=$work/$1
  shift
  mkdir -p "$dir"
  rc=0
  "$run" --out "$dir" "$@" >"$dir/stdout" 2>"$dir/stderr" || rc=$?
  stdout=$dir/stdout stderr=$dir/stderr status=$(cat "$dir/lab-status")
  [[ $rc -ne 125 ]] || sed 's/^/  | /' "$stderr"
}

# One boot with a script that looks at everything and ends with a status of its own.
one_boot() {
  local tree=$work/tree odd=$'a b\n"c" \'d\' $e \\ *'
  mkdir -p "$tree"
  echo original >"$tree/file"
  cat >"$work/inside" <<'END'
tree=$1 argument=$2 empty=$3
printf %s "$argument" >"$LAB_OUT/argument"
echo "$#:$empty:$COLOUR:$PWD" >"$LAB_OUT/given"
head -c 1048576 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null
echo "to stderr" >&2
echo changed >"$tree/file" && cat "$tree/file" >"$LAB_OUT/inside"
echo new >"$tree/new"
"$4"; echo $? >"$LAB_OUT/kvm_probe"
for path in /dev/kvm /dev/net/tun /dev/ptmx /dev/pts /dev/shm /sys/kernel/debug/kvm \
  /sys/fs/cgroup/cgroup.controllers /proc/self /dev/fd/2; do
  [ -e "$path" ] || echo "$path is missing"
done >"$LAB_OUT/missing"
unshare --user --map-root-user true || echo "no user namespaces" >>"$LAB_OUT/missing"
(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1 | grep -q 'Connection refused' || \
  echo "no loopback interface" >>"$LAB_OUT/missing"
nproc >"$LAB_OUT/nproc"
exit 7
END
  export COLOUR="blue green"
  cd "$work" || exit 1
  lab boot --accel lab --timeout 120 -- \
    bash "$work/inside" "$tree" "$odd" "" "$("$here/prepare" --programs)/kvm_probe"
  expect "the command's status is passed on" 7 "$rc"
  expect "the status file says so" "exited 7" "$status"
  expect "a mebibyte of output arrives whole" \
    "$(head -c 1048576 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null | md5sum)" \
    "$(md5sum <"$stdout")"
  expect "stderr is apart" "to stderr" "$(cat "$stderr")"
  expect "an odd argument arrives as it is" "$odd" "$(cat "$work/boot/argument")"
  expect "arguments, environment and directory arrive" "4::blue green:$work" \
    "$(cat "$work/boot/given")"
  expect "guests run in the lab (kvm_probe)" 0 "$(cat "$work/boot/kvm_probe")"
  expect "the tree can be written inside" changed "$(cat "$work/boot/inside")"
  expect "the tree is unchanged outside" original "$(cat "$tree/file")"
  expect "nothing new in the tree outside" file "$(ls "$tree")"
  expect "devices, file systems and loopback are there" "" "$(cat "$work/boot/missing")"
  expect "one processor" 1 "$(cat "$work/boot/nproc")"
}

signal_in_machine() {
  lab signal --accel lab --memory 1G -- sh -c 'kill -SEGV $$'
  expect "a signal gives 128 + its number" 139 "$rc"
  expect "the status file names the signal" "signaled 11" "$status"
}

timeout_in_machine() {
  lab timeout --accel lab --memory 1G --timeout 1 -- sh -c 'echo early; sleep 60'
  expect "a command that takes too long gives 124" 124 "$rc"
  expect "the status file says timeout" timeout "$status"
  expect "what it wrote before arrives" early "$(cat "$stdout")"
}

# The same contract without the machine.
on_the_host() {
  lab host --accel kvm -- sh -c 'echo one; echo two >&2; echo three >"$LAB_OUT/file"; exit 125'
  expect "on the host: the command's own 125" "125 exited 125" "$rc $status"
  expect "on the host: streams and LAB_OUT" "one two three" \
    "$(cat "$stdout") $(cat "$stderr") $(cat "$work/host/file")"
  lab host_signal --accel kvm -- sh -c 'kill -KILL $$'
  expect "on the host: a signal" "137 signaled 9" "$rc $status"
  lab host_timeout --accel kvm --timeout 1 -- sleep 60
  expect "on the host: timeout" "124 timeout" "$rc $status"
}

broken_lab() {
  LAB_QEMU=/bin/false lab broken --accel lab -- true
  expect "a lab that cannot start gives 125" 125 "$rc"
  expect "the status file says lab-failed" lab-failed "${status%% *}"
  # A machine too small for its kernel: QEMU starts, the kernel does not.
  LAB_BOOT_LIMIT=5 lab small --accel lab --memory 48M --timeout 1 -- true
  expect "a machine that does not boot gives 125" "125 lab-failed" "$rc ${status%% *}"
  # A processor that does nothing but one loop, as one that hangs.
  LAB_BOOT_LIMIT=20 lab hung --accel lab -- sh -c '
    echo -1 >/proc/sys/kernel/sched_rt_runtime_us
    exec chrt --fifo 99 taskset --cpu-list 0 sh -c "while :; do :; done"'
  expect "a processor that hangs gives 125" "125 lab-failed the machine hung" \
    "$rc $(cut -d: -f1 <<<"$status")"
  lab usage --accel nonsense -- true
  expect "wrong options give 125" "125 lab-failed" "$rc ${status%% *}"
  rc=0
  LAB_STATUS_FILE=$work/status_file "$run" --accel kvm -- sh -c 'exit 3' || rc=$?
  expect "LAB_STATUS_FILE without --out" "3 exited 3" "$rc $(cat "$work/status_file")"
}

# Whatever is missing is made here, so that its messages do not mix with a command's stderr.
"$here/prepare" >/dev/null || exit 1
one_boot
signal_in_machine
timeout_in_machine
on_the_host
broken_lab
echo "$failures failed"
((failures == 0))
