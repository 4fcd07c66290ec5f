#include "penstock/report/comparison.hpp"

#include <doctest/doctest.h>

using namespace penstock::report;

namespace {

CellResult row(const std::string& planner, const std::string& setting, double samples_per_s) {
  CellResult out;
  out.model = "mmt";
  out.planner = planner;
  out.setting = setting;
  out.samples_per_s = samples_per_s;
  out.search_s = 2;
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ratios compare planners under one setting: 30 / 10 and 40 / 20, not 40 / 10") {
  const CellResult rows[] = {row("a", "network=fair", 10), row("b", "network=fair", 30),
                             row("a", "network=fifo", 20), row("b", "network=fifo", 40)};
  const std::string table = comparison(rows, "a", false);
  CHECK(has(table, "setting"));
  CHECK(has(table, "network=fifo"));
  CHECK(has(table, "3.00x"));
  CHECK(has(table, "2.00x"));
  CHECK_FALSE(has(table, "4.00x"));
  CHECK(has(table, "Largest ratio: b is 3.00 times a"));
}

TEST_CASE("columns that no row needs are left out: settings, and search times by default") {
  const CellResult rows[] = {row("a", "", 10)};
  CHECK_FALSE(has(comparison(rows, "", true), "setting"));
  CHECK(has(comparison(rows, "", true), "search"));
  CHECK(has(comparison(rows, "", true), "2.00 s"));
  CHECK_FALSE(has(comparison(rows, "", false), "search"));
  CHECK_FALSE(has(comparison(rows, "", false), "2.00 s"));
}

TEST_CASE("among many problems each row finds the baseline of its own") {
  std::vector<CellResult> rows;
  for (int i = 1; i <= 500; ++i)
    for (const char* planner : {"b", "a"}) {
      rows.push_back(row(planner, "", *planner == 'a' ? i : 3 * i + (i == 77 ? 77 : 0)));
      rows.back().mini_batch = i;
    }
  CHECK(has(comparison(rows, "a", false),
            "Largest ratio: b is 4.00 times a (mmt on 0 devices, mini-batch 77)"));
}

TEST_CASE(
    "on a screen parameters that all rows of a model share stand above the table, in files in every row") {
  CellResult rows[] = {row("a", "", 10), row("b", "", 30), row("a", "", 20), row("a", "", 5)};
  rows[0].model = rows[1].model = "llama hidden=64 layers=2";
  rows[2].model = "llama hidden=64 layers=4";
  rows[3].model = "My own model";
  const std::string screen = comparison(rows, "", false, {.width = 200, .more = ""});
  CHECK(screen.starts_with("llama: hidden=64\n"));
  CHECK(has(screen, "llama layers=2 "));
  CHECK(has(screen, "llama layers=4 "));
  CHECK(has(screen, "My own model"));
  CHECK_FALSE(has(screen, "llama hidden"));
  CHECK(has(comparison(rows, "", false), "llama hidden=64 layers=4"));
}
