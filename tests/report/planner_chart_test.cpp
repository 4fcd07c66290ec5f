#include "penstock/report/planner_chart.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace penstock::report;

namespace {

PlannerBar bar(const char* planner, std::optional<double> seconds, std::optional<double> bound) {
  PlannerBar out;
  out.row.planner = planner;
  out.row.iteration_s = seconds;
  out.row.lower_bound_s = bound;
  if (seconds && bound) out.row.gap = *seconds / *bound - 1;
  out.row.status = seconds ? "ok" : "infeasible: no room <here>";
  out.unseen = "ZeRO & more";
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("bars are as long as iterations take, with the bound, the gap and what is not seen") {
  const std::array bars = {bar("slow", 2.0, 1.0), bar("fast", 1.5, 1.2), bar("none", {}, {})};
  const std::string svg = planner_chart_svg(bars, "a problem");
  // 600 pixels for 2 s: 1.5 s are 450, and a bound of 1 s is at 300, one of 1.2 s at 360, both from 20 on.
  CHECK(has(svg, "width=\"600\" height=\"14\""));
  CHECK(has(svg, "width=\"450\" height=\"14\""));
  CHECK(has(svg, "d=\"M320 "));
  CHECK(has(svg, "d=\"M380 "));
  CHECK(has(svg, "2.00 s, 100.0 % above the bound"));
  CHECK(has(svg, "1.50 s, 25.0 % above the bound"));
  CHECK(has(svg, "leaves out: ZeRO &amp; more"));
  CHECK(has(svg, "infeasible: no room &lt;here&gt;"));
  CHECK(svg.find("slow") < svg.find("fast"));
}

TEST_CASE("bars of an aim have the length of its value, in its words and without a bound of time") {
  std::array bars = {bar("small", 2.0, 1.0), bar("large", 1.0, 1.0), bar("none", {}, {})};
  bars[0].aim = 30, bars[0].aim_words = "30 <B>";
  bars[1].aim = 60, bars[1].aim_words = "60 B";
  const std::string svg = planner_chart_svg(bars, "a problem", "ranked by memory");
  CHECK(has(svg, "ranked by memory"));
  CHECK_FALSE(has(svg, "simulated time"));
  CHECK(has(svg, "width=\"300\" height=\"14\""));
  CHECK(has(svg, "width=\"600\" height=\"14\""));
  CHECK(has(svg, "30 &lt;B&gt;"));
  CHECK_FALSE(has(svg, "above the bound"));
  CHECK_FALSE(has(svg, "class=\"bound\""));
}

TEST_CASE("without any plan there are reasons, and no bar; long words are cut") {
  auto failed = bar("none", {}, {});
  failed.row.status = "infeasible: " + std::string(300, 'x');
  const std::array bars = {failed};
  const std::string svg = planner_chart_svg(bars, "a problem");
  CHECK_FALSE(has(svg, "class=\"bar\" x"));
  CHECK(has(svg, "infeasible: xxx"));
  CHECK(has(svg, "x …"));
  CHECK_FALSE(has(svg, std::string(200, 'x')));
}
