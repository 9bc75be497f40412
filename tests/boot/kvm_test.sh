#!/bin/bash
# Runs kvm_cases of arch/x86_64 where /dev/kvm works.
set -euo pipefail

runfiles=$PWD
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
source "$runfiles/tests/boot/in_lab.sh"
run_in_lab "$runfiles/arch/x86_64/kvm_cases" 600
