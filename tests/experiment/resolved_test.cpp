#include "experiment/resolved.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/experiment/inputs.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

experiment::Cell small_cell() {
  experiment::Cell cell;
  cell.model.name = "case_study";
  cell.cluster = {support::checkout("/experiments/clusters/summit.yaml"), 4};
  cell.planner.name = "spp";
  cell.training.mini_batch = 32;
  return cell;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string fault(const std::string& text) {
  try {
    experiment::parse_judgement(text, "c.json");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("inputs of a plan's evaluation are written and read back") {
  experiment::Cell cell = small_cell();
  cell.simulation.network = sim::NetworkModel::fifo;
  cell.simulation.collective = sim::collective("ring");
  cell.setting = {{"network", "fifo"}, {"bucket", "1MiB"}};
  experiment::Spec spec;
  spec.memory = {3, 2, 5, false, false};
  const auto read = experiment::parse_judgement(experiment::resolved(spec, cell, ""), "c.json");
  CHECK_FALSE(read.costs);
  CHECK(read.simulation.network == sim::NetworkModel::fifo);
  CHECK(read.simulation.collective == sim::collective("ring"));
  CHECK(read.memory.weight_copies == 3);
  CHECK(read.memory.gradient_copies == 2);
  CHECK(read.memory.activation_copies == 5);
  CHECK_FALSE(read.memory.optimizer_state);
  CHECK_FALSE(read.memory.transient);
  CHECK(read.setting == "network=fifo bucket=1MiB");
}

TEST_CASE("a model takes the bytes of the training's weights, and keeps its name") {
  plan::Training training;
  training.precision = plan::mixed_precision("mixed_bf16");
  const auto named = [&](const plan::ModelRef& model) {
    return experiment::model_name(experiment::in_numbers_of(training, model));
  };
  const plan::ModelRef small{"gpt", {{"layers", "2"}}};
  CHECK(experiment::in_numbers_of(training, small).parameters.at("element_bytes") == "2");
  CHECK(named(small) == "gpt layers=2");
  CHECK(named({"gpt", {}, "my model"}) == "my model");
  CHECK(named({"gpt", {{"element_bytes", "2"}}}) == "gpt element_bytes=2");  // given by the user
  training.precision.reset();
  CHECK(experiment::in_numbers_of(training, small).parameters == small.parameters);
}

TEST_CASE("costs are a file, data sheets or built-in curves") {
  const auto costs = [](const std::string& text) {
    return experiment::parse_judgement(text, "c.json").costs;
  };
  CHECK_FALSE(costs(experiment::resolved({}, small_cell(), "")));
  experiment::Spec sheets;
  sheets.costs = experiment::kDataSheet;
  const std::string text = experiment::resolved(sheets, small_cell(), "");
  CHECK(costs(text) == experiment::kDataSheet);
  const std::string other =
      replaced(text, "\"costs\": \"analytic\"", "\"costs\": {\"file\": \"t1.yaml\", \"content\": \"\"}");
  CHECK(experiment::parse_judgement(other, "c.json").costs == "t1.yaml");
}

TEST_CASE("a fault names the file and the key") {
  const std::string text = experiment::resolved({}, small_cell(), "");
  CHECK(fault(text).empty());
  CHECK(fault("{").find("c.json:1: not valid JSON") == 0);
  CHECK(fault("{}").find("c.json: ") == 0);
  CHECK(fault("{}").find("costs") != std::string::npos);
  const std::string copies = "\"weight_copies\": 1";
  CHECK(fault(replaced(text, copies, "\"weight_copies\": 1000")).empty());
  for (const char* wrong : {"1001", "-1", "0.5", "\"one\""})
    CHECK(fault(replaced(text, copies, std::string("\"weight_copies\": ") + wrong)) ==
          "c.json: weight_copies: expected a whole number from 0 to 1000");
  CHECK(fault(replaced(text, "\"fair\"", "\"fairr\"")).find("c.json: ") == 0);
}
