#include "penstock/experiment/load_results.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/run.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/scratch.hpp"

using namespace penstock;
namespace fs = std::filesystem;

namespace {

constexpr report::ColumnGroups kEverything{.axes = true, .origin = true};

experiment::Spec two_settings() {
  return experiment::parse_spec(
      "experiment: small\nmodels: [{name: case_study, mini_batch: [32]}]\n"
      "clusters: [{file: summit.yaml, devices: [4]}]\nplanners: [spp, graphpipe]\noptimizer: [sgd, adam]\n",
      support::checkout("/experiments/clusters/small.yaml"));
}

}  // namespace

TEST_CASE("results in several files are read as the run returned them") {
  const support::ScratchFolder scratch("load_results");
  experiment::RunOptions options{scratch.path("out"), {}, {}};
  options.provenance.version = "0.1.0";
  options.provenance.date = "2000-01-01T00:00:00Z";
  options.provenance.hardware = "a, \"machine\"";
  const auto rows = experiment::run(two_settings(), options, {}).rows;
  REQUIRE(rows.size() == 4);
  const report::ResultSet read = experiment::load_results(options.folder);
  CHECK(report::to_json(read.rows, read.provenance, kEverything) ==
        report::to_json(rows, options.provenance, kEverything));
  CHECK(read.rows[0].search_s);
  CHECK(read.rows[0].hardware == options.provenance.hardware);

  SUBCASE("without timings the rest is read") {
    fs::remove(options.folder + "/timings.csv");
    const report::ResultSet rest = experiment::load_results(options.folder);
    CHECK_FALSE(rest.rows[0].search_s);
    CHECK(rest.rows[0].iteration_s == rows[0].iteration_s);
  }
  SUBCASE("the page warns of a row that breaks a limit") {
    CHECK(experiment::load_page(options.folder, {}).warnings.empty());
    auto wrong = rows;
    wrong[1].mfu = 2;
    core::write_file(options.folder + "/results.json", report::to_json(wrong, options.provenance));
    const auto warnings = experiment::load_page(options.folder, {}).warnings;
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("MFU 200.0 %") != std::string::npos);
  }
  SUBCASE("without a birth certificate nothing is") {
    fs::remove(options.folder + "/provenance.json");
    CHECK_THROWS_AS(experiment::load_results(options.folder), core::BadInput);
  }
  SUBCASE("one file with everything will do") {
    const std::string alone = scratch.path("alone");
    core::write_file(alone + "/results.json", report::to_json(rows, options.provenance, kEverything));
    const report::ResultSet other = experiment::load_results(alone);
    CHECK(report::to_json(other.rows, other.provenance, kEverything) ==
          report::to_json(rows, options.provenance, kEverything));
  }
}

TEST_CASE("a validation has no rows of that kind, but a provenance") {
  const support::ScratchFolder scratch("load_validation");
  core::write_file(scratch.path("validation.json"),
                   R"({"provenance": {"version": "0.1.0", "commit": "abc", "command": "c",
    "date": "2000-01-01T00:00:00Z", "hardware": "h", "compiler": "gcc"}, "results": [{"plan": "p"}]})");
  const report::ResultSet read = experiment::load_results(scratch.path("."));
  CHECK(read.rows.empty());
  CHECK(read.provenance.commit == "abc");
  core::write_file(scratch.path("validation.json"), "{}");
  CHECK_THROWS_AS(experiment::load_results(scratch.path(".")), core::BadInput);
}

TEST_CASE("a study of schedules has rows of its own, and no plans to load") {
  const support::ScratchFolder scratch("load_results");
  core::write_file(scratch.path("results.json"),
                   R"({"results": [{"schedule": "1f1b", "pipeline": "x", "bubble": 0.25, "status": "ok"}]})");
  CHECK_THROWS_WITH_AS(
      experiment::load_results(scratch.path(".")),
      (scratch.path("./results.json") +
       ": is about schedules alone; its table is in table.txt and results.csv, and `penstock "
       "report` makes a page of it")
          .c_str(),
      core::BadInput);
  CHECK(experiment::holds_schedules(scratch.path(".")));
  const report::TextRows rows = experiment::load_schedules(scratch.path("."));
  CHECK(rows.columns == std::vector<std::string>{"schedule", "pipeline", "bubble", "status"});
  CHECK(rows.cells == std::vector<std::vector<std::string>>{{"1f1b", "x", "0.25", "ok"}});
}

TEST_CASE("the page of a committed study of schedules has its rows, its summary and its claims") {
  const report::Page page = experiment::load_page(support::checkout("/results/zero_bubble"), {});
  CHECK(page.results.rows.empty());
  CHECK(page.schedules.cells.size() == 42);
  CHECK(page.summary == "Zero Bubble Table 5, bubble rates of six schedules");
  REQUIRE(page.claims.size() > 1);
  CHECK(page.claims[0].paper == "0.2431");
  CHECK(page.claims[1].verdict == "not reproduced");
  CHECK_FALSE(page.claims[1].reason.empty());
}

TEST_CASE("a run keeps what its experiment is about beside who ran it") {
  const support::ScratchFolder scratch("load_summary");
  experiment::Spec spec = two_settings();
  spec.summary = "rows against graphs";
  experiment::run(spec, {scratch.path("out"), {}, {}}, {});
  const report::Page page = experiment::load_page(scratch.path("out"), {});
  CHECK(page.summary == "rows against graphs");
  CHECK(page.results.rows.size() == 4);
  CHECK_FALSE(page.cells[0].data.empty());
  CHECK(page.advice.empty());
}

TEST_CASE("ratios to the experiment's baseline are made when results are read; another may be named") {
  const support::ScratchFolder scratch("baseline");
  experiment::RunOptions options{scratch.path("out"), {}, {}};
  options.provenance.version = "0.1.0";
  experiment::Spec spec = two_settings();
  spec.baseline = "spp";
  experiment::run(spec, options, {});
  CHECK(core::read_file(options.folder + "/results.csv").find(",ratio,") == std::string::npos);
  report::ResultSet read = experiment::load_results(options.folder);
  REQUIRE(read.baseline == "spp");
  for (const report::CellResult& row : read.rows)
    CHECK(row.ratio.has_value() == (row.planner == "graphpipe"));
  for (const report::CellResult& row : read.rows)
    for (const report::CellResult& base : read.rows)
      if (row.ratio && base.planner == "spp" && base.setting == row.setting)
        CHECK(*row.ratio == support::near(*row.samples_per_s / *base.samples_per_s));
  experiment::set_baseline(read, "graphpipe");
  for (const report::CellResult& row : read.rows) CHECK(row.ratio.has_value() == (row.planner == "spp"));
  CHECK_THROWS_WITH_AS(experiment::set_baseline(read, "sppp"),
                       "no row is of the baseline 'sppp'; did you mean 'spp'?", core::BadInput);
}
