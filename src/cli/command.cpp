#include "command.hpp"

#include <tbb/global_control.h>

namespace penstock::cli {

void ModelFlags::add(CLI::App& command, bool required) {
  auto* model = command.add_option("--model", name, "a network of the zoo (penstock models), or a model file (.json, .yaml)");
  if (required) model->required();
  command.add_option("-p,--parameter", parameters, "a model parameter; may be repeated (penstock model NAME lists them)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

plan::ModelRef ModelFlags::ref() const {
  plan::ModelRef out{name, {}};
  for (const std::string& text : parameters) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw core::BadInput("-p " + text + ": expected KEY=VALUE");
    if (!out.parameters.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw core::BadInput("-p " + text + ": the parameter is given twice");
  }
  return out;
}

void ClusterFlags::add(CLI::App& command, bool required) {
  auto* cluster = command.add_option("--cluster", file, "a cluster file, such as experiments/clusters/summit.yaml")->type_name("FILE");
  if (required) cluster->required();
  command.add_option("--devices", devices, "how many of its devices take part, the first ones; default: all")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
}

void add_costs(CLI::App& command, std::optional<std::string>& costs) {
  command.add_option("--costs", costs, "a profile of measured operator times; default: the analytic model")->type_name("FILE");
}

void add_network(CLI::App& command, std::string& network) {
  command.add_option("--network", network,
                     "how simulated transfers use a link: fifo, one after the other; or fair, sharing it max-min")
      ->capture_default_str();
}

void add_threads(CLI::App& command, int& threads) {
  command.add_option("-j,--threads", threads, "threads to use; default: all cores. Results do not depend on it")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
}

void add_json(CLI::App& command, bool& json) { command.add_flag("--json", json, "print JSON instead of a table"); }

struct ThreadLimit::Control {
  tbb::global_control limit;
};

ThreadLimit::ThreadLimit(int threads) {
  if (threads > 0)
    control_ = std::make_unique<Control>(
        Control{tbb::global_control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads))});
}
ThreadLimit::~ThreadLimit() = default;

}  // namespace penstock::cli
