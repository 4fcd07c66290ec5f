#include "penstock/cost/training_state.hpp"

#include <vector>

#include "penstock/cost/matrix_step.hpp"

namespace penstock::cost {

namespace {

/// Memory of the whole model on one device that computes nothing.
plan::MemoryByKind model_memory(const Problem& problem) {
  const std::int64_t element = problem.graph.element_bytes();
  StageLoad load;
  load.parameters = core::Bytes(problem.graph.parameters() * element);
  for (const graph::Operator& op : problem.graph.operators())
    load.frozen += graph::frozen_bytes(op.frozen_format, op.frozen_parameters, element);
  std::vector<core::OpId> all;
  for (std::size_t id = 0; id < problem.graph.size(); ++id) all.emplace_back(id);
  load.updated = updated_weights(problem, all);
  return stage_memory(load, problem.memory, problem.training, 0, 0);
}

}  // namespace

core::Bytes training_state(const Problem& problem) {
  return plan::total(model_memory(problem));
}

core::Bytes checkpoint_bytes(const Problem& problem) {
  const plan::MemoryByKind memory = model_memory(problem);
  return plan::at(memory, plan::MemoryKind::weights) + plan::at(memory, plan::MemoryKind::optimizer);
}

}  // namespace penstock::cost
