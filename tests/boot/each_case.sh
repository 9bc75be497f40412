#!/bin/bash
# each_case.sh PROGRAM RESULTS: in the lab, runs the cases of a GoogleTest program that the file
# RESULTS/cases lists, one after the other. Each that ends leaves its status in RESULTS/CASE.status
# and its report in RESULTS/CASE.xml; those that have a status already are not run again.
set -u

program=$1 results=$2
# Bazel's shards, as GoogleTest would take them: the list is this shard's already.
unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX GTEST_SHARD_STATUS_FILE
unset TEST_TOTAL_SHARDS TEST_SHARD_INDEX TEST_SHARD_STATUS_FILE
while read -r case; do
  name=${case//\//-}
  [ ! -e "$results/$name.status" ] || continue
  "$program" --gtest_filter="$case" --gtest_output="xml:$results/$name.xml" --gtest_brief=1 \
    </dev/null
  status=$?
  # A filter that fits nothing is no success.
  grep -q '<testsuites tests="1"' "$results/$name.xml" || status="$status, no case ran"
  echo "$status" >"$results/$name.status"
done <"$results/cases"
