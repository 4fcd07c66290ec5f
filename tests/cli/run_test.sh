#!/usr/bin/env bash
# Experiments that are cached, killed, resumed and shared out among processes: always the same files.
#
#   run_test.sh PENSTOCK SOURCE_ROOT
set -u
. "$(dirname "$0")/expect.sh"
penstock=$(realpath "$1")
clusters=$(realpath "$2")/experiments/clusters
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1


# same A B: the lasting files of two results folders are the same bytes, and nothing half written is there.
same() {
  diff -r -q -x .cache -x timings.csv -x provenance.json "$1" "$2" || fail "$1 and $2 differ"
}

cat >small.yaml <<YAML
experiment: small
models: [{name: case_study, mini_batch: [32, 64]}, {name: candle_uno, mini_batch: [256]}]
clusters: [{file: $clusters/summit.yaml, devices: [2, 4]}]
planners: [spp, graphpipe]
simulation: {network: [fair, fifo]}
exclude: [{mini_batch: 64, planner: spp}]
baseline: spp
YAML
cells=20  # 3 mini-batches, 2 counts of devices, 2 networks, 2 planners; 4 of them excluded
run=("$penstock" run small.yaml -j 1)

# Output: what would run; what was set; what is wrong.
expect 0 "0 of $cells cells are cached, $cells to run; time, one after the other, as they last took: unknown" "${run[@]}" --dry-run
[[ ! -e out ]] || fail "a dry run wrote something"
expect 0 "0 of 6 cells are cached" "${run[@]}" --dry-run --set models.0.mini_batch=[32] --set simulation.network=fair \
  --set "exclude=[{devices: 2, mini_batch: 32}]"
expect 11 "--set cluster.nodes=4: small.yaml:1: has no 'cluster'; did you mean 'clusters'?" "${run[@]}" --set cluster.nodes=4
expect 11 "OMPI_COMM_WORLD_RANK: expected a process's number, found 'first'" env OMPI_COMM_WORLD_RANK=first "${run[@]}"
[[ ! -e out ]] || fail "bad input left results behind"

# Undisturbed, then from the cache: not a byte changes, not even what was measured.
expect 0 "[$cells/$cells]" "${run[@]}"
(($(find out/small/cells -name '*.json' | wc -l) == cells)) || fail "not every cell has its configuration"
cp out/small/timings.csv timings.csv
expect 0 "(cached)" "${run[@]}"
cmp timings.csv out/small/timings.csv || fail "a cached cell was measured again"
expect 0 "$cells of $cells cells are cached, 0 to run; time, one after the other, as they last took: none" "${run[@]}" --dry-run
expect 0 "1 to run; time, one after the other, as they last took: about" bash -c \
  'printf x >>"$(ls out/small/.cache/*.cell | head -n 1)"; "$@" --dry-run' - "${run[@]}"
expect 0 "$((cells - 1)) of" bash -c '"$@" 2>&1 | grep -c cached | sed "s/$/ of/"' - "${run[@]}" # the damaged one was run again

# Another experiment does not go over it; only some cells; an end that was set.
sed 's/^experiment: small/experiment: other/' small.yaml >other.yaml
cp -r out/small before
expect 12 "out/small/ holds the results of the experiment 'small', and those of 'other' would go over them" \
  "$penstock" run other.yaml -o out/small
same before out/small
expect 0 "2 to run" "${run[@]}" -o some --only model=candle_uno,devices=2,network=fair --dry-run
expect 0 "[2/2]" "${run[@]}" -o some --only model=candle_uno,devices=2,network=fair
expect 0 "Done: 4 of $cells cells" "${run[@]}" -o some --only model=candle_uno,devices=4,network=fair
expect 11 "--only planer=spp: the grid has no such axis; did you mean 'planner'" "${run[@]}" --only planer=spp
expect 31 "The budget is over: 0 of $cells cells" "${run[@]}" -o some_day --budget 0s
expect 10 "--budget: expected a time such as 2min, not 'soon'" "${run[@]}" -o some_day --budget soon

# The reason why a cell has no plan is below the table, also where the lines of progress are not shown.
cat >why.yaml <<YAML
experiment: why
models: [{name: dlrm, mini_batch: [64]}]
clusters: [{name: summit, devices: [2]}]
planners: [spp, single_device]
YAML
expect 0 "dlrm 2 devices single_device: infeasible: single_device uses one device" bash -c '"$0" run why.yaml 2>/dev/null' "$penstock"

# Killed at ten moments: where the last run came, or up to three cells further, and up to 10 ms later. Larger cells.
sed -e '/^models/s/:.*/: [{name: dlrm, mini_batch: [1024, 2048]}, {name: mmt, mini_batch: [256, 512]}]/' -e '/^exclude/d' \
  -e 's/\[2, 4\]/[8, 16]/' small.yaml >large.yaml
expect 0 "[32/32]" "$penstock" run large.yaml -j 1 -o undisturbed
RANDOM=7
killed=0
for _ in $(seq 10); do
  goal=$(($(find killed/.cache -name '*.cell' 2>/dev/null | wc -l) + RANDOM % 4))
  : >killed.err
  "$penstock" run large.yaml -j 1 -o killed >/dev/null 2>killed.err &
  pid=$!
  while mapfile -t lines <killed.err && kill -0 $pid 2>/dev/null && ((${#lines[@]} < goal)); do sleep 0.001; done
  sleep "0.00$((RANDOM % 10))"
  kill -KILL $pid 2>/dev/null && killed=$((killed + 1))
  wait $pid 2>/dev/null
done
((killed >= 5)) || fail "only $killed of ten runs were killed before their end"
expect 0 "[32/32]" "$penstock" run large.yaml -j 1 -o killed
same undisturbed killed

# Three processes share the cells; the one that leads writes.
shared() {
  local folder=$1 rank pids=()
  for rank in 0 1 2; do
    OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=$rank "${run[@]}" -o "$folder" >"$folder.$rank.out" 2>"$folder.$rank.err" &
    pids+=($!)
  done
  [[ -z ${2:-} ]] || { sleep 0.1; kill -KILL "${pids[$2]}" 2>/dev/null; }
  for rank in 0 1 2; do wait "${pids[$rank]}" 2>/dev/null || [[ ${2:-} == "$rank" ]] || fail "process $rank: exit $?"; done
}
shared three
same out/small three
[[ -s three.0.out && ! -s three.1.out && ! -s three.2.out ]] || fail "not the leader alone prints the table"
others=$(grep -c cached three.0.err)
((others > 0 && others < cells)) || echo "note: of $cells cells others ran $others"
shared one_died 1
same out/small one_died

if command -v mpirun >/dev/null; then
  for n in 1 2 3; do
    expect 0 "spp" mpirun --allow-run-as-root --oversubscribe --bind-to none -n $n "${run[@]}" -o "mpi$n"
    same out/small "mpi$n"
  done
  cat >dies.sh <<'SH'
#!/usr/bin/env bash
[[ $OMPI_COMM_WORLD_RANK != 1 ]] || { timeout -s KILL 0.1 "$@"; kill -KILL $$; }
exec "$@"
SH
  chmod +x dies.sh
  expect 0 "spp" mpirun --allow-run-as-root --oversubscribe --bind-to none --enable-recovery -n 3 ./dies.sh "${run[@]}" -o mpi_died
  same out/small mpi_died
  sed 's/!= 1/!= 0/' dies.sh >leader_dies.sh
  chmod +x leader_dies.sh
  expect 0 "spp" mpirun --allow-run-as-root --oversubscribe --bind-to none --enable-recovery -n 3 ./leader_dies.sh \
    "$penstock" run large.yaml -j 1 -o led
  same undisturbed led
else
  echo "not tested with mpirun: it is not installed"
fi

((failures == 0)) && echo "all as expected"
exit $((failures > 0))
