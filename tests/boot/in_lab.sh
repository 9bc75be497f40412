# Sourced by the tests: calls run_cases, which runs a GoogleTest program in the lab with --out "$out",
# and ends as it does. A lab that failed says nothing about skiff, so that is tried once more.
status=0
run_cases "$@" || status=$?
if grep -q ^lab-failed "$out/lab-status"; then
  echo "$(<"$out/lab-status"); once more" >&2
  status=0
  run_cases "$@" || status=$?
fi
[ ! -f "$out/cases.xml" ] || [ -z "${XML_OUTPUT_FILE:-}" ] || cp "$out/cases.xml" "$XML_OUTPUT_FILE"
[ "$(<"$out/lab-status")" = "exited 0" ] || echo "lab: $(<"$out/lab-status")" >&2
exit "$status"
