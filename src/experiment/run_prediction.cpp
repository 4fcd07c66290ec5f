#include "run_prediction.hpp"

#include <algorithm>

#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {

RunPrediction run_prediction(const cost::Problem& problem, const plan::Plan& plan, core::StopToken stop) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  sim::SimulationOptions options;
  options.stop = stop;
  const auto time = sim::simulate_time(problem, score::scheduled(problem, plan), options);
  core::Bytes most;
  const auto memories = score::stage_memories(problem, plan);
  for (std::size_t s = 0; s < memories.size(); ++s) {
    const core::DeviceId first = plan.stages[s].devices.front();
    most = std::max(most, plan::total(memories[s]) + problem.cluster.type(first).reserved);
  }
  return {to_seconds(time).value(), static_cast<double>(most.value()) / kGib};
}

}  // namespace penstock::experiment
