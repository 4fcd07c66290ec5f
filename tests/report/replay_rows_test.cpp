#include "penstock/report/replay_rows.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "penstock/report/trace_comparison.hpp"
#include "support/drawn_trace.hpp"
#include "support/near.hpp"

using namespace penstock;
using namespace penstock::report;

namespace {

/// Measured 1 s give or take 1 %, a gibibyte; the simulation has `times` and `bytes` of that.
ReplayRow row(const char* plan, double measured, double simulated, double memory = 1) {
  ReplayRow out;
  out.plan = plan;
  out.model = "mmt";
  out.devices = 2;
  out.planner = "graphpipe";
  out.schedule = "1f1b";
  out.measured = {measured, 0.99 * measured, 1.01 * measured};
  out.iterations = 5;
  out.simulated_s = simulated;
  out.peak = {1 << 30, memory * (1 << 30)};
  out.manner = "sequential";
  out.date = "2026-01-02T03:04:05Z";
  out.fingerprint = "0a0b0c0d";
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the first columns are those that a validation table is known by") {
  const std::string csv = to_csv(std::vector{row("a, b", 1, 1.25)});
  CHECK(
      csv.starts_with("plan,measured_s,measured_low_s,measured_high_s,simulated_s,error,peak_measured,"
                      "peak_simulated,peak_error,manner,noisy,"));
  CHECK(has(csv, "\n\"a, b\",1,0.99,1.01,1.25,0.25,1073741824,1073741824,0,sequential,no,"));
}

TEST_CASE("rows read back from JSON are the same rows") {
  const ReplayTable table{
      {row("a", 1, 1.25), row("b", 2.5, 2, 0.5)}, {{"c", "no room"}}, {{"device", "host"}}};
  const std::string json = to_json(table, {});
  ReplayTable again = table;
  again.rows = parse_replay_rows(json, "x.json");
  CHECK(to_json(again, {}) == json);
  CHECK(nlohmann::json::parse(json)["provenance"]["setting"]["device"] == "host");
}

TEST_CASE("a file that is no table of replays is refused with its place") {
  const auto refuses = [](const char* text, const char* message) {
    CHECK_THROWS_WITH_AS(parse_replay_rows(text, "x.json"), doctest::Contains(message), core::BadInput);
  };
  refuses("{", "x.json:1: not valid JSON");
  refuses("{}", "x.json");
  refuses(R"({"results": [{"plan": 7}]})", "x.json: results[0]");
}

TEST_CASE("below the table: mean and worst error, and the ranking") {
  // Errors +10 %, -30 %, +20 %: 20 % in the mean. Measured a < b < c, simulated b < a < c: of three pairs one
  // is swapped, tau = 1/3.
  const ReplayTable table{{row("a", 1, 1.1), row("b", 1.5, 1.05), row("c", 3, 3.6, 0.98)}, {}, {}};
  const std::string text = replay_table(table);
  CHECK(has(text,
            "3 plans: iteration time off by 20.0 % in the mean, -30.0 % at worst; peak memory by 0.7 % and "
            "-2.0 %\n"));
  CHECK(has(text, "Kendall's tau 0.33: all, 3 plans\n"));
  CHECK_FALSE(has(text, "noisy:"));
}

TEST_CASE("rankings are given per problem if there are several") {
  ReplayTable table{
      {row("a", 1, 1), row("b", 2, 2), row("c", 1, 2), row("d", 2, 1)}, {{"e", "infeasible: no"}}, {}};
  table.rows[2].devices = table.rows[3].devices = 4;
  const std::string text = replay_table(table);
  CHECK(has(text, "Kendall's tau 1.00: mmt on 2 devices, 2 plans\n"));
  CHECK(has(text, "Kendall's tau -1.00: mmt on 4 devices, 2 plans\n"));
  CHECK(has(text, "1 plan left out:\n  e: infeasible: no\n"));
}

TEST_CASE("a noisy plan is marked, on both sides of the boundary") {
  ReplayRow quiet = row("quiet", 1, 1.1), noisy = row("noisy", 1, 1.5);
  quiet.measured = {1, 0.95, 1.0499};
  noisy.measured = {1, 0.95, 1.0501};
  CHECK_FALSE(quiet.noisy());
  CHECK(noisy.noisy());
  const std::string text = replay_table({{quiet, noisy}, {}, {}});
  CHECK(has(text, "1 noisy: the repeats tell the median no better than 5 %\n"));
  CHECK(has(text, "the other 1: iteration time off by 10.0 % in the mean"));
}

TEST_CASE("one replay: headline, stages, kinds, tasks") {
  const trace::Trace drawn = support::drawn_trace();
  const auto comparison = trace::compare(drawn, drawn);
  const std::string text = comparison_table(row("a", 1, 0.9), comparison);
  CHECK(text.starts_with(
      "a: 1.00 s measured (990 ms to 1.01 s, 5 iterations, sequential), 900 ms simulated: -10.0 %\n"));
  CHECK(has(text, "stage 3"));
  CHECK(has(text, "all-reduce"));
  const std::string csv = comparison_csv(comparison);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == std::ssize(drawn.spans) + 1);
  CHECK(has(csv, "\nforward,0,,0,0,0,0,0.01,0.01,0\n"));
  const auto json = nlohmann::json::parse(
      comparison_json(row("a", 1, 0.9), {core::Seconds(2)}, {core::Seconds(3)}, comparison, {}));
  CHECK(json["iterations_s"][0] == 2);
  CHECK(json["graph_iterations_s"][0] == 3);
  CHECK(json["stages"].size() == 4);
  CHECK(json["replay"]["error"].get<double>() == support::near(-0.1));
}
