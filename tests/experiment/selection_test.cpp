// Axes beyond models, clusters and planners; which cells of the grid are wanted; values set from outside.

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/experiment/spec.hpp"
#include "support/checkout.hpp"

using namespace penstock;
using Names = std::vector<std::string>;

namespace {

/// Line 1 experiment, 2 models, 3 clusters, 4 planners.
std::string grid(const std::string& rest) {
  return "experiment: e\nmodels: [{name: case_study, mini_batch: [32, 64]}]\nclusters: "
         "[{file: " +
         support::checkout("/experiments/clusters/summit.yaml") +
         ", devices: [4, 8]}]\nplanners: [spp, graphpipe]\n" + rest;
}

experiment::Spec read(const std::string& rest, const experiment::Overrides& overrides = {}) {
  return experiment::parse_spec(grid(rest), "e.yaml", overrides);
}

Names names(const experiment::Spec& spec) {
  Names out;
  for (const auto& cell : spec.cells) out.push_back(experiment::cell_name(cell));
  return out;
}

std::string fault_of(const std::string& rest, const experiment::Overrides& overrides = {}) {
  try {
    read(rest, overrides);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

}  // namespace

TEST_CASE(
    "a list where one value stood is an axis: 2 mini-batches, 2 counts of devices, 2 planners, times each") {
  CHECK(read("").cells.size() == 8);
  const auto spec = read("optimizer: [sgd, adam]\nbucket: 1MiB\nsimulation: {network: [fair, fifo]}\n");
  REQUIRE(spec.cells.size() == 8 * 2 * 2);
  // The planner is innermost, then the network, then the optimizer.
  CHECK(experiment::cell_name(spec.cells[0]) == "case_study-summit-4-spp-32-optimizer_sgd-network_fair");
  CHECK(spec.cells[1].planner.name == "graphpipe");
  CHECK(spec.cells[2].simulation.network == sim::NetworkModel::fifo);
  CHECK(spec.cells[4].training.optimizer == plan::Optimizer::adam);
  CHECK(experiment::setting_text(spec.cells[6]) == "optimizer=adam network=fifo");
  for (const auto& cell : spec.cells) CHECK(cell.training.bucket == core::Bytes(1 << 20));
  CHECK(read("micro_batch: [4, 8, 16]\n").cells.size() == 8 * 3);
  CHECK(read("compression: [{gradients: 0.5}, {}]\n").cells[0].training.compression.gradients == 0.5);
  const auto hosts = read("runtime: [none, legion_flexflow, 20us/task]\n");
  REQUIRE(hosts.cells.size() == 8 * 3);
  CHECK(hosts.cells[4].cluster.runtime == "20us/task");
  CHECK(experiment::setting_text(hosts.cells[4]) == "runtime=20us/task");
  CHECK(hosts.inputs->cluster(hosts.cells[4].cluster).types()[0].host().per_task ==
        cluster::runtime("20us/task").per_task);
  CHECK_THROWS_AS(read("runtime: [none, slow]\n"), core::BadInput);
  const auto numbers = read("precision: [fp32, mixed_bf16]\n");
  CHECK(numbers.cells[0].model.parameters.empty());
  CHECK(numbers.cells[2].training.precision == plan::mixed_precision("mixed_bf16"));
  CHECK(numbers.cells[2].model.parameters.at("element_bytes") == "2");  // the zoo builds it so
}

TEST_CASE("a list of one is an axis of one, and a value is none") {
  CHECK(experiment::setting_text(read("optimizer: [sgd]\n").cells[0]) == "optimizer=sgd");
  CHECK(experiment::setting_text(read("optimizer: sgd\n").cells[0]).empty());
}

TEST_CASE("include keeps the cells that an item fits, exclude drops them") {
  CHECK(
      names(
          read("include: [{devices: 4, mini_batch: 32}, {planner: spp, devices: [8], mini_batch: 64}]\n")) ==
      Names{"case_study-summit-4-spp-32", "case_study-summit-4-graphpipe-32", "case_study-summit-8-spp-64"});
  CHECK(names(read("exclude: [{planner: spp}, {devices: [4, 16]}]\n")) ==
        Names{"case_study-summit-8-graphpipe-32", "case_study-summit-8-graphpipe-64"});
  CHECK(names(read("include: [{devices: 4}]\nexclude: [{mini_batch: 64}, {planner: spp}]\n")) ==
        Names{"case_study-summit-4-graphpipe-32"});
  CHECK(read("optimizer: [sgd, adam]\nexclude: [{optimizer: adam, model: case_study}]\n").cells.size() == 8);
  CHECK(read("schedule: [planned, 1f1b]\nsearch: [{}, {k: 2}]\nexclude: [{schedule: 1f1b, search: k_2}]\n")
            .cells.size() == 8 * 3);
  // Excluded cells need not make sense: 24 divides no mini-batch, 64 only one.
  CHECK(read("micro_batch: [32, 64]\nexclude: [{micro_batch: 64, mini_batch: 32}]\n").cells.size() == 8 + 4);
}

TEST_CASE("an item names a model with any of its parameters") {
  const std::string two =
      "experiment: e\nmodels: [{name: gpt, parameters: {layers: 2, hidden: 96}, mini_batch: [8]}, {name: "
      "gpt, "
      "parameters: {layers: 4, hidden: 96}, mini_batch: [8]}]\nclusters: [{file: " +
      support::checkout("/experiments/clusters/summit.yaml") + ", devices: [4]}]\nplanners: [spp, dapple]\n";
  const auto layers = [&](const std::string& rest) {
    Names out;
    for (const auto& cell : experiment::parse_spec(two + rest, "e.yaml", {}).cells)
      out.push_back(cell.model.parameters.at("layers") + " " + cell.planner.name);
    return out;
  };
  CHECK(layers("include: [{model: gpt}]\n") == Names{"2 spp", "2 dapple", "4 spp", "4 dapple"});
  CHECK(layers("include: [{model: gpt layers=4}]\n") == Names{"4 spp", "4 dapple"});
  CHECK(layers("exclude: [{model: [gpt layers=2 hidden=96], planner: spp}]\n") ==
        Names{"2 dapple", "4 spp", "4 dapple"});
  CHECK_THROWS_AS(layers("include: [{model: gpt layers=3}]\n"), core::BadInput);
  CHECK_THROWS_AS(layers("include: [{model: layers=2}]\n"), core::BadInput);
  CHECK_THROWS_AS(layers("include: [{model: gpt layers=4 hidden=97}]\n"), core::BadInput);
}

TEST_CASE("items that select nothing, and axes that are none, are faults with their place") {
  CHECK(fault_of("exclude: [{planner: spq}]\n") ==
        "e.yaml:5: exclude[0]: no cell of the experiment has these values");
  CHECK(fault_of("include: [{device: 4}]\n") ==
        "e.yaml:5: include[0].device: the grid has no such axis; did you mean 'devices'?");
  CHECK(fault_of("optimizer: adam\ninclude: [{optimizer: adam}]\n")
            .starts_with("e.yaml:6: include[0].optimizer: the grid has no such axis"));
  CHECK(fault_of("include: [{}]\n") == "e.yaml:5: include[0]: expected at least one axis");
  CHECK(fault_of("exclude: [{planner: [spp, graphpipe]}]\n").find("every cell is excluded") !=
        std::string::npos);
  CHECK(fault_of("optimizer: []\n") == "e.yaml:5: optimizer: expected at least one value");
  CHECK(fault_of("optimizer: [sgd, adma]\n").starts_with("e.yaml:5: optimizer[1]: unknown optimizer 'adma'"));
  CHECK(fault_of("micro_batch: [8, 64]\n")
            .starts_with("e.yaml:5: micro_batch: micro-batch 64 does not divide"));
}

TEST_CASE("a value is set by its path before the file is read") {
  const auto spec = read("", {"models.0.mini_batch=[16]", "clusters.0.devices.1=2", "planners=[spp]",
                              "time_limit=2s", "experiment=f"});
  CHECK(spec.name == "f");
  CHECK(spec.time_limit == core::Seconds(2));
  CHECK(names(spec) == Names{"case_study-summit-4-spp-16", "case_study-summit-2-spp-16"});
}

TEST_CASE("a path that leads nowhere is a fault, and so is a value that does not belong there") {
  CHECK(fault_of("", {"cluster.nodes=4"}) ==
        "--set cluster.nodes=4: e.yaml:1: has no 'cluster'; did you mean 'clusters'?");
  CHECK(fault_of("", {"clusters.1.devices=4"}) ==
        "--set clusters.1.devices=4: e.yaml:3: clusters: expected the number of one of 1 items, from 0 on, "
        "found '1'");
  CHECK(fault_of("", {"clusters.-1=4"}).find("found '-1'") != std::string::npos);
  CHECK(fault_of("", {"experiment.x.y=4"}).find("experiment: has no 'x' inside: it is a value") !=
        std::string::npos);
  CHECK(fault_of("", {"experiment.x=4"}).find("experiment: has no 'x' inside: it is a value") !=
        std::string::npos);
  CHECK(fault_of("", {"time_limt=2s"}) == "e.yaml: time_limt: unknown key; did you mean 'time_limit'?");
  CHECK(fault_of("", {"models.0.mini_batch=[x]"})
            .starts_with("e.yaml: models[0].mini_batch[0]: expected a whole number"));
  CHECK(fault_of("", {"planners"}) == "--set planners: expected KEY=VALUE");
  CHECK(fault_of("", {"planners=[spp"}).starts_with("--set planners=[spp: not valid YAML"));
}
