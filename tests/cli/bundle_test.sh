#!/usr/bin/env bash
# A bundle runs in an empty environment, from any folder, and where there is nothing else at all.
#
#   bundle_test.sh PENSTOCK SOURCE_ROOT
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
root=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT


bundle=$scratch/"one folder"
cuda=()
[[ -e $(dirname "$penstock")/../kernels/penstock_cuda.so ]] && cuda=(--cuda)
((${#cuda[@]})) || expect 10 "has no CUDA backend" "$root/tools/bundle" --cuda --executable "$penstock" "$bundle"
expect 10 "is no executable" "$root/tools/bundle" --executable "$root/README.md" "$bundle"
expect 10 "unknown option" "$root/tools/bundle" --cdua "$bundle"
expect 0 "libraries" "$root/tools/bundle" "${cuda[@]}" --executable "$penstock" "$bundle"
expect 10 "exists already" "$root/tools/bundle" --executable "$penstock" "$bundle"

cd / || exit 1
expect 0 "penstock " env -i "$bundle/penstock" --version
expect 0 "samples/s" env -i "$bundle/penstock" plan --model case_study --mini-batch 64 --devices 8 \
  --cluster "$root/experiments/clusters/summit.yaml" -o "$scratch/plan.yaml"
if ((${#cuda[@]})); then  # the backend is found, and goes as far as this machine's driver lets it
  env -i "$bundle/penstock" replay "$scratch/plan.yaml" --device cuda:0 2>&1 | grep -q 'cannot be loaded' && fail "no backend in the bundle"
fi
cd "$bundle" || exit 1
expect 0 "penstock " env -i ./penstock --version
expect 11 "nowhere.yaml" env -i ./penstock simulate nowhere.yaml  # exit codes come through

loader=$(echo lib/ld-linux*)
elsewhere=$(env -i "$bundle/$loader" --library-path "$bundle/lib" --list bin/penstock | grep '=>' | grep -vF "$bundle/")
[[ -z $elsewhere ]] || { echo "FAILED: libraries from elsewhere: $elsewhere"; failures=$((failures + 1)); }

empty_root=(env -i "$(command -v unshare)" --map-root-user "$(command -v chroot)" "$bundle")
if "${empty_root[@]}" "/$loader" --version >/dev/null 2>&1; then
  expect 0 "penstock " "${empty_root[@]}" "/$loader" --library-path /lib /bin/penstock --version
else
  echo "not tested in an empty root: it is not allowed here"
fi
exit $((failures > 0))
