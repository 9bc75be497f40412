#!/bin/bash
# Gives the same command lines to qemu-img and to skiff-img, each in its own folder, and compares
# standard output and error, exit status and what the images then hold.
set -uo pipefail

ours=$PWD/skiff-img
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/theirs" "$work/ours"
ln -s "$ours" "$work/bin/qemu-img" # messages begin with the name it is called by
failures=0
cases=0

# Dates, room on the host and the time taken differ.
mask() {
  sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}/DATE/' \
    -e 's/^disk size: .*/disk size: X/; s/"actual-size": [0-9]+/"actual-size": X/' \
    -e 's/^Image end offset: .*/Image end offset: X/' -e 's/"date-(n?sec)": [0-9]+/"date-\1": X/; s/in [0-9.]+ seconds/in X seconds/'
}

run() {  # FOLDER PROGRAM ARGUMENTS...
  local folder=$1 program=$2
  shift 2
  (cd "$work/$folder" && exec -a qemu-img "$program" "$@") >"$work/out" 2>"$work/err" </dev/null
  echo "status $?" >"$work/$folder.result"
  { echo "stdout:"; mask <"$work/out"; echo "stderr:"; mask <"$work/err"; } >>"$work/$folder.result"
}

same() {
  cases=$((cases + 1))
  run theirs "$(command -v qemu-img)" "$@"
  run ours "$work/bin/qemu-img" "$@"
  cmp -s "$work/theirs.result" "$work/ours.result" && return
  echo "FAIL: qemu-img $*"
  diff "$work/theirs.result" "$work/ours.result"
  failures=$((failures + 1))
}

# Both do the same to their image, by qemu-io.
write() {  # IMAGE COMMAND...
  local folder image=$1
  shift
  for folder in theirs ours; do
    (cd "$work/$folder" && for command; do qemu-io -f qcow2 -c "$command" "$image"; done >/dev/null)
  done
}

# The images are sound and hold the same.
same_content() {  # IMAGE
  cases=$((cases + 1))
  qemu-img check -q -f qcow2 "$work/ours/$1" >/dev/null && (cd "$work/ours" && qemu-img compare -q \
    -f qcow2 -F qcow2 "$1" "$work/theirs/$1") && return
  echo "FAIL: $1 is not sound, or not the same"
  failures=$((failures + 1))
}

usage() {
  same
  same nonsense
  local subcommand
  for subcommand in bench check create info snapshot; do
    same "$subcommand"
    same "$subcommand" --nonsense x
    same "$subcommand" -f
    same "$subcommand" -f qcow2 missing.qcow2
  done
  same resize x
  same check -r some x
  same check --output=xml x
  same info --output=xml x
  same snapshot -c a -d b x
  same create -f foo x 1M
  same create -f qcow2 x.qcow2
  same create -f qcow2 x.qcow2 1x
  same create -f qcow2 x.qcow2 1M 2M
  same create -f qcow2 -o foo=1 x.qcow2 1M
  same create -f qcow2 -o compat=0.10,refcount_bits=8 x.qcow2 1M
  same create -f qcow2 -o compat=0.10,lazy_refcounts=on x.qcow2 1M
  same create -f qcow2 -o cluster_size=4k,extended_l2=on x.qcow2 1M
  same create -f qcow2 -o lazy_refcounts=maybe x.qcow2 1M
  same create -f qcow2 -u -b missing -F raw x.qcow2
  same create -f qcow2 -b missing.raw -F raw x.qcow2
  same create -f qcow2 no/such/folder.qcow2 1M
}

created() {
  local n=0 options
  for options in compat=1.1 compat=v2 cluster_size=512 cluster_size=2M extended_l2=on \
    refcount_bits=1 refcount_bits=64 compression_type=zstd lazy_refcounts=on \
    preallocation=metadata,cluster_size=4k preallocation=falloc preallocation=full; do
    n=$((n + 1))
    same create -f qcow2 -o "$options" "n$n.qcow2" 5M
    same info "n$n.qcow2"
    same info --output=json "n$n.qcow2"
    same_content "n$n.qcow2"
    write "n$n.qcow2" 'write -P 3 1M 600k' 'write -z 3M 512k'
    same check "n$n.qcow2"
    same check --output=json "n$n.qcow2"
    same_content "n$n.qcow2"
  done
  same create -f qcow2 odd.qcow2 1000
  same create -q -f qcow2 quiet.qcow2 1G
  same create -f qcow2 -o size=3M sized.qcow2
  same create raw.raw 1M
  same create -f raw -o preallocation=full full.raw 1M
  same info -f raw raw.raw
  same info --output=json -f raw raw.raw
  same check -f raw raw.raw
  same create -f qcow2 -b n1.qcow2 -F qcow2 over.qcow2
  same create -f qcow2 -b over.qcow2 -F qcow2 top.qcow2 9M
  same info --backing-chain top.qcow2
  same info --backing-chain --output=json top.qcow2
  same info --image-opts driver=qcow2,file.filename=top.qcow2
  same create -f qcow2 -b over.qcow2 -F qcow2 over.qcow2
  # QEMU destroys the image when it goes by another name.
  cases=$((cases + 1))
  (cd "$work/ours" && "$work/bin/qemu-img" create -f qcow2 -b ./over.qcow2 -F qcow2 over.qcow2) \
    >/dev/null 2>&1 && { echo "FAIL: an image over itself"; failures=$((failures + 1)); }
  same_content over.qcow2
  same create -f qcow2 file:named.qcow2 1M
  same_content named.qcow2
}

snapshots() {
  same create -q -f qcow2 s.qcow2 4M
  write s.qcow2 'write -P 1 0 1M'
  same snapshot -c first s.qcow2
  write s.qcow2 'write -P 2 512k 1M'
  same snapshot -c a_name_that_is_longer_than_its_column s.qcow2
  write s.qcow2 'write -P 3 0 64k'
  same snapshot -l s.qcow2
  same snapshot s.qcow2
  same info s.qcow2
  same check s.qcow2
  same_content s.qcow2
  same snapshot -a first s.qcow2
  same_content s.qcow2
  same snapshot -a missing s.qcow2
  same snapshot -d missing s.qcow2
  same snapshot -d 1 s.qcow2
  same snapshot -l s.qcow2
  same_content s.qcow2
  same snapshot -d a_name_that_is_longer_than_its_column s.qcow2
  same snapshot -l s.qcow2
  same check s.qcow2
  same_content s.qcow2
}

resized() {
  same create -q -f qcow2 r.qcow2 1M
  write r.qcow2 'write -P 4 0 1M'
  local size
  # Whole clusters: in the rest of one, QEMU shows again what was cut off before.
  for size in +512 3M +1G 640k 2M -1M 512; do
    same resize -f qcow2 r.qcow2 "$size"
    same resize --shrink -f qcow2 r.qcow2 "$size"
    same info r.qcow2
    same_content r.qcow2
  done
  same resize -q r.qcow2 5M
  same resize r.qcow2 0
  same resize r.qcow2 nonsense
  same resize -- r.qcow2 -20M
}

damaged() {
  same create -q -f qcow2 d.qcow2 4M
  write d.qcow2 'write 0 256k'
  local folder
  for folder in theirs ours; do
    # A cluster counted twice, one not counted.
    printf '\0\2\0\0' | dd of="$work/$folder/d.qcow2" bs=1 seek=$((0x20000 + 12)) conv=notrunc status=none
  done
  same check d.qcow2
  same check --output=json d.qcow2
  same check -q d.qcow2
  cases=$((cases + 1))
  (cd "$work/ours" && "$work/bin/qemu-img" check -q -r all d.qcow2) >/dev/null 2>&1
  qemu-img check -q "$work/ours/d.qcow2" || { echo "FAIL: not repaired"; failures=$((failures + 1)); }
  printf 'QFI\373\0\0\0\11' | tee "$work/theirs/v9.qcow2" >"$work/ours/v9.qcow2"
  cases=$((cases + 1))
  (cd "$work/ours" && "$work/bin/qemu-img" check -f qcow2 v9.qcow2) >/dev/null 2>&1
  [ $? -eq 1 ] || { echo "FAIL: a header that is none"; failures=$((failures + 1)); }
}

benched() {
  same create -q -f qcow2 b.qcow2 16M
  same bench -w -c 100 -d 4 -f qcow2 b.qcow2
  same bench -c 100 -d 1 -s 64k -S 8k -o 1M -f qcow2 b.qcow2
  same bench -w -c 64 -d 8 --flush-interval=16 --pattern=7 -f qcow2 b.qcow2
  same bench -w -c 64 -d 8 --flush-interval=8 --no-drain -q -f qcow2 b.qcow2
  same_content b.qcow2
}

usage
created
snapshots
resized
damaged
benched
echo "$cases cases, $failures failed"
((cases > 0 && failures == 0))
