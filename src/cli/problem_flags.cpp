#include "problem_flags.hpp"

namespace penstock::cli {

void ProblemFlags::add_problem(CLI::App& command) {
  model.add(command, true);
  cluster.add(command, true);
  command.add_option("--mini-batch", mini_batch, "samples per iteration")
      ->required()
      ->check(samples())
      ->type_name("B");
  command.add_option("--optimizer", optimizer, "sgd, momentum or adam: its state takes memory")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"sgd", "momentum", "adam"}));
  costs.add(command);
}

void ProblemFlags::add_training(CLI::App& command) {
  compression.add(command);
  precision.add(command);
  bucket.add(command);
}

LoadedProblem ProblemFlags::load() const {
  experiment::Cell cell{{}, cluster.ref(), {}, {mini_batch, plan::optimizer(optimizer)}, {}};
  compression.apply(cell.training.compression);
  bucket.apply(cell.training);
  cell.model = precision.apply(cell.training, model.ref());
  graph::OpGraph graph = experiment::load_model(cell.model);
  const cluster::Cluster stated = experiment::load_cluster(cell.cluster);
  cell.cluster.devices = static_cast<int>(stated.size());
  auto known = costs.load(stated);
  return {std::move(graph), cost::measured_by(*known, stated), std::move(known), std::move(cell)};
}

}  // namespace penstock::cli
