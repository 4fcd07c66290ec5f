#include "reductions.hpp"

#include <algorithm>

namespace penstock::replay {

using schedule::Pass;

namespace {

core::Bytes gradients(const graph::OpGraph& graph, const std::vector<core::OpId>& operators) {
  core::Bytes out;
  for (const core::OpId op : operators) out += graph.parameter_bytes(op);
  return out;
}

}  // namespace

Reductions::Reductions(const Program& program, const graph::OpGraph& graph, const plan::Plan& plan) {
  for (const auto& instructions : program.devices) at.emplace_back(instructions.size(), -1);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) add_own(program, graph, plan, s);
  for (std::size_t k = 0; k < program.shared.size(); ++k) add_shared(program, graph, plan, k);
}

void Reductions::add_own(const Program& program, const graph::OpGraph& graph, const plan::Plan& plan,
                         std::size_t s) {
  const std::size_t first = list.size();
  const core::Bytes bytes = gradients(graph, plan::unshared(plan.stages[s].operators, program.shared));
  for (const core::DeviceId device : plan.stages[s].devices) {
    std::size_t begun = first, updated = first;
    const auto& instructions = program.devices[device.index()];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      if (instructions[p].stage != core::StageId(s) || instructions[p].shared >= 0) continue;
      std::int32_t& number = at[device.index()][p];
      if (instructions[p].pass == Pass::step && updated < begun)
        number = static_cast<std::int32_t>(updated++);
      if (instructions[p].pass != Pass::reduce_gradient) continue;
      number = static_cast<std::int32_t>(begun++);
      if (begun > list.size()) list.push_back({core::StageId(s), plan.stages[s].devices, {}, bytes});
      list[begun - 1].position.push_back(p);
    }
  }
}

void Reductions::add_shared(const Program& program, const graph::OpGraph& graph, const plan::Plan& plan,
                            std::size_t k) {
  const plan::SharedParameters& shared = program.shared[k];
  const auto number = static_cast<std::int32_t>(list.size());
  Reduction sum{
      plan::home(shared, plan), plan::devices(shared, plan), {}, graph.parameter_bytes(shared.owner), shared};
  for (const core::DeviceId device : sum.devices) {
    const auto stages = plan::stages_on(shared, plan, device);
    const auto& instructions = program.devices[device.index()];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      const bool takes_part = instructions[p].shared == static_cast<std::int32_t>(k);
      const bool awaits = instructions[p].pass == Pass::step &&
                          std::find(stages.begin(), stages.end(), instructions[p].stage) != stages.end();
      if (takes_part) sum.position.push_back(p);
      if (takes_part || awaits) at[device.index()][p] = number;
    }
  }
  list.push_back(std::move(sum));
}

std::vector<std::vector<Region>> terms(const Reduction& reduction, const plan::Plan& plan,
                                       core::DeviceId device, Worker& worker) {
  if (!reduction.shared) return {worker.gradients(reduction.stage)};
  std::vector<std::vector<Region>> out;
  for (const core::StageId stage : plan::stages_on(*reduction.shared, plan, device))
    out.push_back(worker.shared_gradients(stage, reduction.shared->owner));
  return out;
}

}  // namespace penstock::replay
