# Sourced by the tests: run_in_lab PROGRAM SECONDS runs the cases of a GoogleTest program in the lab,
# this shard's share of them, and ends the test. A lab that fails says nothing about skiff: the
# cases that have not ended go on in another one, up to three times in a row without an end.

# This shard's cases, one a line. TESTBRIDGE_TEST_ONLY is bazel's --test_filter.
list_cases() {
  "$1" --gtest_list_tests ${TESTBRIDGE_TEST_ONLY:+--gtest_filter="$TESTBRIDGE_TEST_ONLY"} |
    awk -v shards="${TEST_TOTAL_SHARDS:-1}" -v shard="${TEST_SHARD_INDEX:-0}" '
      /^[^ ].*\.$/ { suite = $1; next }
      /^  / { if (count++ % shards == shard) print suite $1 }'
}

# One report of the cases' reports.
merge_reports() {
  echo '<?xml version="1.0" encoding="UTF-8"?>'
  echo '<testsuites name="AllTests">'
  cat "$out"/*.xml | grep -vE '^<\?xml|^</?testsuites'
  echo '</testsuites>'
}

run_in_lab() {
  local ended=0 before idle=0 bad=0 case name status
  [ -z "${TEST_SHARD_STATUS_FILE:-}" ] || touch "$TEST_SHARD_STATUS_FILE"
  list_cases "$1" >"$out/cases"
  while ((idle < 3)); do
    before=$ended
    "$runfiles/tests/lab/run" --timeout "$2" --out "$out" -- \
      "$runfiles/tests/boot/each_case.sh" "$1" "$out" || true
    grep -q ^lab-failed "$out/lab-status" || break
    ended=$(find "$out" -name '*.status' | wc -l)
    idle=$((ended > before ? 0 : idle + 1))
    echo "lab: $(<"$out/lab-status"); $ended of $(wc -l <"$out/cases") cases have ended" >&2
  done
  while read -r case; do
    name=${case//\//-}
    status=$(cat "$out/$name.status" 2>/dev/null || echo missing)
    [ "$status" = 0 ] || { echo "FAILED: $case (status $status)" >&2; bad=$((bad + 1)); }
  done <"$out/cases"
  [ -z "${XML_OUTPUT_FILE:-}" ] || merge_reports >"$XML_OUTPUT_FILE"
  [ -s "$out/cases" ] && ((bad == 0))
  exit
}
