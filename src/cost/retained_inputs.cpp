#include "penstock/cost/retained_inputs.hpp"

#include <algorithm>

#include "penstock/graph/work.hpp"

namespace penstock::cost {

core::Bytes retained_inputs(const Problem& problem, const plan::Stage& stage, const StageLoad& load,
                            std::int64_t samples) {
  if (!load.framework.keeps_inputs || stage.micro_batch < 1) return {};
  const bool last = std::ranges::any_of(stage.operators,
                                        [&](core::OpId id) { return graph::is_loss(problem.graph.op(id)); });
  if (!last) return {};
  const std::int64_t all = problem.training.mini_batch / stage.micro_batch,
                     in_flight = stage.in_flight / stage.micro_batch;
  return load.inputs * (samples * std::max<std::int64_t>(0, all - in_flight));
}

}  // namespace penstock::cost
