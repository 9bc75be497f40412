#!/bin/bash
# each_case.sh PROGRAM RESULTS: in the lab, runs the cases of a GoogleTest program that the file
# RESULTS/cases lists, one after the other. Each that ends leaves its status in RESULTS/CASE.status
# and its report in RESULTS/CASE.xml; those that have a status already are not run again.
set -u

program=$1 results=$2
while read -r case; do
  name=${case//\//-}
  [ ! -e "$results/$name.status" ] || continue
  "$program" --gtest_filter="$case" --gtest_output="xml:$results/$name.xml" --gtest_brief=1 \
    </dev/null
  echo $? >"$results/$name.status"
done <"$results/cases"
