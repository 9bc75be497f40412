#!/bin/bash
# Every folder with sources has a README of at most 40 lines, and no README or document names a
# file that does not exist.
source "$(dirname "$0")/source_root.sh"

needs_readme() {
  project_files '*.h' '*.cc' | xargs -n1 dirname | sort -u
}

while read -r folder; do
  [ -f "$folder/README.md" ] || fail "$folder has no README.md"
done < <(needs_readme)

while read -r readme; do
  lines=$(wc -l <"$readme")
  [ "$readme" = README.md ] || [ "$lines" -le 40 ] || fail "$readme has $lines lines; 40 is the limit"
done < <(project_files '*README.md')

# Words in backquotes that look like a path of ours: with a known extension, or ending in '/'.
while read -r document; do
  folder=$(dirname "$document")
  while read -r name; do
    path=${name%%:*}
    [ -e "$path" ] || [ -e "$folder/$path" ] || fail "$document names $name, which does not exist"
  done < <(grep -o '`[A-Za-z0-9_./-]*\(\.h\|\.cc\|\.sh\|\.md\|\.bzl\|/\)`' "$document" | tr -d '`' |
    grep -v -e '^/' -e '^\.\.' | sort -u)
done < <(project_files '*.md')
finish
