# Shared by the image scripts: messages, the cache, and its keys. Sourced, never run.

# Bazel gives its tests no HOME, or an empty one that is not worth caching in.
if [[ ! ${SKIFF_CACHE:-} ]]; then
  if [[ ! ${HOME:-} || $HOME == "${TEST_TMPDIR:-}" ]]; then
    HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  fi
  SKIFF_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/skiff
fi
# Exported for the scripts that these scripts call.
export SKIFF_CACHE
readonly cache_root=$SKIFF_CACHE

# mke2fs, sfdisk, modprobe: not every user has their directory in the path.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# usage FILE: the comment block at the head of a script, as its help text.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# A key for the cache: the hash of the file names given as arguments (their content) and of
# standard input (everything else that decides the result).
cache_key() { { sha256sum -- "$@" | cut -d' ' -f1; cat; } | sha256sum | cut -c1-20; }

# installed_versions PACKAGE...: what this machine has, one line each.
installed_versions() { dpkg-query --show -- "$@" 2>/dev/null || true; }

# lock_for PATH: held until the script ends; a second process waits for the first one's result.
lock_for() {
  mkdir -p "$(dirname "$1")"
  exec {lock_fd}>"$1.lock"
  if ! flock --nonblock "$lock_fd"; then
    say "another process is making $1: waiting for it"
    flock "$lock_fd"
  fi
}

# Copies holes as holes, and shares blocks where the file system can.
copy_sparse() { cp --sparse=always --reflink=auto -- "$1" "$2"; }
