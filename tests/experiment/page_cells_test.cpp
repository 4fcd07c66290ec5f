#include "penstock/experiment/page_cells.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "penstock/core/files.hpp"
#include "penstock/experiment/load_results.hpp"
#include "penstock/experiment/run.hpp"
#include "support/checkout.hpp"
#include "support/scratch.hpp"

using namespace penstock;
namespace fs = std::filesystem;

namespace {

experiment::Spec small_spec() {
  experiment::Spec spec;
  spec.name = "small";
  for (const char* planner : {"spp", "graphpipe"}) {
    experiment::Cell cell;
    cell.model.name = "case_study";
    cell.cluster = {support::checkout("/experiments/clusters/summit.yaml"), 4};
    cell.planner.name = planner;
    cell.training.mini_batch = 32;
    spec.cells.push_back(cell);
  }
  return spec;
}

}  // namespace

TEST_CASE("the cell of each row describes its plan, with the time of the row") {
  const support::ScratchFolder scratch("page_cells");
  const experiment::Spec spec = small_spec();
  auto rows = experiment::run(spec, {scratch.path("out"), {}, {}}, {}).rows;
  const auto cells = experiment::page_cells(scratch.path("out"), rows, {});
  REQUIRE(cells.size() == 2);
  for (const auto& cell : cells) {
    CHECK(!cell.data.empty());
    CHECK(cell.note.empty());
  }

  SUBCASE("rows in another order find their own plans") {
    std::swap(rows[0], rows[1]);
    const auto turned = experiment::page_cells(scratch.path("out"), rows, {});
    CHECK(turned[0].data == cells[1].data);
    CHECK(turned[1].data == cells[0].data);
  }
  SUBCASE("copies of a plan change nothing") {
    fs::copy(scratch.path("out") + "/plans", scratch.path("copies"));
    for (const auto& entry : fs::directory_iterator(scratch.path("copies")))
      fs::copy(entry.path(), scratch.path("out") + "/plans/copy-of-" + entry.path().filename().string());
    const auto other = experiment::page_cells(scratch.path("out"), rows, {});
    CHECK(other[0].data == cells[0].data);
    CHECK(other[1].data == cells[1].data);
  }
  SUBCASE("a time other than the row's is reported") {
    *rows[0].iteration_s *= 1.001;
    const auto other = experiment::page_cells(scratch.path("out"), rows, {});
    CHECK(other[0].note.find("where the results say") != std::string::npos);
    CHECK(!other[0].data.empty());
    CHECK(other[1].note.empty());
  }
  SUBCASE("a file that is no plan any more is reported, and its row has no drawings") {
    for (const auto& entry : fs::directory_iterator(scratch.path("out") + "/plans"))
      if (entry.path().string().find("graphpipe") != std::string::npos)
        core::write_file(entry.path().string(), "no plan\n");
    const auto other = experiment::page_cells(scratch.path("out"), rows, {});
    CHECK(other[0].data == cells[0].data);
    CHECK(other[1].data.empty());
    CHECK(other[1].note.find("No drawings: a plan file cannot be used") == 0);
  }
  SUBCASE("a row whose plan is gone reports it") {
    fs::remove(scratch.path("out") + "/plans/" + experiment::cell_name(spec.cells[1]) + ".yaml");
    const auto other = experiment::page_cells(scratch.path("out"), rows, {});
    CHECK(other[0].data == cells[0].data);
    CHECK(other[1].note.find("No drawings: plans/ has no plan of this row") == 0);
  }
  SUBCASE("a folder without plans has empty cells, and its page explains how to get plans") {
    fs::remove_all(scratch.path("out") + "/plans");
    for (const auto& cell : experiment::page_cells(scratch.path("out"), rows, {})) {
      CHECK(cell.data.empty());
      CHECK(cell.note.empty());
    }
    CHECK(experiment::load_page(scratch.path("out"), {}).advice.find("this folder has no plans") !=
          std::string::npos);
  }
  SUBCASE("plans under other names find their rows too") {
    int number = 0;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(scratch.path("out") + "/plans"))
      files.push_back(entry.path());
    for (const fs::path& file : files)
      fs::rename(file, file.parent_path() / (std::to_string(number++) + ".yaml"));
    const auto other = experiment::page_cells(scratch.path("out"), rows, {});
    CHECK(other[0].data == cells[0].data);
    CHECK(other[1].data == cells[1].data);
  }
  SUBCASE("a row without a cell's file names the costs that judge its plan") {
    fs::remove_all(scratch.path("out") + "/cells");
    CHECK(experiment::page_cells(scratch.path("out"), rows, {})[0].note.empty());
    rows[0].costs = "analytic";  // which the row's time is not of
    CHECK(experiment::page_cells(scratch.path("out"), rows, {})[0].note.find("where the results say") !=
          std::string::npos);
  }
}

TEST_CASE("each plan is simulated as its own cell was, and finds the row of its setting") {
  const support::ScratchFolder scratch("page_settings");
  const experiment::Spec spec = experiment::parse_spec(
      "experiment: settings\nmodels: [{name: mmt, mini_batch: [64]}]\nclusters: [{file: summit.yaml, "
      "devices: "
      "[8]}]\nplanners: [graphpipe: {max_replicas: 1}]\nmemory: {activation_copies: 2}\nsimulation: "
      "{network: [fair, fifo], "
      "collective: [closed_form, ring]}\n",
      support::checkout("/experiments/clusters/settings.yaml"));
  const auto rows = experiment::run(spec, {scratch.path("out"), {}, {}}, {}).rows;
  REQUIRE(rows.size() == 4);
  CHECK(*rows[0].iteration_s != *rows[2].iteration_s);  // fair, fifo
  const auto cells = experiment::page_cells(scratch.path("out"), rows, {});
  for (const auto& cell : cells) {
    CHECK(!cell.data.empty());
    CHECK(cell.note.empty());
  }
  CHECK(cells[0].data != cells[2].data);

  SUBCASE("without the cells' files a plan counts as one of the defaults, which no row here is") {
    fs::remove_all(scratch.path("out") + "/cells");
    for (const auto& cell : experiment::page_cells(scratch.path("out"), rows, {}))
      CHECK(cell.note.find("No drawings: plans/ has no plan of this row") == 0);
  }
  SUBCASE("a cell's file that cannot be used costs its row the drawings") {
    core::write_file(scratch.path("out") + "/cells/" + experiment::cell_name(spec.cells[2]) + ".json", "{}");
    const auto other = experiment::page_cells(scratch.path("out"), rows, {});
    CHECK(other[1].data == cells[1].data);
    CHECK(other[2].data.empty());
    CHECK(other[2].note.find("No drawings: a plan file cannot be used") == 0);
  }
}

TEST_CASE("a plan under a perturbation is drawn as it ran there") {
  const support::ScratchFolder scratch("page_perturbed");
  experiment::Spec spec = small_spec();
  for (experiment::Cell& cell : spec.cells)
    cell.perturbation = support::checkout("/experiments/imperfect/slow_device.yaml");
  const auto rows = experiment::run(spec, {scratch.path("out"), {}, {}}, {}).rows;
  REQUIRE(rows[0].cluster == "summit~slow_device");
  for (const auto& cell : experiment::page_cells(scratch.path("out"), rows, {})) {
    CHECK(!cell.data.empty());
    CHECK(cell.note.empty());
  }
}
