#include "penstock/report/ranking.hpp"

#include <doctest/doctest.h>

#include "penstock/report/difference.hpp"

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

TEST_CASE(
    "the table shows the strategy, the estimate's error and the gap, and says below why a row has no plan") {
  CellResult good = row("good", 100.0);
  good.strategy = "PP2, 1F1B, mb 4";
  good.tflops_per_device = 7.25, good.mfu = 0.4618;
  good.estimate_s = 0.9, good.iteration_s = 1.0, good.estimate_error = -0.1, good.gap = 0.25;
  good.peak_memory_bytes = 1024, good.search_s = 0.002, good.states = 7;
  CHECK(
      ranking({good, row("bad", std::nullopt, "infeasible: no room")}) ==
      "planner  samples/s  strategy         TFLOP/s/GPU    MFU    memory  estimated  simulated  est. error  "
      "  gap   search  states  search memory  status\n"
      "-------  ---------  ---------------  -----------  -----  --------  ---------  ---------  ----------  "
      "-----  -------  ------  -------------  ----------\n"
      "good         100.0  PP2, 1F1B, mb 4         7.25  46.2%  1.00 KiB     900 ms     1.00 s      -10.0%  "
      "25.0%  2.00 ms       7              -  ok\n"
      "bad              -  -                          -      -         -          -          -           -  "
      "    -        -       -              -  infeasible\n"
      "\nbad: infeasible: no room\n");
}

TEST_CASE("the ranked value follows the planner") {
  const std::string text =
      ranking({row("a", 2.0), row("b", std::nullopt)}, {}, AimColumn{"aim: cost", {"$3", "-"}});
  CHECK(text.starts_with("planner  aim: cost  samples/s  "));
  CHECK(text.find("\na               $3        2.0  ") != std::string::npos);
  CHECK(text.find("\nb                -          -  ") != std::string::npos);
}

TEST_CASE("a difference has its sign, and none where it rounds to nothing") {
  CHECK(difference(0.049) == "+4.9 %");
  CHECK(difference(-0.003, "%") == "-0.3%");
  CHECK(difference(0.00051) == "+0.1 %");
  CHECK(difference(-0.00049) == "0.0 %");
  CHECK(difference(0) == "0.0 %");
  CellResult exact = row("a", 2.0);
  exact.estimate_error = -1e-12;
  CHECK(ranking({exact}).find("  0.0%  ") != std::string::npos);
}

TEST_CASE("tokens have a column where a row has some") {
  CellResult words = row("a", 2.0);
  words.tokens_per_s = 2048;
  CHECK(ranking({words}).find("tokens/s") != std::string::npos);
  CHECK(ranking({words}).find("  2048  ") != std::string::npos);
  CHECK(ranking({row("a", 2.0)}).find("tokens/s") == std::string::npos);
}
