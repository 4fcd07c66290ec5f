#!/usr/bin/env bash
# The driver finds a planted fault, always the same way, keeps the input and runs it again.
#
#   drive_test.sh FUZZ_DRIVE
set -u
. "$(dirname "$0")/../cli/expect.sh"
drive=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

expect 0 "fuzz planted: 1 seeds and 3 inputs made of them" "$drive" planted --runs 3
for _ in 1 2; do
  expect 1 "fuzz planted: input 50: Aborted; it is kept as fuzz_planted_50; again: fuzz_drive planted --only 50" "$drive" planted
done
grep -q 9223372036854775807 fuzz_planted_50 || fail "the kept input is another"
expect 0 "" "$drive" planted --only 49
expect 134 "" "$drive" planted --only 50
expect 10 "no target 'plantd'" "$drive" plantd
expect 10 "--runs" "$drive" planted --runs many
exit $((failures > 0))
