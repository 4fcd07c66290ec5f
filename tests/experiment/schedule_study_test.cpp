#include "penstock/experiment/schedule_study.hpp"

#include <doctest/doctest.h>

#include <regex>

#include "penstock/core/files.hpp"
#include "support/near.hpp"
#include "support/scratch.hpp"

using namespace penstock;

namespace {

const std::string kPipeline =
    "pipelines:\n  - {name: even, ranks: [4], micro_batches: [4, 8], forward: 1s, latency: 0s}\n";

experiment::ScheduleStudy study(const std::string& rest, const experiment::Overrides& overrides = {}) {
  const support::ScratchFolder scratch("schedule_study");
  core::write_file(scratch.path("e.yaml"), "experiment: e\n" + rest);
  return experiment::load_schedule_study(scratch.path("e.yaml"), overrides);
}

std::string fault_of(const std::string& rest) {
  try {
    study(rest);
  } catch (const core::BadInput& e) {
    const std::string message = e.what();
    return message.substr(message.find("e.yaml"));
  }
  return "no fault";
}

std::string cell(const report::TextRows& rows, std::size_t row, const std::string& column) {
  for (std::size_t c = 0; c < rows.columns.size(); ++c)
    if (rows.columns[c] == column) return rows.cells[row][c];
  return "no such column";
}

}  // namespace

TEST_CASE("1F1B idles (p-1)(F+B) = 3 x 3 s, holds p; the zero-bubble one a third, interleaved the half") {
  const auto rows =
      experiment::run_cells(study("schedules: [1f1b, zb_h1, interleaved_1f1b: {chunks: 2}]\n" + kPipeline));
  REQUIRE(rows.cells.size() == 6);
  for (std::size_t count : {0, 3}) {
    CHECK(std::stod(cell(rows, count, "bubble_s")) == support::near(9));
    CHECK(cell(rows, count, "peak_live") == "4");
    CHECK(std::stod(cell(rows, count + 1, "bubble_s")) == support::near(3));
    CHECK(std::stod(cell(rows, count + 2, "bubble_s")) == support::near(4.5));
  }
  const support::ScratchFolder scratch("schedule_table");
  const std::string shown = experiment::run(
      study("schedules: [1f1b]\npipelines:\n  - {name: thirds, ranks: [3], micro_batches: [7], forward: "
            "333333us, latency: 1us}\n"),
      scratch.path("out"), {});
  CHECK(shown.find("micro-batches  chunks  makespan, s  span, s  bubble  bubble time, s") !=
        std::string::npos);
  CHECK(shown.find("%  ") != std::string::npos);
  CHECK_FALSE(std::regex_search(shown, std::regex("[0-9]{6}")));
  CHECK(core::read_file(scratch.path("out/results.csv")).find("bubble_s") != std::string::npos);
  CHECK(cell(rows, 0, "micro_batches") == "4");
  CHECK(cell(rows, 3, "micro_batches") == "8");
  CHECK(std::stod(cell(rows, 3, "span_s")) == support::near(9 + 8 * 3));
  CHECK(cell(rows, 2, "schedule") == "interleaved_1f1b:chunks=2");
}

TEST_CASE("cells are selected and values set as in any experiment") {
  const auto few = study("schedules: [1f1b, zb_h1]\n" + kPipeline +
                             "include: [{micro_batches: 16}]\nexclude: [{schedule: zb_h1}]\n",
                         {"pipelines.0.micro_batches=[8, 16]"});
  REQUIRE(few.cells.size() == 1);
  CHECK(few.cells[0].schedule == "1f1b");
  CHECK(few.cells[0].shape.micro_batches == 16);
  CHECK(fault_of("schedules: [1f1b]\n" + kPipeline + "include: [{model: mmt}]\n")
            .starts_with("e.yaml:5: include[0].model: the grid has no such axis"));
}

TEST_CASE("a cell that a family does not support is a row with the reason") {
  const auto rows = experiment::run_cells(study("schedules: [zb_h2]\n" + kPipeline));
  CHECK(cell(rows, 0, "status").starts_with("not possible: zb_h2: needs"));  // 4 micro-batches, 2p-1 = 7
  CHECK(cell(rows, 0, "bubble") == "");
  CHECK(cell(rows, 1, "status") == "ok");
}

TEST_CASE("a memory limit holds for every family: 1F1B holds 4 on 4 ranks, which 4 allows and 3 does not") {
  const auto rows = experiment::run_cells(
      study("schedules: [1f1b: {memory_limit: 4}, 1f1b: {memory_limit: 3}]\n" + kPipeline));
  CHECK(cell(rows, 0, "status") == "ok");
  CHECK(cell(rows, 1, "status") ==
        "not possible: 1f1b: a rank holds 4 full-stage activations, memory_limit allows 3");
  CHECK(cell(rows, 1, "peak_live") == "");
}

TEST_CASE("an activation is kept whole for the weight gradient unless the file gives a share") {
  const std::string search =
      "schedules: [zb_2p]\npipelines:\n  - {name: x, ranks: [4], micro_batches: [16], forward: 10ms, "
      "input_gradient: 12ms, weight_gradient: 9ms, latency: 2ms";
  const auto span = [&](const std::string& bytes) {
    return cell(experiment::run_cells(study(search + bytes + "}\n")), 0, "span_s");
  };
  CHECK(span(", activation: 100B") == span(""));
  CHECK(span(", activation: 100B, weight_gradient_activation: 100B") == span(""));
  CHECK(span(", activation: 100B, weight_gradient_activation: 1B") < span(""));  // room for more forwards
  const std::string place = "e.yaml:4: pipelines[0].";
  CHECK(fault_of(search + ", weight_gradient_activation: 2B}\n") ==
        place + "weight_gradient_activation: expected a part of the activation, not more");
  CHECK(fault_of(search + ", activation: 0B}\n") == place + "activation: expected 1B to 16TiB");
  CHECK(fault_of(search + ", activation: 17TiB}\n") == place + "activation: expected 1B to 16TiB");
  CHECK(fault_of(search + ", activation: 16TiB}\n") == "no fault");
}

TEST_CASE("times stay on the clock") {
  const std::string start =
      "schedules: [1f1b]\npipelines:\n  - {name: x, ranks: [1], micro_batches: [1], forward: ";
  CHECK(cell(experiment::run_cells(study(start + "1000000s}\n")), 0, "makespan_s") == "3000000");
  CHECK(fault_of(start + "1000001s}\n") == "e.yaml:4: pipelines[0].forward: expected at most 1000000 s");
}

TEST_CASE("no two rows are about the same, and there are at most 100,000") {
  CHECK(fault_of("schedules: [1f1b, 1f1b]\n" + kPipeline) ==
        "e.yaml:1: two cells are 1f1b even 4 4: an axis repeats itself, or two pipelines share their name");
  std::string many = "1";
  for (int i = 2; i <= 1001; ++i) many += ", " + std::to_string(i);
  const auto study_of = [&](const std::string& ranks) {
    return "schedules: [1f1b]\npipelines:\n  - {name: x, ranks: [" + ranks + "], micro_batches: [" + many +
           "], forward: 1s}\n";
  };
  std::string hundred = "1";
  for (int i = 2; i <= 100; ++i) hundred += ", " + std::to_string(i);
  CHECK(fault_of(study_of(hundred)) == "e.yaml:4: pipelines[0]: more than 100000 cells");
  CHECK(fault_of(study_of("1, 2")) == "no fault");
}

TEST_CASE("a study leaves a results folder with judged claims") {
  const support::ScratchFolder scratch("schedule_study_run");
  const auto e = study("schedules: [1f1b, zb_h1]\n" + kPipeline +
                       "claims:\n  - {what: a third, source: s, paper: 0.3333, tolerance: 0.1%, measure:\n"
                       "     {column: bubble_s, of: {schedule: zb_h1}, over: {schedule: 1f1b}}}\n");
  experiment::run(e, scratch.path("out"), {});
  CHECK(core::read_file(scratch.path("out/claims.csv")) ==
        "claim,source,paper,ours,values,verdict,reason\na third,s,0.3333,0.3333,2,reproduced,\n");
  for (const char* file : {"results.csv", "results.json", "provenance.json", "table.txt", "claims.json"})
    CHECK_FALSE(core::read_file(scratch.path(std::string("out/") + file)).empty());
}

TEST_CASE("bad study files are refused with line and key") {
  CHECK(
      fault_of("schedules: [zb]\n" + kPipeline).starts_with("e.yaml:2: schedules[0]: unknown schedule 'zb'"));
  CHECK(fault_of("schedules: [1f1b: {chunk: 2}]\n" + kPipeline)
            .starts_with("e.yaml:2: schedules[0].1f1b.chunk: unknown key; did you mean 'chunks'?"));
  CHECK(
      fault_of("schedules: [1f1b]\npipelines:\n  - {name: x, ranks: [0], micro_batches: [1], forward: 1s}\n")
          .starts_with("e.yaml:4: pipelines[0].ranks[0]: expected a whole number"));
  CHECK(fault_of("schedules: [1f1b]\n" + kPipeline +
                 "claims: [{what: w, source: s, paper: 1, measure: {column: bubbl}}]\n") ==
        "e.yaml:5: claims[0].measure: unknown column 'bubbl'; did you mean 'bubble'?");
}
