#include "penstock/cost/training_state.hpp"

namespace penstock::cost {

core::Bytes training_state(const Problem& problem) {
  const std::int64_t element = problem.graph.element_bytes();
  StageLoad load;
  load.parameters = core::Bytes(problem.graph.parameters() * element);
  load.frozen = core::Bytes(problem.graph.frozen_parameters() * element);
  return plan::total(stage_memory(load, problem.memory, problem.training, 0, 0));
}

}  // namespace penstock::cost
