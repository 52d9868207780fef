#!/bin/sh
# Commits since BASE: a subject of `area: what changes` within 60 characters, and a body that says
# what was wrong (Problem:) and what was run (Tested:). Planted ones are judged first.
set -eu
BASE=539aaa74d2a9
SUBJECT_MAX=60

# judge NAME SUBJECT BODY: prints what is wrong.
judge() {
  [ "${#2}" -le "$SUBJECT_MAX" ] || echo "$1: the subject is longer than $SUBJECT_MAX: $2"
  echo "$2" | grep -qE '^[A-Za-z0-9_., /-]+: [^ ]' || echo "$1: the subject names no area: $2"
  for word in Problem Tested; do
    echo "$3" | grep -q "^$word: " || echo "$1: the body says no '$word:'"
  done
}

must_find() {  # must_find COUNT SUBJECT BODY
  found=$(judge planted "$2" "$3" | wc -l)
  [ "$found" -eq "$1" ] || { echo "commits: $found instead of $1 violations in: $2"; exit 1; }
}
good=$(printf 'Problem: a\n\nTested: b')
must_find 0 "raft: a voter waits" "$good"
must_find 1 "raft: a voter waits for as long as it takes to say this in words" "$good"
must_find 0 "README.md, .ci: a voter waits" "$good"
must_find 1 "a voter waits" "$good"
must_find 1 "Revert \"raft: a voter waits\"" "$good"
must_find 2 "raft: a voter waits" "It does."

if [ ! -e .git ] || [ "$(git rev-parse --is-shallow-repository)" = true ]; then
  echo "commits: no history down to $BASE in this copy: only the planted ones were judged"
  exit 0
fi
git rev-parse --verify --quiet "$BASE^{commit}" >/dev/null || {
  echo "commits: this clone has a history, but not $BASE in it"
  exit 1
}
wrong=$(for commit in $(git rev-list --no-merges "$BASE..HEAD"); do
  judge "$(git rev-parse --short "$commit")" "$(git log -1 --format=%s "$commit")" \
    "$(git log -1 --format=%b "$commit")"
done)
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
echo "commits: $(git rev-list --count "$BASE..HEAD") since $BASE are as they should be"
