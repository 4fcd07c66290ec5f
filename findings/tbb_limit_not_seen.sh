#!/usr/bin/env bash
# question: oneTBB under global_control(max_allowed_parallelism, 1): what does max_concurrency return inside
#   task_arena(4)?
# guess: 1.
# saw: 4, as without the limit, while one thread runs everything. parallel_for with static_partitioner cuts the work into
#   4 pieces for it. A default arena and default_concurrency ignore the limit as well.
# matters: Kernels and searches that size partial sums, chunks or budgets by max_concurrency do not see a limit that a
#   command-line option sets by global_control. Costs are measured with the pieces of many threads and the speed of one.
#   active_value of global_control has the limit.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install tbb==2022.3.1 tbb-devel==2022.3.1
root=$(dirname "$(dirname "$python")")
cat > "$work/check.cpp" <<'CPP'
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

struct Seen {
  int concurrency = 0, pieces = 0, threads = 0;
};

Seen in_arena() {
  Seen seen;
  std::set<std::thread::id> threads;
  std::mutex mutex;
  tbb::task_arena(4).execute([&] {
    seen.concurrency = tbb::this_task_arena::max_concurrency();
    tbb::parallel_for(
        tbb::blocked_range<int>(0, 4000),
        [&](const tbb::blocked_range<int>&) {
          const std::lock_guard lock(mutex);
          ++seen.pieces;
          threads.insert(std::this_thread::get_id());
        },
        tbb::static_partitioner());
  });
  seen.threads = int(threads.size());
  return seen;
}

int main() {
  const int unlimited = tbb::info::default_concurrency();
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  const Seen seen = in_arena();
  const auto active = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  std::printf("limit 1: max_concurrency %d, pieces %d, threads %d, active_value %zu\n", seen.concurrency, seen.pieces, seen.threads, active);
  const bool default_ignores = tbb::info::default_concurrency() == unlimited && tbb::task_arena().max_concurrency() == unlimited;
  std::printf("default arena and default_concurrency %s the limit\n", default_ignores ? "ignore" : "obey");
  return seen.concurrency == 4 && seen.pieces == 4 && seen.threads == 1 && active == 1 && default_ignores ? 0 : 1;
}
CPP
g++ -O1 -std=c++20 "-I$root/include" "$work/check.cpp" "-L$root/lib" "-Wl,-rpath,$root/lib" -ltbb -o "$work/check"
"$work/check"
