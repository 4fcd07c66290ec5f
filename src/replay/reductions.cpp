#include "reductions.hpp"

namespace penstock::replay {

using schedule::Pass;

namespace {

core::Bytes gradients(const graph::OpGraph& graph, const plan::Stage& stage) {
  core::Bytes out;
  for (const core::OpId op : stage.operators) out += graph.parameter_bytes(op);
  return out;
}

}  // namespace

Reductions::Reductions(const Program& program, const graph::OpGraph& graph, const plan::Plan& plan) {
  for (const auto& instructions : program.devices) at.emplace_back(instructions.size(), -1);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::size_t first = list.size();
    for (const core::DeviceId device : plan.stages[s].devices) {
      std::size_t begun = first, updated = first;
      const auto& instructions = program.devices[device.index()];
      for (std::size_t p = 0; p < instructions.size(); ++p) {
        if (instructions[p].stage != core::StageId(s)) continue;
        std::int32_t& number = at[device.index()][p];
        if (instructions[p].pass == Pass::step && updated < begun)
          number = static_cast<std::int32_t>(updated++);
        if (instructions[p].pass != Pass::reduce_gradient) continue;
        number = static_cast<std::int32_t>(begun++);
        if (begun > list.size())
          list.push_back({core::StageId(s), plan.stages[s].devices, {}, gradients(graph, plan.stages[s])});
        list[begun - 1].position.push_back(p);
      }
    }
  }
}

}  // namespace penstock::replay
