#include "problem_flags.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "penstock/core/named_fault.hpp"

namespace penstock::cli {

void ProblemFlags::add_problem(CLI::App& command) {
  model.add(command, true);
  cluster.add(command, true);
  command.add_option("--mini-batch", mini_batch, "samples per iteration")
      ->required()
      ->check(samples())
      ->type_name("B");
  command
      .add_option(
          "--optimizer", optimizer,
          "sgd, momentum or adam: its state takes memory; default: adam for language models, which have a "
          "vocabulary, sgd for others")
      ->type_name("NAME")
      ->check(one_of({"sgd", "momentum", "adam"}));
  costs.add(command);
}

void ProblemFlags::add_training(CLI::App& command) {
  compression.add(command);
  precision.add(command);
  bucket.add(command);
}

namespace {

/// A config's longest sample is a choice of its training, which more tokens go beyond.
void warn_of_positions(const plan::ModelRef& model) {
  const auto number = [&](const char* key) {
    const auto at = model.parameters.find(key);
    return at == model.parameters.end() ? 0.0 : std::strtod(at->second.c_str(), nullptr);
  };
  const double sequence = number("sequence"), positions = number("positions");
  if (positions > 0 && sequence > positions)
    warn(fmt::format("a sample has {:.0f} tokens, but the model's config has {:.0f} positions", sequence,
                     positions));
}

}  // namespace

LoadedProblem ProblemFlags::load() const {
  const frameworks::NamedModel named = model.named();
  experiment::Cell cell{named.model, cluster.ref(), {}, {mini_batch}, {}};
  const experiment::ChosenTraining chosen = experiment::choose_training(
      named, experiment::load_cluster(cell.cluster), stated_training(cell.cluster.reserved.has_value()));
  cell.training.optimizer = chosen.optimizer;
  cell.training.precision = chosen.precision;
  compression.apply(cell.training.compression);
  bucket.apply(cell.training);
  cell.model = experiment::in_numbers_of(cell.training, std::move(cell.model));
  if (chosen.reserved) cell.cluster.reserved = chosen.reserved;
  warn_of_positions(cell.model);
  // Of a zoo's model that a file names, the file is at fault.
  const std::string file = cell.model.name == model.name ? "" : experiment::model_file_of(model.name);
  graph::OpGraph graph = core::naming(file, [&] { return experiment::load_model(cell.model); });
  const cluster::Cluster stated = experiment::load_cluster(cell.cluster);
  cell.cluster.devices = static_cast<int>(stated.size());
  auto known = costs.load(stated);
  LoadedProblem out{std::move(graph), cost::measured_by(*known, stated), std::move(known), std::move(cell)};
  out.assumptions = assumptions(out, named, chosen);
  return out;
}

experiment::StatedTraining ProblemFlags::stated_training(bool reserved) const {
  experiment::StatedTraining out{.reserved = reserved};
  if (!optimizer.empty()) out.optimizer = plan::optimizer(optimizer);
  if (!precision.name.empty()) out.precision = precision.name;
  return out;
}

experiment::Assumptions ProblemFlags::assumptions(const LoadedProblem& loaded,
                                                  const frameworks::NamedModel& named,
                                                  const experiment::ChosenTraining& chosen) const {
  const bool by_file = !chosen.reserved && loaded.cluster.types().front().reserved.value() > 0;
  return experiment::assumptions(loaded.problem(), loaded.cell.model,
                                 {.precision = !precision.name.empty(),
                                  .optimizer = !optimizer.empty(),
                                  .tokens = named.tokens_stated,
                                  .reserved = cluster.reserved().has_value() || by_file,
                                  .runtime = !cluster.runtime.empty(),
                                  .costs = costs.file.has_value(),
                                  .precision_note = chosen.precision_note});
}

}  // namespace penstock::cli
