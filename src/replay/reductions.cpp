#include "reductions.hpp"

#include <algorithm>

#include "penstock/cost/sharding.hpp"

namespace penstock::replay {

using schedule::Pass;

namespace {

core::Bytes gradients(const graph::OpGraph& graph, const std::vector<core::OpId>& operators) {
  core::Bytes out;
  for (const core::OpId op : operators) out += graph.parameter_bytes(op);
  return out;
}

/// The devices with one number within their groups, by number.
std::vector<std::vector<core::DeviceId>> across(const plan::Stage& stage) {
  std::vector<std::vector<core::DeviceId>> out(static_cast<std::size_t>(stage.tensor_parallel));
  for (std::size_t i = 0; i < stage.devices.size(); ++i) out[i % out.size()].push_back(stage.devices[i]);
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
  const plan::Stage& stage = plan.stages[s];
  if (stage.replicas() == 1) return;
  const auto groups = across(stage);
  for (std::size_t m = 0; m < groups.size(); ++m)
    add(program, core::StageId(s), groups[m],
        groups.size() == 1 ? gradients(graph, plan::unshared(stage.operators, program.shared))
                           : cost::held_weights(graph, stage, m));
}

void Reductions::add(const Program& program, core::StageId stage, const std::vector<core::DeviceId>& devices,
                     core::Bytes bytes) {
  const std::size_t first = list.size();
  for (const core::DeviceId device : devices) {
    std::size_t begun = first, updated = first;
    const auto& instructions = program.devices[device.index()];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      if (instructions[p].stage != stage || instructions[p].shared >= 0) continue;
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
