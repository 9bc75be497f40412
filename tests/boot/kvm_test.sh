#!/bin/bash
# Runs kvm_cases of arch/x86_64 where /dev/kvm works.
set -euo pipefail

runfiles=$PWD
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
run_cases() {
  "$runfiles/tests/lab/run" --timeout 600 --out "$out" -- \
    "$runfiles/arch/x86_64/kvm_cases" --gtest_output="xml:$out/cases.xml" \
    ${TESTBRIDGE_TEST_ONLY:+--gtest_filter="$TESTBRIDGE_TEST_ONLY"} "$@"
}
source "$runfiles/tests/boot/in_lab.sh"
