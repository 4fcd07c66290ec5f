#include "penstock/report/ranking.hpp"

#include <doctest/doctest.h>

using namespace penstock::report;

namespace {

CellResult row(const char* planner, std::optional<double> throughput, const char* status = "ok") {
  CellResult out;
  out.planner = planner;
  out.samples_per_s = throughput;
  out.status = status;
  return out;
}

}  // namespace

TEST_CASE("the fastest plan comes first, equals keep their order, rows without a plan come last") {
  const auto rows =
      ranked({row("a", 1.0), row("b", std::nullopt), row("c", 2.0), row("d", 2.0), row("e", std::nullopt)});
  std::string order;
  for (const auto& r : rows) order += r.planner;
  CHECK(order == "cdabe");
}

TEST_CASE("the table shows optimism and gap, and says below why a row has no plan") {
  CellResult good = row("good", 100.0);
  good.schedule = "1f1b";
  good.stages = good.depth = 2;
  good.micro_batch = 4;
  good.estimate_s = 0.9, good.iteration_s = 1.0, good.optimism = 0.9, good.gap = 0.25;
  good.peak_memory_bytes = 1024, good.search_s = 0.002, good.states = 7;
  CHECK(ranking({good, row("bad", std::nullopt, "infeasible: no room")}) ==
        "planner  samples/s  schedule  stages  depth  micro-batch  estimated  simulated  optimism    gap    "
        "memory   search  "
        "states  search memory  status\n"
        "-------  ---------  --------  ------  -----  -----------  ---------  ---------  --------  -----  "
        "--------  -------  "
        "------  -------------  ----------\n"
        "good         100.0  1f1b           2      2            4     900 ms     1.00 s     0.900  25.0%  "
        "1.00 KiB  2.00 ms  "
        "     7              -  ok\n"
        "bad              -  -              -      -            -          -          -         -      -     "
        "    -        -  "
        "     -              -  infeasible\n"
        "\nbad: infeasible: no room\n");
}
