#include "penstock/report/results_chart.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <set>

#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock::report;
namespace support = penstock::support;

namespace {

CellResult row(const char* model, std::int64_t devices, const char* planner, std::optional<double> rate) {
  CellResult out;
  out.model = model;
  out.cluster = "summit";
  out.devices = devices;
  out.mini_batch = 16 * devices;
  out.planner = planner;
  out.samples_per_s = rate;
  if (rate) out.search_s = 0.001 * static_cast<double>(devices);
  return out;
}

std::vector<CellResult> rows() {
  return {row("mmt", 4, "spp", 50),        row("mmt", 4, "graphpipe", 100), row("mmt", 16, "spp", 200),
          row("mmt", 16, "graphpipe", {}), row("dlrm", 4, "spp", 1000),     row("dlrm", 16, "spp", 4000)};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
  return out;
}

}  // namespace

TEST_CASE("a panel for each model, a line for each planner, a marker for each value") {
  const std::string svg = results_chart_svg(rows(), ChartQuantity::throughput, "a & b");
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(count(svg, ">a &amp; b</text>") == 1);
  CHECK(count(svg, "class=\"name\">mmt on summit</text>") == 1);
  CHECK(count(svg, "class=\"name\">dlrm on summit</text>") == 1);
  CHECK(count(svg, "class=\"line\"") == 2);        // graphpipe on mmt has one value
  CHECK(count(svg, "class=\"marker\"") == 5 + 2);  // and two in the legend
  CHECK(count(svg, ">devices</text>") == 2);
  CHECK(svg == results_chart_svg(rows(), ChartQuantity::throughput, "a & b"));
}

TEST_CASE("points are at their values: twice the throughput is twice as high") {
  const std::vector two{row("mmt", 4, "spp", 100), row("mmt", 16, "spp", 200)};
  const std::string svg = results_chart_svg(two, ChartQuantity::throughput, "");
  const auto line = svg.find("class=\"line\"");
  REQUIRE(line != svg.npos);
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  REQUIRE(std::sscanf(svg.c_str() + svg.find("d=\"M", line), "d=\"M%lf %lfL%lf %lf", &x1, &y1, &x2, &y2) ==
          4);
  const auto grid = svg.find("class=\"grid\" d=\"M");  // of zero
  double left = 0, zero = 0;
  REQUIRE(std::sscanf(svg.c_str() + grid, "class=\"grid\" d=\"M%lf %lfh", &left, &zero) == 2);
  CHECK(x2 > x1);
  CHECK((zero - y2) / (zero - y1) == support::near(2, 0.01));
}

TEST_CASE("one count of devices: over mini-batches, or bars where they are one too") {
  std::vector one{row("mmt", 4, "spp", 50), row("mmt", 4, "graphpipe", 100)};
  const std::string bars = results_chart_svg(one, ChartQuantity::throughput, "");
  CHECK(count(bars, "<rect x=") == 2);
  CHECK(count(bars, ">graphpipe</text>") == 2);  // in the legend, and in front of its bar
  CHECK(count(bars, "class=\"line\"") == 0);
  one[1].planner = "spp";
  one[1].mini_batch = 256;
  CHECK(count(results_chart_svg(one, ChartQuantity::throughput, ""), ">mini-batch</text>") == 1);
}

TEST_CASE("search times of cells that ran side by side have a note, those measured one by one do not") {
  std::vector timed = rows();
  const std::string shared = results_chart_svg(timed, ChartQuantity::search_time, "");
  CHECK(count(shared, "Cells ran side by side") == 1);
  CHECK(count(results_chart_svg(timed, ChartQuantity::throughput, ""), "Cells ran side by side") == 0);
  for (CellResult& one : timed) one.search_memory_bytes = 1;
  CHECK(count(results_chart_svg(timed, ChartQuantity::search_time, ""), "Cells ran side by side") == 0);
}

TEST_CASE("the best twelve of many planners are drawn; without any value there is no picture") {
  std::vector<CellResult> many;
  for (int i = 0; i < 20; ++i)
    for (const int devices : {4, 16})
      many.push_back(row("mmt", devices, ("p" + std::to_string(i)).c_str(), 10 + i));
  const std::string svg = results_chart_svg(many, ChartQuantity::throughput, "");
  CHECK(count(svg, "class=\"line\"") == 12);
  CHECK(count(svg, ">p7</text>") == 0);
  CHECK(count(svg, ">p8</text>") == 1);
  CHECK_THROWS_AS(results_chart_svg(many, ChartQuantity::memory, ""), penstock::core::BadInput);
  CHECK_THROWS_AS(quantity("memry"), penstock::core::BadInput);
}

TEST_CASE("where planners are equal no line and no marker hides another") {
  std::vector same{row("mmt", 4, "a", 100),  row("mmt", 16, "a", 200), row("mmt", 4, "b", 100),
                   row("mmt", 16, "b", 200), row("mmt", 4, "c", 100),  row("mmt", 16, "c", 150)};
  const std::string svg = results_chart_svg(same, ChartQuantity::throughput, "");
  CHECK(count(svg, "class=\"line\"") == 3);
  CHECK(count(svg, "stroke-dasharray") == 1);  // b; c has but one point in common with others
  std::set<std::string> places;
  for (auto at = svg.find("class=\"marker\""); at != svg.npos; at = svg.find("class=\"marker\"", at + 1))
    places.insert(svg.substr(svg.find("translate", at), 24));
  CHECK(places.size() == 3 + 6);  // with the legend's
}
