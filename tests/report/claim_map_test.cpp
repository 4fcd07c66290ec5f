#include "penstock/report/claim_map.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/error.hpp"

using namespace penstock;
using report::Claim;
using report::TextRows;

namespace {

/// Two planners on 4 and 8 devices with two hosts and three mini-batches; `b` takes 1.3 times as long per
/// host.
TextRows rows() {
  TextRows out{
      {"devices", "host", "mini_batch", "planner", "rate"}, {"devices", "host", "mini_batch", "planner"}, {}};
  for (const char* devices : {"8", "4"})
    for (const char* host : {"slow", "none"})
      for (const char* samples : {"64", "16", "256"})
        for (const char* planner : {"a", "b"}) {
          const bool faster = *planner == 'b' && *host == 's';
          out.cells.push_back({devices, host, samples, planner, faster ? "1.3" : "1"});
        }
  return out;
}

Claim claim() {
  Claim out;
  out.what = "b over a";
  out.source = "an example";
  out.paper = {1.25, 1.61};
  out.measure.column = "rate";
  out.measure.of["planner"] = {"b"};
  out.measure.over = report::Selector();
  out.measure.over->emplace("planner", std::vector<std::string>{"a"});
  out.even = 1;
  out.map = report::ClaimMap{"host", "mini_batch", {"devices"}};
  return out;
}

std::ptrdiff_t count(const std::string& text, const std::string& part) {
  std::ptrdiff_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++out;
  return out;
}

}  // namespace

TEST_CASE(
    "a field for every value, a panel for every count of devices, a frame where the paper's word holds") {
  const std::string svg = report::claim_map_svg(claim(), rows());
  CHECK(count(svg, ">1.30<") == 2 * 3);
  CHECK(count(svg, ">1.00<") == 2 * 3);
  CHECK(count(svg, "class=\"holds\"") == 2 * 3);
  CHECK(count(svg, "#FFFFFF") == 2 * 3);  // what is even
  CHECK(svg.find("b over a") < svg.find("across: host; up: mini_batch"));
  // Numbers ascend, from below; other texts stay in order.
  CHECK(svg.find(">4<") < svg.find(">8<"));
  CHECK(svg.find(">16<") < svg.find(">64<"));
  CHECK(svg.find(">64<") < svg.find(">256<"));
  CHECK(svg.find(">slow<") < svg.find(">none<"));
  CHECK(report::map_file(0) == "claim_1.svg");
}

TEST_CASE("above even is orange, below is blue, a row without a number is a dash") {
  TextRows some = rows();
  for (auto& row : some.cells) {
    if (row[3] != "b") continue;
    if (row[1] == "slow") row[4] = "2";
    if (row[1] == "none") row[4] = row[2] == "16" ? "" : "0.5";
  }
  const std::string svg = report::claim_map_svg(claim(), some);
  CHECK(count(svg, "#E69F00") == 6);
  CHECK(count(svg, "#0072B2") == 4);
  CHECK(count(svg, ">-<") == 2);
  CHECK(count(svg, "class=\"holds\"") == 0);
}

TEST_CASE("two values in one field, or a column that is none, are refused") {
  Claim one_panel = claim();
  one_panel.map->panels.clear();
  CHECK_THROWS_WITH_AS(report::claim_map_svg(one_panel, rows()),
                       "two values at host slow, mini_batch 64: select fewer rows", core::BadInput);
  Claim wrong = claim();
  wrong.map->across = "hosts";
  CHECK_THROWS_WITH_AS(report::check(wrong, rows()), "unknown column 'hosts'; did you mean 'host'?",
                       core::BadInput);
}
