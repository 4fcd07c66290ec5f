#include "penstock/report/claims.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock;
using report::Claim;
using report::ValueReduction;
using report::Verdict;

namespace {

/// Two planners on 4 and 8 devices: b is 1.5 and 1.2 times as fast as a; c has found nothing.
report::TextRows rows() {
  return {{"planner", "devices", "speed"},
          {"planner", "devices"},
          {{"a", "4", "100"},
           {"b", "4", "150"},
           {"a", "8", "200"},
           {"b", "8", "240"},
           {"c", "4", ""},
           {"c", "8", "190"}}};
}

Claim ratio(report::ClaimInterval paper, ValueReduction reduce, double tolerance = 0) {
  Claim claim;
  claim.paper = paper;
  claim.measure = {"speed", {{"planner", {"b"}}}, report::Selector{{"planner", {"a"}}}, {}, "", {}, reduce};
  claim.tolerance = tolerance;
  claim.even = 1;
  return claim;
}

Verdict verdict(const Claim& claim) {
  return report::judge(claim, rows()).verdict;
}

std::string fault(const Claim& claim) {
  try {
    report::judge(claim, rows());
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

}  // namespace

TEST_CASE("a ratio pairs rows that agree in every axis that its base does not name") {
  // On 4 devices 150 / 100 = 1.5, on 8 devices 240 / 200 = 1.2; never 240 / 100.
  const auto all = report::judge(ratio({1.2, 1.5}, ValueReduction::all), rows());
  CHECK(all.ours->low == support::near(1.2));
  CHECK(all.ours->high == support::near(1.5));
  CHECK(all.values == 2);
  CHECK(report::judge(ratio({}, ValueReduction::max), rows()).ours->low == support::near(1.5));
  CHECK(report::judge(ratio({}, ValueReduction::min), rows()).ours->high == support::near(1.2));
  CHECK(report::judge(ratio({}, ValueReduction::mean), rows()).ours->low == support::near(1.35));
  CHECK(report::judge(ratio({}, ValueReduction::count), rows()).ours->low == 2);
  auto wins = ratio({0.5, 0.5}, ValueReduction::wins);
  wins.even = 1.3;  // 1.5 is above, 1.2 is not
  CHECK(report::judge(wins, rows()).ours->low == 0.5);
}

TEST_CASE("rows agree in the columns a claim names, if it names any") {
  auto claim = ratio({}, ValueReduction::all);
  claim.measure.same = {"devices"};
  CHECK(report::judge(claim, rows()).values == 2);
  claim.measure.of["devices"] = {"8"};
  claim.measure.over->insert({"devices", {"4"}});
  claim.measure.same = {};
  CHECK(report::judge(claim, rows()).ours->low == support::near(2.4));  // 240 / 100
}

TEST_CASE("with best, only the fastest base counts") {
  auto claim = ratio({}, ValueReduction::all);
  claim.measure.best = "devices";  // a is fastest on 8 devices; b there makes 240 / 200
  CHECK(report::judge(claim, rows()).values == 1);
  CHECK(report::judge(claim, rows()).ours->low == support::near(1.2));
}

TEST_CASE("the verdict, on both sides of each boundary") {
  // The largest ratio is 1.5. With 10 % tolerance the paper may have 1.5 / 0.9 = 1.667 to 1.5 / 1.1 = 1.364.
  CHECK(verdict(ratio({1.66, 1.66}, ValueReduction::max, 0.1)) == Verdict::reproduced);
  CHECK(verdict(ratio({1.67, 1.67}, ValueReduction::max, 0.1)) == Verdict::same_direction);
  CHECK(verdict(ratio({1.37, 1.37}, ValueReduction::max, 0.1)) == Verdict::reproduced);
  CHECK(verdict(ratio({1.36, 1.36}, ValueReduction::max, 0.1)) == Verdict::same_direction);
  CHECK(verdict(ratio({0.8, 0.8}, ValueReduction::max)) == Verdict::not_reproduced);  // the other direction
  CHECK(verdict(ratio({0.9, 1.1}, ValueReduction::max)) ==
        Verdict::not_reproduced);  // parity has no direction
  CHECK(verdict(ratio({1.25, 1.6}, ValueReduction::all)) == Verdict::same_direction);  // 1.2 is outside
  report::ClaimInterval at_least;
  at_least.low = 1.2;
  CHECK(verdict(ratio(at_least, ValueReduction::all)) == Verdict::reproduced);
  at_least.low = 1.21;
  CHECK(verdict(ratio(at_least, ValueReduction::all)) == Verdict::same_direction);
  auto undirected = ratio({2, 2}, ValueReduction::max);
  undirected.even.reset();
  CHECK(verdict(undirected) == Verdict::not_reproduced);
  auto apart = ratio({2, 2}, ValueReduction::all);
  apart.even = 1.3;  // 1.2 below, 1.5 above
  CHECK(verdict(apart) == Verdict::ambiguous);
  CHECK(verdict(ratio({3, 3}, ValueReduction::count)) == Verdict::not_reproduced);
}

TEST_CASE("a row without a value is missing; without any there is no verdict, but a count") {
  auto claim = ratio({1, 1}, ValueReduction::all);
  claim.measure.of["planner"] = {"c"};  // nothing on 4 devices, 190 / 200 on 8
  CHECK(report::judge(claim, rows()).values == 1);
  CHECK(report::judge(claim, rows()).missing == 1);
  claim.measure.of["devices"] = {"4"};
  CHECK(verdict(claim) == Verdict::ambiguous);
  claim.measure.reduce = ValueReduction::count;
  claim.paper = {0, 0};
  CHECK(verdict(claim) == Verdict::reproduced);
}

TEST_CASE("along a column each value is divided by the one before") {
  auto claim = ratio({}, ValueReduction::all);
  claim.measure.along = {"devices"};
  CHECK(report::judge(claim, rows()).ours->low == support::near(1.2 / 1.5));  // the ratio falls
  claim.measure = {"speed", {{"planner", {"a", "b"}}}, {}, {}, "", {"devices"}, ValueReduction::all};
  const auto each = report::judge(claim, rows());  // 200 / 100 and 240 / 150, one step per planner
  CHECK(each.values == 2);
  CHECK(each.ours->low == support::near(1.6));
  CHECK(each.ours->high == support::near(2));
  auto grown = rows();  // the size grows with the devices
  grown.columns.push_back("size"), grown.axes.push_back("size");
  for (auto& row : grown.cells) row.push_back(row[1] == "4" ? "40" : "80");
  CHECK(report::judge(claim, grown).values == 0);
  claim.measure.along = {"devices", "size"};
  CHECK(report::judge(claim, grown).values == 2);
}

TEST_CASE("claims about what is not there are refused") {
  auto claim = ratio({}, ValueReduction::all);
  claim.measure.column = "sped";
  CHECK(fault(claim) == "unknown column 'sped'; did you mean 'speed'?");
  claim = ratio({}, ValueReduction::all);
  claim.measure.of["planner"] = {"d", "e"};
  CHECK(fault(claim) == "no row has planner d or e");
  claim = ratio({}, ValueReduction::all);
  claim.measure.of["speed"] = {"1"};  // no axis: only the run shows it
  CHECK(fault(claim) == "no fault");
  claim.measure = {
      "speed", {}, report::Selector{{"planner", {"a"}}}, {"devices"}, "", {"devices"}, ValueReduction::all};
  auto twice = rows();
  twice.cells.push_back({"b", "4", "151"});
  CHECK_THROWS_WITH_AS(report::judge(claim, twice), "two values at devices 4: select fewer rows",
                       core::BadInput);
  CHECK_THROWS_WITH_AS(report::reduction("maxx"), "unknown reduction 'maxx'; did you mean 'max'?",
                       core::BadInput);
}

TEST_CASE("intervals in words; a reason is shown where the claim is not reproduced") {
  CHECK(report::text({1.61, 1.61}) == "1.61");
  CHECK(report::text({1.25, 1.61}) == "1.25 to 1.61");
  CHECK(report::text({9, report::ClaimInterval().high}) == "at least 9");
  CHECK(report::text({report::ClaimInterval().low, 60}) == "at most 60");
  std::vector<Claim> claims = {ratio({1.5, 1.5}, ValueReduction::max, 0.1),
                               ratio({2, 2}, ValueReduction::max)};
  for (Claim& claim : claims) claim.what = "faster", claim.source = "Fig. 1", claim.reason = "because";
  const std::vector<report::ClaimFinding> findings = {report::judge(claims[0], rows()),
                                                      report::judge(claims[1], rows())};
  CHECK(report::claims_csv(claims, findings) ==
        "claim,source,paper,ours,values,verdict,reason\n"
        "faster,Fig. 1,1.5,1.5,2,reproduced,\n"
        "faster,Fig. 1,2,1.5,2,same direction,because\n");
  const std::string json = report::claims_json("e", "s", claims, findings);
  CHECK(json.find("\"verdict\": \"same direction\"") != std::string::npos);
  CHECK(report::claims_table(claims, findings).find("same direction") != std::string::npos);
}
