#!/bin/sh
# Commits since BASE: a subject of `area: what changes` within 60 characters, and a body that says
# what was wrong (Problem:) and what was run (Tested:). Since SIZED_BASE, one that changes more than
# LINES_MAX lines gives its reason in a line of the body that begins with `Large: `. Lines that only
# moved with their file are no change. Files below a folder named golden are not counted, because a
# program writes them. Planted commits are judged first.
set -eu
BASE=539aaa74d2a9
SIZED_BASE=ace02be1f5eed50fb8fcf07fa7d41cdd4e3e352a
SUBJECT_MAX=60
LINES_MAX=1000

# judge NAME SUBJECT BODY: prints what is wrong.
judge() {
  [ "${#2}" -le "$SUBJECT_MAX" ] || echo "$1: the subject is longer than $SUBJECT_MAX: $2"
  echo "$2" | grep -qE '^[A-Za-z0-9_., /-]+: [^ ]' || echo "$1: the subject names no area: $2"
  for word in Problem Tested; do
    echo "$3" | grep -q "^$word: " || echo "$1: the body says no '$word:'"
  done
}

# Of `git log --numstat`: insertions and deletions. Files that are no text have none.
changed_lines() {
  awk -F '\t' '$3 !~ /(^|\/)golden\// { lines += $1 + $2 } END { print lines + 0 }'
}

# judge_size NAME BODY LINES
judge_size() {
  [ "$3" -le "$LINES_MAX" ] || echo "$2" | grep -q '^Large: [^ ]' ||
    echo "$1: $3 changed lines, more than $LINES_MAX, and the body says no 'Large:'"
}

must_find_size() {  # must_find_size COUNT BODY NUMSTAT
  lines=$(printf '%b' "$3" | changed_lines)
  found=$(judge_size planted "$2" "$lines" | wc -l)
  [ "$found" -eq "$1" ] || { echo "commits: $found instead of $1 violations in: $3"; exit 1; }
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
large=$(printf 'Problem: a\n\nLarge: one table\n\nTested: b')
must_find_size 0 "$good" '600\t400\ta.cc\n'
must_find_size 1 "$good" '600\t401\ta.cc\n'
must_find_size 1 "$good" '500\t0\ta.cc\n0\t501\tb.cc\n-\t-\tc.png\n'
must_find_size 0 "$large" '600\t401\ta.cc\n'
must_find_size 1 "Large: " '600\t401\ta.cc\n'
must_find_size 1 "It is Large: very" '600\t401\ta.cc\n'
must_find_size 0 "$good" '2\t2\t{a => b}/c.cc\n9000\t9000\ttests/scripts/golden/d.txt\n'
must_find_size 1 "$good" '600\t401\ttests/golden.cc\n'

if [ ! -e .git ] || [ "$(git rev-parse --is-shallow-repository)" = true ]; then
  echo "commits: no history down to $BASE in this copy: only the planted ones were judged"
  exit 0
fi
for base in "$BASE" "$SIZED_BASE"; do
  git rev-parse --verify --quiet "$base^{commit}" >/dev/null || {
    echo "commits: this clone has a history, but not $base in it"
    exit 1
  }
done
wrong=$(for commit in $(git rev-list --no-merges "$BASE..HEAD"); do
  judge "$(git rev-parse --short "$commit")" "$(git log -1 --format=%s "$commit")" \
    "$(git log -1 --format=%b "$commit")"
done
for commit in $(git rev-list --no-merges "$SIZED_BASE..HEAD"); do
  judge_size "$(git rev-parse --short "$commit")" "$(git log -1 --format=%b "$commit")" \
    "$(git log -1 --format= --numstat -M "$commit" | changed_lines)"
done)
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
echo "commits: $(git rev-list --count "$BASE..HEAD") since $BASE are as they should be"
