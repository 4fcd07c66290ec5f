#!/usr/bin/env bash
# Manual pages: one per command, with every option of its help; groff and mandoc find no fault where they are
# installed.
#
#   manual_test.sh PENSTOCK
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1


# below COMMAND...: the command and all below it, as its help lists them, one per line.
below() {
  local name
  echo "$*"
  "$penstock" "$@" --help | awk '/^Subcommands:$/ { inside = 1; next } /^$/ { inside = 0 } inside && /^  [a-z]/ { print $1 }' |
    while read -r name; do below "$@" "$name" </dev/null; done
}

"$penstock" manual man1 >/dev/null || fail "no pages were written"
below | while read -r command; do p="penstock $command"; p=${p% }; echo "man1/${p// /-}.1"; done | LC_ALL=C sort >expected
diff expected <(LC_ALL=C find man1 -type f | LC_ALL=C sort) || fail "other pages than commands"

while read -r command; do
  page="penstock $command"
  page=man1/${page% }
  page=${page// /-}.1
  # shellcheck disable=SC2086
  help=$("$penstock" $command --help)
  options=$(awk '/^Options:$/ { inside = 1; next } /^$/ { inside = 0 } inside && /^  -/ { print $1 }' <<<"$help" | tr ',' '\n')
  [[ -n $options ]] || fail "the help of '$command' has no options"
  for option in $options; do
    # A page's option is bold, its hyphens are escaped.
    grep -qF "\\fB${option//-/\\-}\\fR" "$page" || fail "$page lacks $option"
  done
done < <(below)

for page in man1/*.1; do
  if command -v groff >/dev/null; then
    faults=$(groff -man -ww -z -Tutf8 "$page" 2>&1)
    [[ -z $faults ]] || fail "groff: $faults"
  fi
  if command -v mandoc >/dev/null; then  # a page that is built has no date of its own
    faults=$(mandoc -Tlint -Wwarning "$page" 2>&1 | grep -v 'missing date')
    [[ -z $faults ]] || fail "$faults"
  fi
done
for checker in groff mandoc; do command -v $checker >/dev/null || echo "$checker is not installed: skipped"; done

# The page as a reader sees it: examples as they are typed.
if command -v mandoc >/dev/null; then
  mandoc -Tascii man1/penstock-plan.1 | col -b | grep -qF 'penstock plan --model dlrm -p bag=concat --planner spp' || fail "an example is not as typed"
fi

touch file
"$penstock" manual file/man1 >out 2>&1
status=$?
((status == 11)) || fail "a folder that cannot be made: exit $status: $(cat out)"

((failures == 0)) && echo "all as expected"
exit $((failures > 0))
