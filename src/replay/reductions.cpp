#include "reductions.hpp"

#include "penstock/cost/sharding.hpp"

namespace penstock::replay {

using schedule::Pass;

namespace {

/// The devices with one number within their groups, by number.
std::vector<std::vector<core::DeviceId>> across(const plan::Stage& stage) {
  std::vector<std::vector<core::DeviceId>> out(static_cast<std::size_t>(stage.tensor_parallel));
  for (std::size_t i = 0; i < stage.devices.size(); ++i) out[i % out.size()].push_back(stage.devices[i]);
  return out;
}

}  // namespace

Reductions::Reductions(const Program& program, const graph::OpGraph& graph, const plan::Plan& plan) {
  for (const auto& instructions : program.devices) at.emplace_back(instructions.size(), -1);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const auto groups = across(plan.stages[s]);
    for (std::size_t m = 0; m < groups.size() && plan.stages[s].replicas() > 1; ++m)
      add(program, core::StageId(s), groups[m], cost::stage_load(graph, plan.stages[s], m).parameters);
  }
}

void Reductions::add(const Program& program, core::StageId stage, const std::vector<core::DeviceId>& devices,
                     core::Bytes bytes) {
  const std::size_t first = list.size();
  for (const core::DeviceId device : devices) {
    std::size_t begun = first, updated = first;
    const auto& instructions = program.devices[device.index()];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      if (instructions[p].stage != stage) continue;
      std::int32_t& number = at[device.index()][p];
      if (instructions[p].pass == Pass::step && updated < begun)
        number = static_cast<std::int32_t>(updated++);
      if (instructions[p].pass != Pass::reduce_gradient) continue;
      number = static_cast<std::int32_t>(begun++);
      if (begun > list.size()) list.push_back({stage, devices, {}, bytes});
      list[begun - 1].position.push_back(p);
    }
  }
}

}  // namespace penstock::replay
