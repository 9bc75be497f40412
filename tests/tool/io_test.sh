#!/bin/bash
# Gives the same commands to qemu-io and to skiff-io, each on its own copy of the same images, and
# compares standard output and error, exit status and what the disks then hold.
set -uo pipefail

ours=$PWD/skiff-io
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/theirs" "$work/ours"
ln -s "$ours" "$work/bin/qemu-io" # messages begin with the name it is called by
failures=0
cases=0

make_images() {
  rm -rf "${work:?}/theirs" "$work/ours"
  mkdir "$work/theirs"
  cd "$work/theirs" || exit 1
  qemu-img create -q -f raw a.raw 1M
  truncate -s 513 odd.raw
  truncate -s 0 empty.raw
  qemu-img create -q -f qcow2 a.qcow2 1M
  qemu-img create -q -f qcow2 -o compat=0.10,cluster_size=4k old.qcow2 3G
  qemu-img create -q -f qcow2 -o extended_l2=on,lazy_refcounts=on,compression_type=zstd x.qcow2 1M
  qemu-io -f raw -c 'write -P 0x11 0 1M' a.raw >/dev/null
  qemu-img create -q -f qcow2 -b a.raw -F raw over.qcow2
  qemu-img create -q -u -f qcow2 -b missing.raw -F raw orphan.qcow2 1M
  printf abc >pattern
  : >nothing
  cp -r "$work/theirs" "$work/ours"
}

# Times and rates, which differ; also in the form for machines.
mask() {
  sed -E -e 's|; [0-9:.]+( sec)? \([0-9.]+ [A-Za-z]+/sec and [0-9.]+ ops/sec\)$|; TIME|' \
    -e 's|^([0-9]+,1),[0-9]+:[0-9]{2}:[0-9]{2}\.[0-9]{2},[0-9.]+,[0-9.]+$|\1,TIME|'
}

# Runs in folder $1 with the rest as arguments; standard input is that of this function.
run() {  # FOLDER PROGRAM ARGUMENTS...
  local folder=$1 program=$2
  shift 2
  (cd "$work/$folder" && exec -a qemu-io "$program" "$@") >"$work/out" 2>"$work/err"
  echo "status $?" >"$work/$folder.result"
  { echo "stdout:"; mask <"$work/out"; echo; echo "stderr:"; cat "$work/err"; } >>"$work/$folder.result"
}

# Runs both with these arguments; standard input is $input.
input=
same() {
  cases=$((cases + 1))
  run theirs qemu-io "$@" <<<"$input"
  run ours "$work/bin/qemu-io" "$@" <<<"$input"
  cmp -s "$work/theirs.result" "$work/ours.result" && return
  echo "FAIL: qemu-io $*"
  [ -z "$input" ] || echo "with the input: $input"
  diff "$work/theirs.result" "$work/ours.result"
  failures=$((failures + 1))
}

# The commands in $2 and after, one -c for each, on the image $1 of the format that its name says.
same_on() {
  local image=$1 command arguments=()
  shift
  for command; do arguments+=(-c "$command"); done
  same -f "${image##*.}" "${arguments[@]}" "$image"
}

same_content() {  # IMAGE...
  local image
  for image; do
    cases=$((cases + 1))
    qemu-img compare -q "$work/theirs/$image" "$work/ours/$image" && continue
    echo "FAIL: the content of $image differs"
    failures=$((failures + 1))
  done
}

transfers() {  # IMAGE
  same_on "$1" 'write 0 64k' 'read -P 0xcd 0 64k' 'read -P 0x42 0 64k' 'write -P 0x41 1k 512'
  same_on "$1" 'read -P 0x42 -s 512 -l 512 0 64k' 'read -P 0xcd -s 512 -l 512 0 64k'
  same_on "$1" 'read -P 0xcd -s 4 -l 4 16 16' 'read -P 1 -l 0 0 16' 'read -P 0x42 -s 1k -l 1k 0 1k'
  same_on "$1" 'write -P 0x2d 3 7' 'write -P 0x20 1000 5000' 'read -v 0 33' 'read -v 995 20'
  same_on "$1" 'write -z 1 777' 'write -zu 100k 64k' 'write -zn 64k 64k' 'read -P 0 100k 64k'
  same_on "$1" 'write -f 0 1k' 'write -p 0 1k' 'read -p 0 512' 'write -s pattern 0 10' 'read -v 0 16'
  same_on "$1" 'write -q 0 64k' 'read -q 0 64k' 'write -C 0 64k' 'read -Cq 0 64k' 'read -vq 0 4'
  same_on "$1" 'writev -P 2 0 64k 64k 512' 'readv -v -P 2 0 16 16' 'readv -P 3 512 16 16'
  same_on "$1" 'aio_write -P 4 0 64k' aio_flush 'aio_read -P 4 0 64k' aio_flush 'aio_read -P 5 3 9'
  same_on "$1" 'aio_write -q 0 1' 'aio_write -i 0 1' 'aio_read -i 0 1' 'aio_read -v 0 16' aio_flush
  same_on "$1" 'discard 512k 64k' 'discard -q 0 0' 'read 0 0' 'write 0 0' 'read 1M 0' flush
}

refusals() {  # IMAGE
  same_on "$1" 'read 0 2M' 'write 0 2M' 'read 1M 512' 'write -z 0 2M' 'discard 0 2M' 'read 2M 0'
  same_on "$1" 'readv 0 1M 512' 'writev 0 1M 512' 'aio_read 0 2M'
  same_on "$1" 'aio_write 0 2M'
  same_on "$1" 'read foo 512' 'read 0 foo' 'read -1 512' 'read 0 3G' 'read 9E 1' 'read 1.5 1'
  same_on "$1" 'read 1.5k 512' 'read 0.1k 1' 'read 0x10 1' 'read 010 1' 'read 1e1 1' 'read 1kB 1'
  same_on "$1" 'read 0' 'read' 'read 0 1 2' 'foo' '' '  ' 'read -x 0 1' 'read -P' 'length x' 'help a b'
  same_on "$1" 'read -P 300 0 1' 'read -P xx 0 1' 'read -s 512 0 64k' 'read -l 512 0 1k'
  same_on "$1" 'write -u 0 1k' 'write -n 0 1k' 'write -z -P 1 0 1k' 'write -bz 0 512' 'write -fb 0 512'
  same_on "$1" 'write -s nofile 0 512' 'write -s nothing 0 512' 'write -b 1 512' 'write -z 0 3G'
  same_on "$1" 'writev 0 3G' 'readv 0 1G 1G 1G' 'aio_write -z 0 1 2' 'aio_write -u 0 1' 'alloc'
  same_on "$1" 'truncate' 'truncate x' 'truncate -m foo 1' 'alloc x' 'alloc 1 2 3' 'sleep x'
  same_on "$1" 'sigraise x' 'sigraise 100' 'open x' 'help foo' '? length' 'sleep 1' 'discard 0 3G'
}

facts() {  # IMAGE
  same_on "$1" length info map 'alloc 0' 'alloc 512 1M' 'alloc 1' 'alloc 2M' 'alloc 0 0' l i 'a 0'
}

read_only() {  # IMAGE
  local format=${1##*.}
  same -r -f "$format" -c 'write 0 1' -c 'aio_write 0 1' -c 'writev 0 1' -c 'discard 0 1' -c flush "$1"
  same -r -f "$format" -c 'truncate 1' -c 'read 0 16' -c 'reopen -w' -c 'write 0 1k' -c 'reopen -r' \
    -c 'write 0 1k' "$1"
}

command_line() {
  same -c length a.qcow2
  same -c length a.raw # warns
  same a.raw -r -c length
  same -f raw -c length -- a.raw
  same --read-o --form=raw --cmd length a.raw
  same -f raw -c length nonexistent
  same -f foo -c length a.raw
  same -f qcow2 -c length a.raw
  same -f qcow2 -c length empty.raw
  same -c length orphan.qcow2
  same -c length ''
  same -c length .
  same -c length zork:foo
  same -c length file:a.qcow2
  same -t foo a.raw
  same -d foo a.raw
  same -i foo a.raw
  same -f raw -i native -c length a.raw
  same -f raw -U -c length a.raw
  same -f raw -rU -c length a.raw
  same -f raw -d ignore -c 'write 0 64k' -c 'discard 0 64k' -c 'read -P 0xcd 0 64k' a.raw
  same -f raw -c length -c quit -c length a.raw
  same -f raw -c foo -c q -c length a.raw
  same -c length -c flush -c 'read 0 1' -c close -c reopen -c aio_flush
  local mode
  for mode in none writeback writethrough directsync unsafe; do
    same -t "$mode" -f raw -c 'write -P 6 1k 1000' -c 'read -P 6 1k 1000' -c flush a.raw
    same --cache "$mode" --aio threads -m -c 'write -P 7 1k 100' -c 'read -P 7 1k 100' a.qcow2
  done
}

names() {
  local json="{'driver':'qcow2','file':{'driver':'file','filename':'a.qcow2'}"
  same -c length "json:$json}"
  same -c length "json:$json,'foo':1}"
  same -c length "json:$json,'read-only':true}"
  same -r -c length "json:$json,'read-only':true}"
  same -c length "json:{'driver':'qcow2','file.filename':'nope'}"
  same -c length 'json:{"driver":"raw","filename":"a.raw"}'
  same -c length 'json:[1]'
  same -c length json:
  same --image-opts -c length driver=qcow2,file.filename=a.qcow2
  same --image-opts -c length file.filename=a.qcow2
  same --image-opts -c length driver=qcow2,file.driver=file,file.filename=a.qcow2,cache.direct=on
  same --image-opts -c length driver=qcow2,file.filename=a.qcow2,cache.direct=foo
  same --image-opts -c length driver=qcow2,file.driver=nosuch,file.filename=a.qcow2
  same --image-opts -c length driver=raw,file.filename=a.raw,foo=bar
  same --image-opts -c length driver=file,filename=a.raw
  same --image-opts -c length driver=raw,filename=a.raw
  same --image-opts -c length driver=qcow2
  same --image-opts -c length driver=raw,file.filename=a,,b
  same --image-opts -f raw -c length file.filename=a.raw
}

opening() {
  same -c 'open a.qcow2' -c length -c 'open a.raw' -c close -c length -c close
  same -c 'open -o driver=raw a.qcow2' -c 'read -v 0 4' -c close -c 'open -r a.qcow2' -c 'write 0 1'
  same -c 'open nonexistent' -c 'open -x a.raw' -c 'open a b' -c 'open -t foo a.raw' -c open
  same -c 'open -U a.qcow2' -c 'open -rU a.qcow2' -c length -c close -c 'open -k a.raw' -c 'o -n a.qcow2'
  same -f raw -c 'reopen -c none' -c 'write 0 1k' -c 'reopen -c foo' -c 'reopen -o foo=bar' \
    -c 'reopen x' -c 'reopen -r -w' -c 'reopen -o driver=qcow2' -c 'reopen -o cache.direct=foo' \
    -c 'reopen -c none -o cache.direct=on' -c 'reopen -r -o read-only=on' -c 'read 0 1' a.raw
  same -f qcow2 -c 'reopen -o lazy-refcounts=on' -c reopen -c 'reopen -x' \
    -c 'reopen -o overlap-check.template=all' -c 'reopen -o lazy-refcounts=42' -c 'read 0 1' a.qcow2
}

from_input() {
  input=$'length\n\nfoo\nread 0 512\nquit\nlength' same -f raw a.raw
  input=$'open a.qcow2\nlength\nclose\nopen -o driver=raw a.raw\nwrite 1 9' same
  input='length' same
  input='' same -f raw a.raw
}

signals() {
  same -f raw -c length -c abort a.raw
  same -f raw -c length -c 'sigraise 15' -c length a.raw
  same -f raw -c length -c 'sigraise 9' a.raw
}

make_images
for image in a.raw a.qcow2 over.qcow2; do
  facts "$image"
  transfers "$image"
  facts "$image"
  refusals "$image"
  read_only "$image"
done
for image in odd.raw empty.raw old.qcow2 x.qcow2; do facts "$image"; done
same_on odd.raw 'read 0 1k' 'write 1000 24' 'write -P 1 500 20' 'read -v 500 20'
same_on old.qcow2 'write -P 1 1G 64k' 'write -z 1G 10k' 'discard 1G 1M' 'read -P 0 2G 1M' 'map'
same_content a.raw a.qcow2 over.qcow2 odd.raw old.qcow2 x.qcow2
command_line
names
opening
from_input
signals 2>/dev/null
same_content a.raw a.qcow2
echo "$cases cases, $failures failed"
[ "$failures" -eq 0 ]
