#include "penstock/experiment/spec.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/cell.hpp"
#include "support/checkout.hpp"
#include "support/scratch.hpp"

using namespace penstock;

namespace {

const std::string kCluster = support::checkout("/experiments/clusters/summit.yaml");

std::string text(const std::string& models, const std::string& rest = "planners: [graphpipe]\n") {
  return "experiment: e\nmodels:\n" + models + "clusters:\n  - {file: " + kCluster + ", devices: [4, 8]}\n" +
         rest;
}

std::string fault_of(const std::string& content) {
  const support::ScratchFolder scratch("spec_test");
  core::write_file(scratch.path("e.yaml"), content);
  try {
    experiment::load_spec(scratch.path("e.yaml"));
  } catch (const core::BadInput& e) {
    const std::string message = e.what();
    return message.substr(scratch.path("").size());
  }
  return "no fault";
}

}  // namespace

TEST_CASE("names of cells are short enough for files, and still distinct") {
  experiment::Cell cell;
  cell.model.name = "mmt";
  cell.cluster = {"summit.yaml", 4};
  cell.planner.name = "spp";
  CHECK(experiment::cell_name(cell) == "mmt-summit-4-spp-1");
  cell.setting = {{"search", std::string(400, 'a')}};
  const std::string one = experiment::cell_name(cell);
  cell.setting.front().second += 'b';
  const std::string other = experiment::cell_name(cell);
  CHECK(one.size() == 200);
  CHECK(other.size() == 200);
  CHECK(one != other);
  CHECK(one.starts_with("mmt-summit-4-spp-1-search_aaa"));
}

TEST_CASE("the grid: models, clusters, mini-batches, planners, in the order of the file") {
  const support::ScratchFolder scratch("spec_test");
  core::write_file(
      scratch.path("e.yaml"),
      text("  - {name: mmt, mini_batch_per_device: [16, 32]}\n  - {name: vgg16, mini_batch: [64]}\n",
           "planners: [spp, graphpipe]\nbaseline: spp\n"));
  const auto spec = experiment::load_spec(scratch.path("e.yaml"));
  REQUIRE(spec.cells.size() == (2 + 1) * 2 * 2);
  CHECK(spec.cells[0].planner.name == "spp");
  CHECK(spec.cells[0].training.mini_batch == 64);   // 16 on each of 4 devices
  CHECK(spec.cells[2].training.mini_batch == 128);  // 32 on each of 4 devices
  CHECK(experiment::cell_name(spec.cells[1]) == "mmt-summit-4-graphpipe-64");
}

TEST_CASE("a model with lists of parameters' values is one model for each choice of them") {
  const auto names = [](const experiment::Spec& spec) {
    std::vector<std::string> out;
    for (const auto& cell : spec.cells) out.push_back(experiment::describe(cell).model);
    return out;
  };
  const auto spec = experiment::parse_spec(
      text("  - {name: mmt, parameters: {branches: [2, 4], hidden: 512, layers: [4, 8]}, mini_batch: [64]}\n",
           "planners: [spp]\nexclude: [{devices: 8}]\n"),
      "e.yaml");
  CHECK(names(spec) ==
        std::vector<std::string>{"mmt branches=2 hidden=512 layers=4", "mmt branches=2 hidden=512 layers=8",
                                 "mmt branches=4 hidden=512 layers=4", "mmt branches=4 hidden=512 layers=8"});
  CHECK(fault_of(text("  - {name: mmt, parameters: {branches: []}, mini_batch: [64]}\n")) ==
        "e.yaml:3: models[0].parameters.branches: expected at least one value");
  CHECK(fault_of(text("  - {name: mmt, parameters: {branches: [2, 2]}, mini_batch: [64]}\n"))
            .find("two cells are named mmt-summit-4-graphpipe-64-branches_2") != std::string::npos);
  CHECK(fault_of(text("  - {name: mmt, parameters: {branches: [[2]]}, mini_batch: [64]}\n")) ==
        "e.yaml:3: models[0].parameters.branches[0]: expected text");
  CHECK(fault_of(text("  - {name: mmt, label: M, parameters: {branches: [2, 4]}, mini_batch: [64]}\n"))
            .find("a label names one model: give one value") != std::string::npos);
}

TEST_CASE("labels name models, clusters and planners in rows, and change no cell") {
  const support::ScratchFolder scratch("spec_test");
  const std::string clusters =
      "clusters:\n  - {file: " + kCluster + ", devices: [4], label: \"Two nodes\"}\n";
  core::write_file(scratch.path("e.yaml"),
                   "experiment: e\nmodels:\n  - {name: mmt, label: \"MMT, small\", parameters: {layers: 2}, "
                   "mini_batch: [64]}\n" +
                       clusters +
                       "planners: [spp, piper: {flush: true, label: Piper}]\nbaseline: piper:flush=true\n");
  const auto spec = experiment::load_spec(scratch.path("e.yaml"));
  REQUIRE(spec.cells.size() == 2);
  const auto row = experiment::describe(spec.cells[1]);
  CHECK(row.model == "MMT, small");
  CHECK(row.cluster == "Two nodes");
  CHECK(row.planner == "Piper");
  CHECK(spec.baseline == "Piper");
  CHECK(experiment::describe(spec.cells[0]).planner == "spp");
  CHECK(spec.cells[1].planner.options.at("flush") == "true");
  CHECK(spec.cells[1].planner.options.size() == 1);
  CHECK(experiment::cell_name(spec.cells[1]) == "MMT__small-Two_nodes-4-Piper-64");
  CHECK(fault_of(text("  - {name: mmt, label: " + std::string(81, 'a') + ", mini_batch: [64]}\n")) ==
        "e.yaml:3: models[0].label: expected one line of 1 to 80 characters");
}

TEST_CASE("an experiment of a config states everything: all its positions, SGD, its own numbers") {
  const support::ScratchFolder scratch("spec_test");
  core::write_file(scratch.path("Tiny-Llama/config.json"),
                   R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1,
                       "num_attention_heads": 1, "intermediate_size": 8, "max_position_embeddings": 8192,
                       "torch_dtype": "bfloat16"})");
  core::write_file(
      scratch.path("e.yaml"),
      text("  - {name: ./Tiny-Llama, mini_batch: [64]}\n"
           "  - {name: Tiny-Llama/config.json, parameters: {sequence: 16}, mini_batch: [64]}\n"));
  const auto cells = experiment::load_spec(scratch.path("e.yaml")).cells;
  CHECK(experiment::describe(cells.front()).model == "Tiny-Llama");
  CHECK(experiment::describe(cells.back()).model == "Tiny-Llama sequence=16");
  CHECK(cells.front().model.parameters.at("sequence") == "8192");
  CHECK_FALSE(cells.front().training.precision);
  CHECK(cells.front().training.optimizer == plan::Optimizer::sgd);
  CHECK_FALSE(cells.front().cluster.reserved);
}

TEST_CASE("messages are sent whole unless the file gives a share") {
  const support::ScratchFolder scratch("spec_test");
  const auto compression = [&](const std::string& rest) {
    core::write_file(scratch.path("e.yaml"),
                     text("  - {name: mmt, mini_batch: [64]}\n", "planners: [spp]\n" + rest));
    return experiment::load_spec(scratch.path("e.yaml")).cells.back().training.compression;
  };
  CHECK(compression("").gradients == 1);
  CHECK(compression("compression: {gradients: 0.1}\n").gradients == 0.1);
  CHECK(compression("compression: {gradients: 0.1}\n").activations == 1);
  CHECK(compression("compression: {activations: 0.5}\n").activations == 0.5);
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [64]}\n",
                      "planners: [spp]\ncompression: {gradients: 1.5}\n")) ==
        "e.yaml:7: compression.gradients: expected a ratio above 0 and at most 1");
}

TEST_CASE("a profile must have every operator before anything runs") {
  const support::ScratchFolder scratch("spec_test");
  core::write_file(scratch.path("p.yaml"),
                   "penstock_profile: 1\ndevice: V100\noperators: {x: {total: {1: 1ms}}}\n");
  core::write_file(scratch.path("e.yaml"),
                   text("  - {name: mmt, mini_batch: [64]}\n", "planners: [spp]\ncosts: p.yaml\n"));
  try {
    experiment::load_spec(scratch.path("e.yaml"));
    FAIL("accepted");
  } catch (const core::BadInput& e) {
    CHECK(std::string(e.what()).find("the profile of V100 has no operator") != std::string::npos);
  }
}

TEST_CASE(
    "links are shared, all-reduces take no link and buckets are PyTorch's, unless the file says otherwise") {
  const support::ScratchFolder scratch("spec_test");
  const std::string models = "  - {name: mmt, mini_batch: [64]}\n";
  core::write_file(scratch.path("plain.yaml"), text(models));
  const auto plain = experiment::load_spec(scratch.path("plain.yaml")).cells[0];
  CHECK(plain.simulation.network == sim::NetworkModel::fair);
  CHECK(plain.simulation.collective == sim::collective("closed_form"));
  CHECK(plain.training.bucket == core::Bytes(25 << 20));
  core::write_file(
      scratch.path("other.yaml"),
      text(models, "planners: [spp]\nbucket: 0B\nsimulation: {network: fifo, collective: ring}\n"));
  const auto other = experiment::load_spec(scratch.path("other.yaml")).cells[0];
  CHECK(other.simulation.network == sim::NetworkModel::fifo);
  CHECK(other.simulation.collective == sim::collective("ring"));
  CHECK(other.training.bucket == core::Bytes(0));
}

TEST_CASE("searches have unlimited time by default") {
  const std::string models = "  - {name: mmt, mini_batch: [64]}\n";
  CHECK_FALSE(experiment::parse_spec(text(models), "e.yaml").time_limit);
  CHECK(experiment::parse_spec(text(models, "planners: [spp]\ntime_limit: 1500ms\n"), "e.yaml").time_limit ==
        core::Seconds(1.5));
  CHECK(fault_of(text(models, "planners: [spp]\ntime_limit: 10\n"))
            .starts_with("e.yaml:7: time_limit: expected"));
}

TEST_CASE("a planner may occur several times with other options, and be a baseline by its whole name") {
  const std::string models = "  - {name: mmt, mini_batch: [64]}\n";
  const auto spec =
      experiment::parse_spec(text(models,
                                  "planners: [piper_row, piper_row: {flush: true}, {aceso: {rounds: 3, hops: "
                                  "1}}]\nbaseline: \"piper_row:flush=true\"\n"),
                             "e.yaml");
  REQUIRE(spec.cells.size() == 6);  // on 4 and 8 devices
  CHECK(spec.cells[1].planner == planners::PlannerChoice{"piper_row", {{"flush", "true"}}});
  CHECK(spec.cells[2].planner == planners::PlannerChoice{"aceso", {{"hops", "1"}, {"rounds", "3"}}});
  CHECK(fault_of(text(models, "planners:\n  - spp\n  - piper: {flsh: true}\n")) ==
        "e.yaml:8: planners[1].piper.flsh: piper: unknown option 'flsh'; did you mean 'flush'?");
  CHECK(fault_of(text(models, "planners: [{aceso: {rounds: -1}}]\n")) ==
        "e.yaml:6: planners[0].aceso.rounds: aceso: rounds: expected 0 to 1024, not '-1'");
  CHECK(fault_of(text(models, "planners: [{spp: {}, piper: {}}]\n")) ==
        "e.yaml:6: planners[0]: expected a planner, or {planner: {option: value}}");
  CHECK(fault_of(text(models, "planners: [{pipr: {flush: true}}]\n"))
            .starts_with("e.yaml:6: planners[0]: unknown planner 'pipr'"));
  CHECK(fault_of(text(models, "planners: [piper: {flush: true, flush: true}]\n"))
            .starts_with("e.yaml:6: planners[0].piper.flush: the key appears twice"));
}

TEST_CASE("bad experiment files are refused with line and key before anything runs") {
  CHECK(fault_of(text("  - {name: mmd, mini_batch: [64]}\n"))
            .starts_with("e.yaml:3: models[0]: unknown model 'mmd'; did you mean 'mmt'? (penstock models"));
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [0]}\n"))
            .starts_with("e.yaml:3: models[0].mini_batch[0]: expected a whole number"));
  CHECK(fault_of(text("  - {name: mmt}\n")) ==
        "e.yaml:3: models[0]: give either mini_batch or mini_batch_per_device");
  CHECK(fault_of(text("  - {name: mmt, parameters: {heads: 7}, mini_batch: [64]}\n"))
            .starts_with("e.yaml:3: models[0]: model mmt"));
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [64]}\n", "planners: [pipe]\n"))
            .starts_with("e.yaml:6: planners[0]: unknown planner 'pipe'"));
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [64]}\n", "planners: [spp]\nbaseline: graphpipe\n")) ==
        "e.yaml:7: baseline: the baseline is none of the planners; expected one of spp");
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [64]}\n", "planners: [spp]\nbaseline: sp\n")) ==
        "e.yaml:7: baseline: the baseline is none of the planners; did you mean 'spp'?");
  CHECK(fault_of(text("  - mmt\n")) ==
        "e.yaml:3: models[0]: expected a mapping, as in {name: mmt, mini_batch: [64]}");
  CHECK(fault_of(text("  - {name: mmt, mini_batch: 64}\n")) ==
        "e.yaml:3: models[0].mini_batch: expected a list, as in [64]");
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [64]}\n", "planners: [spp]\nmicro_batch: 3\n")) ==
        "e.yaml:7: micro_batch: micro-batch 3 does not divide the mini-batch 64 of mmt");
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [64, 64]}\n"))
            .find("two cells are named mmt-summit-4-graphpipe-64") != std::string::npos);
  CHECK(fault_of("experiment: e\nmodels: []\nclusters: []\nplanners: [spp]\n")
            .find("there is nothing to run") != std::string::npos);
  CHECK(fault_of("").find("expected a mapping") != std::string::npos);
  CHECK(fault_of(
            text("  - {name: mmt, mini_batch: [64]}\n", "planners: [spp]\nsimulation: {network: fare}\n")) ==
        "e.yaml:7: simulation.network: unknown network 'fare'; did you mean 'fair'?");
  CHECK(fault_of(text("  - {name: mmt, mini_batch: [64]}\n", "planners: [spp]\nplaner: x\n"))
            .starts_with("e.yaml:7: planer: unknown key; did you mean 'planners'?"));
}

TEST_CASE("micro-batch sizes, searches and schedules are axes; perturbations go with clusters") {
  const std::string models = "  - {name: mmt, mini_batch: [64]}\n";
  const auto spec =
      experiment::parse_spec(text(models,
                                  "planners: [gpipe_equal]\nmicro_batch: [4, 8]\nsearch: "
                                  "[{}, {k: 2, any_degree: true}]\nschedule: [planned, 1f1b]\n"),
                             "e.yaml");
  REQUIRE(spec.cells.size() == 2 * 2 * 2 * 2);  // on 4 and 8 devices
  CHECK(experiment::setting_text(spec.cells[0]) == "micro_batch=4 search=default schedule=planned");
  CHECK(experiment::cell_name(spec.cells[3]) ==
        "mmt-summit-4-gpipe_equal-64-micro_batch_4-search_k_2_any_degree_true-schedule_1f1b");
  CHECK(spec.cells[3].search.k == 2);
  CHECK(spec.cells[3].search.any_degree);
  CHECK(spec.cells[3].schedule == "1f1b");
  CHECK(spec.cells[2].schedule.empty());
  CHECK(*spec.cells[4].micro_batch == 8);
  CHECK(
      experiment::parse_spec(text(models, "planners: [spp]\nsearch: {k: 2}\n"), "e.yaml").cells[0].search.k ==
      2);
  CHECK(fault_of(text(models, "planners: [spp]\nschedule: [2f2b]\n"))
            .starts_with("e.yaml:7: schedule[0]: unknown schedule '2f2b'"));
  CHECK(fault_of(text(models, "planners: [spp]\nsearch: [{k: 0}]\n"))
            .starts_with("e.yaml:7: search[0].k: expected a whole number"));
  CHECK(fault_of("experiment: e\nmodels:\n" + models + "clusters:\n  - {file: " + kCluster +
                 ", devices: [4], perturbation: none.yaml}\nplanners: [spp]\n")
            .starts_with("e.yaml:5: clusters[0].perturbation:"));
  CHECK(fault_of("experiment: e\nmodels:\n" + models + "clusters:\n  - {file: " + kCluster +
                 ", devices: [4], perturbation: a.yaml, imperfection: b.yaml}\nplanners: [spp]\n")
            .starts_with("e.yaml:5: clusters[0].imperfection: give either perturbation or imperfection"));
}

TEST_CASE("claims are read, and those about what will not be there are refused") {
  const std::string models = "  - {name: mmt, mini_batch: [64]}\n";
  const auto claim = [&](const std::string& measure, const std::string& paper = "[1, 2]") {
    return text(models, "planners: [spp, graphpipe]\nclaims:\n  - {what: w, source: s, paper: " + paper +
                            ", measure: " + measure + "}\n");
  };
  const auto spec = experiment::parse_spec(
      claim(
          "{column: samples_per_s, of: {planner: graphpipe, devices: 4}, over: {planner: spp}, reduce: max}"),
      "e.yaml");
  REQUIRE(spec.claims.size() == 1);
  CHECK(spec.claims[0].paper.low == 1);
  CHECK(spec.claims[0].paper.high == 2);
  CHECK(spec.claims[0].tolerance == 0.1);
  CHECK(*spec.claims[0].even == 1);
  CHECK(spec.claims[0].measure.of.at("devices") == std::vector<std::string>{"4"});
  CHECK(std::isinf(
      experiment::parse_spec(claim("{column: gap}", "{at_most: 3}"), "e.yaml").claims[0].paper.low));
  CHECK(experiment::parse_spec(claim("{column: search_s}"), "e.yaml").claims[0].measure.column == "search_s");
  CHECK(fault_of(claim("{column: gap, of: {network: fifo}}"))
            .starts_with("e.yaml:8: claims[0].measure: unknown column 'network'"));
  CHECK(experiment::parse_spec(
            claim("{column: gap, of: {network: fifo}}") + "simulation: {network: [fair, fifo]}\n", "e.yaml")
            .claims.size() == 1);
  CHECK(fault_of(claim("{column: samples}"))
            .starts_with("e.yaml:8: claims[0].measure: unknown column 'samples'"));
  CHECK(fault_of(claim("{column: gap, of: {devices: 16}}")) ==
        "e.yaml:8: claims[0].measure: no row has devices 16");
  CHECK(fault_of(claim("{column: gap}", "[2, 1]")) == "e.yaml:8: claims[0].paper: expected [low, high]");
  CHECK(fault_of(claim("{column: gap, reduce: most}"))
            .starts_with("e.yaml:8: claims[0].measure.reduce: unknown reduction 'most'"));
}

TEST_CASE("foreign costs are allowed where there are costs, in so many words") {
  const std::string models = "  - {name: mmt, mini_batch: [64]}\n",
                    rest = "planners: [graphpipe]\nallow_foreign: ";
  CHECK(fault_of(text(models, rest + "maybe\n")) ==
        "e.yaml:7: allow_foreign: expected true or false, found 'maybe'");
  CHECK(fault_of(text(models, rest + "true\n")) ==
        "e.yaml:7: allow_foreign: belongs to costs, and there are none");
}

TEST_CASE(
    "a mini-batch per device keeps the whole one below 2^24 samples: 2^21 on 8 devices do, one more does "
    "not") {
  const auto fault = [](const std::string& each) {
    return fault_of(text("  - {name: mmt, mini_batch_per_device: [" + each + "]}\n"));
  };
  CHECK(fault("2097152") == "no fault");
  CHECK(fault("2097153") ==
        "e.yaml:3: models[0].mini_batch_per_device: 2097153 on each of 8 devices are more than 16777216");
}

TEST_CASE("a value that is set may hold aliases, but not without end") {
  const support::ScratchFolder scratch("spec_test");
  core::write_file(scratch.path("e.yaml"), text("  - {name: mmt, mini_batch: [64]}\n"));
  const auto cells = [&](const std::string& set) {
    return experiment::load_spec(scratch.path("e.yaml"), {set}).cells.size();
  };
  CHECK(cells("models=[{name: mmt, mini_batch: &a [64, 128]}, {name: vgg16, mini_batch: *a}]") == 8);
  CHECK_THROWS_WITH_AS(cells("models=&a [*a]"),
                       "--set models=&a [*a]: too many parts, or an alias inside what it names",
                       core::BadInput);
  std::string many = "exclude=[&a0 [x, x]";  // twice as many parts with each alias
  for (int i = 1; i < 40; ++i)
    many +=
        ", &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + ", *a" + std::to_string(i - 1) + "]";
  CHECK_THROWS_AS(cells(many + "]"), core::BadInput);
}
