#!/bin/bash
# What the image scripts promise. Boots nothing: tests/boot does.
set -euo pipefail

images=guest-images
source "$images/common.sh"
scratch=$(mktemp -d "${TEST_TMPDIR:-/tmp}/images.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
failures=0

check() {
  local what=$1
  shift
  if "$@"; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    failures=$((failures + 1))
  fi
}

# refuses WORDS COMMAND...: COMMAND fails, prints no path, and its message has WORDS.
refuses() {
  local words=$1
  shift
  if "$@" >"$scratch/stdout" 2>"$scratch/stderr"; then return 1; fi
  [[ ! -s $scratch/stdout ]] && grep --quiet --fixed-strings -- "$words" "$scratch/stderr"
}

# list_archive FILE [OFFSET]: the names in the cpio archive at OFFSET.
list_archive() { tail --bytes=+$((${2:-0} + 1)) "$1" | cpio --list --quiet; }

contains() { grep --quiet --line-regexp --fixed-strings -- "$2" <<<"$1"; }

size_of() { stat --format=%s "$1"; }

# A cache that shares nothing but the downloaded kernels with any other.
fresh_cache() {
  mkdir -p "$scratch/$1"
  ln -sfn "$cache_root/kernels" "$scratch/$1/kernels"
  echo "$scratch/$1"
}

test_tiny_is_deterministic() {
  local one other
  printf '#!/bin/sh\necho hello\n' >"$scratch/script"
  one=$(SKIFF_CACHE=$(fresh_cache one) "$images/tiny" --script "$scratch/script" --pad 100K)
  cp "$scratch/script" "$scratch/renamed"
  sleep 1.1  # another second for anything that puts the time in
  other=$(SKIFF_CACHE=$(fresh_cache other) "$images/tiny" --script "$scratch/renamed" --pad 100K)
  check "two caches" test "$one" != "$other"
  check "two builds of tiny are equal" cmp "$one" "$other"
}

# NAME is among the image's NAMES, unless the kernel in directory KERNEL has it built in.
module_or_builtin() {
  local kernel=$1 names=$2 name=$3
  contains "$names" "modules/$name.ko" ||
    grep --quiet "/$name.ko$" "$kernel"/lib/modules/*/modules.builtin
}

test_tiny_has_the_kernels_modules() {
  local flavour=$1 kernel image names order
  kernel=$("$images/fetch-kernel" "$flavour")
  image=$("$images/tiny" --kernel "$flavour")
  names=$(list_archive "$image")
  mkdir "$scratch/$flavour"
  (cd "$scratch/$flavour" && cpio --extract --quiet --make-directories \
    'modules/*' modules.order init <"$image")
  check "$flavour: init is there" test -x "$scratch/$flavour/init"
  order=$(<"$scratch/$flavour/modules.order")
  for name in pvpanic-mmio virtio_pci virtio_blk virtio-rng; do
    check "$flavour: $name" module_or_builtin "$kernel" "$names" "$name"
  done
  check "$flavour: pvpanic is loaded first" \
    test "$(head -n 2 <<<"$order" | tail -n 1)" = /modules/pvpanic-mmio.ko
  check "$flavour: modules of that kernel" grep --quiet --fixed-strings \
    "$(<"$kernel/version") SMP" "$scratch/$flavour/modules/virtio_blk.ko"
}

test_tiny_appends_files() {
  local base image names bytes
  printf '#!/bin/sh\nexit 3\n' >"$scratch/script"
  echo data >"$scratch/data"
  base=$("$images/tiny")
  image=$("$images/tiny" --script "$scratch/script" --add "$scratch/data:/etc/data" --pad 1M)
  bytes=$(size_of "$base")
  check "the base is a multiple of 4 bytes" test $((bytes % 4)) = 0
  check "the base comes first" cmp --bytes="$bytes" "$base" "$image"
  names=$(list_archive "$image" "$bytes")
  check "the script is behind it" contains "$names" script
  check "the file is behind it" contains "$names" etc/data
  mkdir "$scratch/appended"
  (cd "$scratch/appended" && tail --bytes=+$((bytes + 1)) "$image" | cpio -id --quiet)
  check "the script can be run" test -x "$scratch/appended/script"
  check "the script is the script" cmp "$scratch/script" "$scratch/appended/script"
  check "the pad has its size" test "$(size_of "$scratch/appended/pad")" = 1048576
  check "the pad has its sum" env -C "$scratch/appended" sha256sum --check --quiet pad.sha256
  check "the pad does not compress" test "$(xz -1 <"$scratch/appended/pad" | wc -c)" -gt 1000000
  echo changed >"$scratch/data"
  check "another content is another image" test "$image" != \
    "$("$images/tiny" --script "$scratch/script" --add "$scratch/data:/etc/data" --pad 1M)"
}

test_wrong_arguments() {
  check "unknown flavour" refuses "unknown flavour '5.10-amd64'" "$images/tiny" --kernel 5.10-amd64
  check "missing script" refuses "/no/such" "$images/tiny" --script /no/such
  check "file without a place" refuses "FILE:DST" "$images/tiny" --add /etc/passwd
  check "missing value" refuses "--pad needs a value" "$images/tiny" --pad
  check "size that is none" refuses "big" "$images/tiny" --pad big
  check "unknown module" refuses "frobnicate" \
    env SKIFF_CACHE="$(fresh_cache modules)" "$images/tiny" --module frobnicate
  check "tiny: unknown option" refuses "--frob" "$images/tiny" --frob
  check "unknown format" refuses "unknown format 'vhd'" "$images/debian" --format vhd
  check "debian: unknown option" refuses "--frob" "$images/debian" --frob
}

test_debian() {
  local raw partitioned qcow2 files mebibyte=1048576
  raw=$("$images/debian")
  files=$(dirname "$raw")
  check "the file system is clean" e2fsck -fn "$raw"
  check "the kernel is a bzImage" test "$(dd if="$files/vmlinuz" bs=1 skip=514 count=4 status=none)" = HdrS
  check "the initrd has the disk's driver" grep --quiet virtio_blk.ko \
    <<<"$(lz4 -dcq "$files/initrd.img" | list_archive /dev/stdin)"
  check "holes stay holes" test "$(du --block-size=1M "$raw" | cut -f1)" -lt 1024

  partitioned=$("$images/debian" --partitioned)
  check "kernel and initrd lie beside" test "$(dirname "$partitioned")" = "$files"
  check "one partition at 1 MiB" grep --quiet --extended-regexp 'start= +2048, size= +4194304,' \
    <<<"$(sfdisk --dump "$partitioned")"
  check "the table is sound" sfdisk --verify --quiet "$partitioned"
  check "the partition is the file system" \
    cmp --ignore-initial=0:$mebibyte --bytes="$(size_of "$raw")" "$raw" "$partitioned"

  qcow2=$("$images/debian" --format qcow2)
  check "qcow2 has the same content" qemu-img compare -q -f raw -F qcow2 "$raw" "$qcow2"
}

test_wrong_arguments
test_tiny_is_deterministic
test_tiny_appends_files
test_tiny_has_the_kernels_modules 6.1-cloud-amd64
test_tiny_has_the_kernels_modules 6.12-cloud-amd64
test_debian

echo "$failures failed"
((failures == 0))
