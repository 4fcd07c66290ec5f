#include "links/reductions.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/cost/sharding.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/plan/replica_placement.hpp"
#include "worker/division.hpp"

namespace penstock::replay {

using schedule::ActionKind;

namespace {

core::Bytes gradients(const graph::OpGraph& graph, const std::vector<core::OpId>& operators) {
  core::Bytes out;
  for (const core::OpId op : operators) out += graph.parameter_bytes(op);
  return out;
}

/// Bytes of the sum on device `member` of a group.
core::Bytes part(core::Bytes whole, const plan::Stage& stage, std::size_t member) {
  return core::Bytes(static_cast<std::int64_t>(
      std::ceil(static_cast<double>(whole.value()) * cost::part_of(stage, member))));
}

}  // namespace

std::vector<core::OpId> summed(const DevicePrograms& program, const graph::OpGraph& graph,
                               const plan::Stage& stage) {
  std::vector<core::OpId> out = plan::unshared(stage.operators, program.shared);
  const std::vector<core::OpId> experts = dispatched(graph, stage);
  std::erase_if(out, [&](core::OpId id) { return std::ranges::binary_search(experts, id); });
  return out;
}

ReductionList::ReductionList(const DevicePrograms& program, const graph::OpGraph& graph,
                             const plan::Plan& plan) {
  for (const auto& instructions : program.devices) at.emplace_back(instructions.size(), -1);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) add_own(program, graph, plan, s);
  for (std::size_t k = 0; k < program.shared.size(); ++k) add_shared(program, graph, plan, k);
}

void ReductionList::add_own(const DevicePrograms& program, const graph::OpGraph& graph,
                            const plan::Plan& plan, std::size_t s) {
  const plan::Stage& stage = plan.stages[s];
  if (stage.weight_replicas() == 1) return;
  const auto groups = plan::replica_groups(stage);
  if (groups.size() == 1)
    return add(program, core::StageId(s), groups[0], gradients(graph, summed(program, graph, stage)));
  for (std::size_t m = 0; m < groups.size(); ++m) {
    core::Bytes own = cost::held_weights(graph, stage, m);
    for (const plan::SharedParameters& shared : program.shared)
      if (plan::home(shared, plan).index() == s) own -= part(gradients(graph, shared.owners), stage, m);
    add(program, core::StageId(s), groups[m], own);
  }
}

void ReductionList::add(const DevicePrograms& program, core::StageId stage,
                        const std::vector<core::DeviceId>& devices, core::Bytes bytes) {
  const std::size_t first = list.size();
  for (const core::DeviceId device : devices) {
    std::size_t begun = first, updated = first;
    const auto& instructions = program.devices[device.index()];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      if (instructions[p].stage != stage || instructions[p].shared >= 0) continue;
      std::int32_t& number = at[device.index()][p];
      if (instructions[p].kind == ActionKind::step && updated < begun)
        number = static_cast<std::int32_t>(updated++);
      if (instructions[p].kind != ActionKind::reduce_gradient) continue;
      number = static_cast<std::int32_t>(begun++);
      if (begun > list.size()) list.push_back({stage, devices, {}, bytes});
      list[begun - 1].position.push_back(p);
    }
  }
}

void ReductionList::add_shared(const DevicePrograms& program, const graph::OpGraph& graph,
                               const plan::Plan& plan, std::size_t k) {
  const plan::SharedParameters& shared = program.shared[k];
  const plan::Stage& first = plan.stages[shared.stages.front().index()];
  const core::Bytes whole = gradients(graph, shared.owners);
  const auto groups =
      plan::Mesh(plan::devices(shared, plan), first.tensor_parallel).groups(plan::MeshDim::data);
  for (std::size_t m = 0; m < groups.size(); ++m) {
    GradientReduction sum{
        plan::home(shared, plan), groups[m], {}, groups.size() == 1 ? whole : part(whole, first, m), shared};
    note_shared(program, plan, static_cast<std::int32_t>(k), sum);
    list.push_back(std::move(sum));
  }
}

void ReductionList::note_shared(const DevicePrograms& program, const plan::Plan& plan, std::int32_t k,
                                GradientReduction& sum) {
  for (const core::DeviceId device : sum.devices) {
    const auto stages = plan::stages_on(*sum.shared, plan, device);
    const auto& instructions = program.devices[device.index()];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      const bool takes_part = instructions[p].shared == k;
      const bool awaits = instructions[p].kind == ActionKind::step &&
                          std::find(stages.begin(), stages.end(), instructions[p].stage) != stages.end();
      if (takes_part) sum.position.push_back(p);
      if (takes_part || awaits) at[device.index()][p] = static_cast<std::int32_t>(list.size());
    }
  }
}

std::vector<std::vector<BufferRegion>> terms(const GradientReduction& reduction, const plan::Plan& plan,
                                             core::DeviceId device, Worker& worker) {
  if (!reduction.shared) return {worker.gradients(reduction.stage)};
  std::vector<std::vector<BufferRegion>> out;
  for (const core::StageId stage : plan::stages_on(*reduction.shared, plan, device))
    out.push_back(worker.shared_gradients(stage, reduction.shared->owners));
  return out;
}

}  // namespace penstock::replay
