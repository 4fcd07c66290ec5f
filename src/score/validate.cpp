#include "penstock/score/validate.hpp"

#include <fmt/format.h>

#include "penstock/core/quantity_text.hpp"
#include "penstock/plan/faults.hpp"
#include "penstock/schedule/task_order.hpp"

namespace penstock::score {

plan::MemoryByKind stage_memory(const cost::Problem& problem, const plan::Stage& stage) {
  return cost::stage_memory(cost::stage_load(problem.graph, stage.operators), problem.memory,
                            problem.training.optimizer,
                            cost::samples_per_device(stage.micro_batch, static_cast<std::int64_t>(stage.devices.size())),
                            stage.in_flight / stage.micro_batch);
}

std::vector<std::string> faults(const cost::Problem& problem, const plan::Plan& judged) {
  auto out = plan::structural_faults(problem.graph, problem.cluster, judged);
  if (!out.empty()) return out;
  out = schedule::order_faults(judged, schedule::task_order(judged));
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const core::Bytes needed = plan::total(score::stage_memory(problem, judged.stages[s]));
    for (core::DeviceId d : judged.stages[s].devices) {
      const core::Bytes has = problem.cluster.type(d).memory;
      if (needed > has)
        out.push_back(fmt::format("stage {} needs {} on device {}, which has {}: {} missing", s, core::show(needed),
                                  d.index(), core::show(has), core::show(needed - has)));
    }
  }
  return out;
}

}  // namespace penstock::score
