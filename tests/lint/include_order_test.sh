#!/bin/bash
# Dependencies run in one direction only: base <- disk <- devices <- arch <- vmm. The table is
# the one of docs/architecture.md; Bazel's visibility says the same, this test judges.
source "$(dirname "$0")/source_root.sh"

# Prints the folders that files below $1 may include from.
allowed() {
  case $1 in
    base/*) echo base ;;
    disk/*) echo base disk ;;
    devices/*) echo base devices ;;
    arch/*) echo base devices arch third_party ;;
    vmm/*) echo base disk devices arch vmm ;;
    tests/lab/*.cc) echo base tests/lab third_party ;;
    tests/*) echo base disk devices arch vmm tests third_party ;;
    guest-images/*) echo base guest-images ;;
    *) echo ;;
  esac
}

check_include() {  # FILE INCLUDED
  local file=$1 included=$2 folder
  case $file in *_test.cc | *_benchmark.cc) [[ $included == tests/fakes/* ]] && return ;; esac
  [[ $file == devices/* && $included == disk/block.h ]] && return
  for folder in $(allowed "$file"); do
    [[ $included == "$folder"/* ]] && return
  done
  fail "$file includes $included"
}

while read -r file; do
  while read -r included; do
    check_include "$file" "$included"
  done < <(sed -n 's/^ *# *include "\([^"]*\)".*/\1/p' "$file")
done < <(project_files '*.h' '*.cc')

# KVM's header and CPU tests stay in arch/ and vmm/ (and their tests).
while read -r file; do
  case $file in arch/* | vmm/* | tests/* | third_party/*) continue ;; esac
  grep -q '<linux/kvm.h>' "$file" && fail "$file includes <linux/kvm.h>"
  grep -Eq '^ *# *if.*(__x86_64__|__aarch64__)' "$file" && fail "$file tests its CPU"
done < <(project_files '*.h' '*.cc')

# A virtio device knows no transport; the CPUs do not know each other.
while read -r file; do
  case $file in devices/virtio/pci/* | devices/pci/*) continue ;; esac
  grep -Eq '#include "devices/(pci|virtio/pci)/' "$file" && fail "$file includes a transport"
done < <(project_files 'devices/*.h' 'devices/*.cc')
finish
