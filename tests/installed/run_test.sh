#!/usr/bin/env bash
# The library as others get it: installed into a folder of its own, found by pkg-config, and a program built against it
# finds the plan that `penstock` finds.
#
#   run_test.sh PENSTOCK BUILD_ROOT COMPILER...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
penstock=$(realpath "$1")
build=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

meson install -C "$build" --no-rebuild --tags devel --destdir "$scratch/root" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
found=$(find "$scratch/root" -name penstock.pc)
prefix=${found%/lib*}  # where the folder is now
export PKG_CONFIG_PATH=${found%/*}
cp "$here/least_time.cpp" "$scratch"
cd "$scratch"
read -ra flags <<<"$(pkg-config "--define-variable=prefix=$prefix" --cflags --libs penstock)"
"$@" -std=c++20 -O0 least_time.cpp -o least_time "${flags[@]}"
ours=$(./least_time)
theirs=$("$penstock" plan --model mmt --cluster summit --devices 8 --mini-batch 128 --optimizer adam --planner graphpipe --costs data_sheet --json |
  python3 -c 'import json, sys; row = json.load(sys.stdin); print("%s %.17g" % (row["strategy"], row["iteration_s"]))')
[[ -n $ours && $ours == "$theirs" ]] || { echo "FAILED: '$ours' instead of '$theirs'"; exit 1; }

# Every header is there with all that it includes.
headers=$(cd "${prefix}/include/penstock" && find . -name '*.hpp' -printf '#include "%P"\n' | sort)
[[ $(wc -l <<<"$headers") -gt 150 ]] || { echo "FAILED: too few headers"; exit 1; }
"$@" -std=c++20 -fsyntax-only -x c++ "${flags[@]}" - <<<"$headers"
