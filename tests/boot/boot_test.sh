#!/bin/bash
# Boots guests with skiff where /dev/kvm works: prepares kernels and images on this machine, then
# runs boot_cases inside the lab.
set -euo pipefail

runfiles=$PWD
source_root=$(dirname "$(readlink -f WORKSPACE)")
images=$source_root/guest-images

export BOOT_SKIFF=$runfiles/skiff
for flavour in 6.1-amd64 6.1-cloud-amd64 6.12-amd64 6.12-cloud-amd64; do
  suffix=$(tr 'a-z.-' 'A-Z__' <<<"$flavour")
  kernel=$("$images/fetch-kernel" "$flavour")
  export "BOOT_VMLINUZ_$suffix=$kernel/vmlinuz" "BOOT_VMLINUX_$suffix=$kernel/vmlinux"
  export "BOOT_TINY_$suffix=$("$images/tiny" --kernel "$flavour")"
done
BOOT_PADDED_200=$("$images/tiny" --pad 200M)
BOOT_PADDED_300=$("$images/tiny" --pad 300M)
debian=$("$images/debian" --format raw)
partitioned=$("$images/debian" --format raw --partitioned)
BOOT_DEBIAN_VMLINUZ=$(dirname "$debian")/vmlinuz
BOOT_DEBIAN_INITRD=$(dirname "$debian")/initrd.img

# Guests write to copies, in the folder that the lab shares: elsewhere the first write would copy
# the whole image into the lab's memory.
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
BOOT_DEBIAN_RAW=$out/debian.raw
BOOT_DEBIAN_PARTITIONED=$out/partitioned.raw
BOOT_DEBIAN_QCOW2=$out/debian.qcow2
export "${!BOOT_@}"

cp --sparse=always "$debian" "$BOOT_DEBIAN_RAW"
cp --sparse=always "$partitioned" "$BOOT_DEBIAN_PARTITIONED"
qemu-img create -q -f qcow2 -b "$debian" -F raw "$BOOT_DEBIAN_QCOW2"

source "$runfiles/tests/boot/in_lab.sh"
run_in_lab "$runfiles/tests/boot/boot_cases" 2700
