# Sourced by the lint tests: changes into the source tree and defines its file lists.
cd "$(dirname "$(readlink -f WORKSPACE)")" || exit 1

failures=0
fail() {
  echo "FAIL: $*" >&2
  failures=$((failures + 1))
}
finish() {
  [ "$failures" -eq 0 ] && echo "all right" || exit 1
}

# Files that belong to the project: tracked, or new and not ignored.
project_files() {
  git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    [ -f "$file" ] && echo "$file"
  done
}
