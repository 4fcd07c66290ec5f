#include "penstock/experiment/doubts.hpp"

#include <doctest/doctest.h>

#include "penstock/experiment/compare.hpp"

using namespace penstock;
using experiment::doubts;

namespace {

report::CellResult row(double mfu, const std::string& costs = "analytic") {
  report::CellResult out;
  out.model = "gpt", out.cluster = "c", out.devices = 4, out.planner = "spp", out.costs = costs;
  out.iteration_s = 0.5, out.bubble = 0.25, out.mfu = mfu;
  return out;
}

}  // namespace

TEST_CASE("an answer within all limits is not doubted") {
  CHECK(doubts(row(1)).empty());
  CHECK(doubts(report::CellResult{}).empty());
}

TEST_CASE("an MFU above the whole names the costs that most likely are wrong") {
  CHECK(doubts(row(2.413, "kernel tables of A100")) ==
        std::vector<std::string>{
            "MFU 241.3 %: no device computes faster than its peak; the costs (kernel tables of "
            "A100) most likely have times in another unit, or of another model or device"});
  CHECK(doubts(row(1.1)).front().find("too low a peak") != std::string::npos);
}

TEST_CASE("no time, an impossible bubble and a broken bound are doubted") {
  auto bad = row(0.5);
  bad.iteration_s = 0;
  CHECK(doubts(bad).size() == 1);
  bad.bubble = 1.5;
  CHECK(doubts(bad).size() == 2);
  bad.gap = -0.01;
  CHECK(doubts(bad).size() == 3);
}

TEST_CASE("twenty of many rows are named and the others counted; a comparison lists them below its table") {
  const std::vector<report::CellResult> rows(23, row(2));
  const auto found = doubts(rows);
  REQUIRE(found.size() == 21);
  CHECK(found.front().starts_with("gpt on 4 devices of c, spp: MFU 200.0 %"));
  CHECK(found.back() == "3 more rows like these");
  experiment::PlannerComparison comparison;
  comparison.rows = {row(2), row(0.5)};
  CHECK(experiment::comparison_table(comparison).find("\nwarning: gpt on 4 devices of c, spp: MFU 200.0 %") !=
        std::string::npos);
  CHECK(experiment::comparison_json(comparison, {}).find("\"doubts\": [") != std::string::npos);
  comparison.rows = {row(0.5)};
  CHECK(experiment::comparison_table(comparison).find("warning") == std::string::npos);
}
