#!/bin/bash
# No source file is longer than 400 lines: what grows beyond is split by operation.
source "$(dirname "$0")/source_root.sh"

while read -r file; do
  lines=$(wc -l <"$file")
  [ "$lines" -le 400 ] || fail "$file has $lines lines; 400 is the limit"
done < <(project_files '*.h' '*.cc' '*.sh' 'tools/*' 'guest-images/*' 'tests/lab/*')
finish
