#include "penstock/experiment/remote.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "penstock/core/files.hpp"
#include "penstock/graph/graph_file.hpp"
#include "support/lasting_files.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using experiment::Answers;
using experiment::RemoteCell;
using experiment::RunOptions;

namespace {

constexpr const char* kText =
    "experiment: small\nmodels:\n  - {name: case_study, parameters: {layers: 2}, mini_batch: [32]}\n"
    "  - {name: model.json, mini_batch: [16]}\nclusters: [{name: summit, devices: [2]}]\n"
    "planners: [spp, joint: {evaluations: 64, starts: quick}]\n";

RunOptions options(const std::string& folder) {
  RunOptions out{folder, {}, {}};
  out.program = "this build";
  return out;
}

/// The spec of kText as another process has it, which reads no file.
experiment::Spec sent(const experiment::Spec& spec, const std::string& path) {
  return experiment::parse_spec(kText, path, {}, spec.inputs->texts());
}

std::string entry(const experiment::Spec& spec, const RemoteCell& cell, const Answers& answers) {
  return experiment::run_remote(spec, cell, answers, options(""), {}).text;
}

struct RemoteFixture {
  support::ScratchFolder scratch{"remote_test"};
  std::string path = scratch.path("small.yaml");
  experiment::Spec spec = [this] {
    core::write_file(scratch.path("model.json"),
                     graph::to_json(experiment::InputSnapshot().model({"candle_uno", {{"towers", "3"}}})));
    return experiment::parse_spec(kText, path);
  }();
};

}  // namespace

TEST_CASE_FIXTURE(RemoteFixture,
                  "cells run elsewhere, without their files, give the results of a run, byte for byte") {
  const auto ours = options(scratch.path("ours")), theirs = options(scratch.path("theirs"));
  experiment::run(spec, ours, {});
  const auto cells = experiment::remote_cells(spec, theirs);
  REQUIRE(cells.size() == 4);
  const auto there = sent(spec, path);
  std::filesystem::remove(scratch.path("model.json"));
  for (const RemoteCell& cell : cells) {
    const auto row = experiment::take_in(theirs, cell, entry(there, cell, {}));
    CHECK(row.status == "ok");
  }
  CHECK(experiment::remote_cells(spec, theirs).empty());
  core::write_file(scratch.path("model.json"), spec.inputs->texts().at(scratch.path("model.json")));
  std::size_t cached = 0;
  RunOptions last = theirs;
  last.progress = [&](std::size_t, std::size_t, const auto&, bool found) { cached += found; };
  experiment::run(spec, last, {});
  CHECK(cached == 4);
  CHECK(support::lasting_files(theirs.folder) == support::lasting_files(ours.folder));
}

TEST_CASE_FIXTURE(RemoteFixture,
                  "joint finds the same with its starts searched one by one, some of them, or none") {
  for (const char* clusters : {"{name: summit, devices: [2]}", "{name: 8xH100x16}"}) {
    spec = experiment::parse_spec(
        fmt::format("experiment: small\nmodels: [{{name: case_study, parameters: {{layers: 2}}, mini_batch: "
                    "[128]}}]\n"
                    "clusters: [{}]\nplanners: [spp, joint: {{evaluations: 64, starts: quick}}]\n",
                    clusters),
        path);
    const auto cells = experiment::remote_cells(spec, options(scratch.path("out")));
    const RemoteCell& cell = cells[1];
    CHECK(std::ranges::count(cell.first, "joint:evaluations=48:part=alone:starts=quick") ==
          (clusters[7] == '8' ? 1 : 0));
    REQUIRE(spec.cells[cell.cell].planner.name == "joint");
    REQUIRE(cell.first.size() + cell.then.size() > 10);
    CHECK(cells[0].first.empty());
    CHECK(cells[0].then.empty());
    Answers answers, some;
    const auto ask = [&](const std::string& planner, const Answers& known) {
      answers[planner] = experiment::run_start(spec, cell, planner, known, options(""), {});
      if (answers.size() % 3 == 0) some[planner] = answers[planner];
    };
    for (const std::string& planner : cell.first) ask(planner, {});
    const Answers first = answers;
    for (const std::string& planner : cell.then) ask(planner, first);
    for (const std::string& planner : cell.then)
      CHECK(experiment::run_start(spec, cell, planner, {}, options(""), {}) == answers.at(planner));
    const auto timeless = [&](const Answers& given) {
      std::string text = entry(spec, cell, given);
      const auto taken = options(scratch.path("taken"));
      auto row = experiment::take_in(taken, cell, text);
      row.search_s = row.judging_s = {};
      return report::to_record(row) + text.substr(text.find("\npenstock_plan: "));
    };
    const std::string whole = timeless({});
    const auto plan_of = [](const std::string& text) { return text.substr(0, text.rfind("end ")); };
    CHECK(plan_of(timeless(answers)) == plan_of(whole));
    CHECK(plan_of(timeless(some)) == plan_of(whole));
  }
}

TEST_CASE_FIXTURE(RemoteFixture, "results of another build, input or cell and damaged ones are refused") {
  const auto leader = options(scratch.path("out"));
  const auto cells = experiment::remote_cells(spec, leader);
  auto other = options("");
  other.program = "another build";
  CHECK_THROWS_AS(experiment::run_remote(spec, cells[0], {}, other, {}), core::BadInput);
  CHECK_THROWS_AS(experiment::run_start(spec, cells[1], "spp", {}, other, {}), core::BadInput);
  auto texts = spec.inputs->texts();
  texts.at(scratch.path("model.json")) =
      graph::to_json(experiment::InputSnapshot().model({"candle_uno", {{"towers", "2"}}}));
  const auto wrong = experiment::parse_spec(kText, path, {}, texts);
  CHECK_NOTHROW(experiment::run_remote(wrong, cells[0], {}, leader, {}));
  CHECK_THROWS_AS(experiment::run_remote(wrong, cells[2], {}, leader, {}), core::BadInput);
  std::string text = entry(spec, cells[0], {});
  CHECK_THROWS_AS(experiment::take_in(leader, cells[1], text), core::BadInput);
  text[text.size() / 2] ^= 1;
  CHECK_THROWS_AS(experiment::take_in(leader, cells[0], text), core::BadInput);
}

TEST_CASE_FIXTURE(RemoteFixture, "a cell's own mistake is a row, and the exception is in it") {
  spec.cells[0].planner.name = "piper";
  spec.cells[0].pipeline_micro_batch = 8;
  const auto ours = options(scratch.path("out"));
  const auto cells = experiment::remote_cells(spec, ours);
  const auto found = experiment::run_remote(spec, cells[0], {}, ours, {});
  REQUIRE(found.error);
  CHECK_THROWS_AS(std::rethrow_exception(found.error), core::BadInput);
  CHECK(experiment::take_in(ours, cells[0], found.text).status.starts_with("bad input: "));
  CHECK(experiment::remote_cells(spec, ours).size() == 4);  // it is no lasting row
  RunOptions last = ours;
  last.again = false;
  CHECK_FALSE(experiment::run(spec, last, {}).error);  // as it was taken in
  last.again = true;
  CHECK(experiment::run(spec, last, {}).error);
}
