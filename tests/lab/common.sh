# Shared by tests/lab/run and tests/lab/prepare; sourced, never run.

lab_dir=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# The cache of guest-images/fetch-kernel too; exported for it and for what runs in the lab. Bazel
# gives tests no HOME, or an empty one that is not worth caching in.
if [[ ! ${SKIFF_CACHE:-} ]]; then
  if [[ ! ${HOME:-} || ${HOME:-} == "${TEST_TMPDIR:-}" ]]; then
    HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  fi
  SKIFF_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/skiff
fi
export SKIFF_CACHE

# LAB_ARCH is the CPU of the lab's machine.
lab_arch_file() { echo "$lab_dir/arch/${LAB_ARCH:-x86_64}.sh"; }
