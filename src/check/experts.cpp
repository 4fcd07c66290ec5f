// Expert parallelism by rules of the verifier's own: rows take their time to come in and to return, and every
// expert's weights are on some device.

#include <algorithm>

#include "evidence.hpp"

namespace penstock::check {
namespace {

/// Devices that follow each other in the order of replicas and context groups, of one tensor-parallel number
/// or, with whole experts, of all: together they have all experts.
std::vector<std::vector<DeviceId>> groups_of(const plan::Stage& stage) {
  const auto t = static_cast<std::size_t>(stage.whole_experts ? 1 : stage.tensor_parallel),
             e = static_cast<std::size_t>(stage.expert_parallel);
  std::vector<std::vector<DeviceId>> out(stage.devices.size() / e);
  for (std::size_t i = 0; i < stage.devices.size(); ++i)
    out[i / (t * e) * t + i % t].push_back(stage.devices[i]);
  return out;
}

/// Least rows per sample that a device receives in a forward pass: rows of others for its experts, and
/// results of other devices' experts for its own rows. At best rows are spread evenly.
double received_rows(const graph::OpGraph& graph, const plan::Stage& stage) {
  const double e = stage.expert_parallel;
  double rows = 0;
  for (const core::OpId id : stage.operators)
    if (const auto* m = std::get_if<graph::Experts>(&graph.op(id).attributes))
      rows += static_cast<double>(m->rows * m->chosen * m->hidden);
  const int tokens = stage.sequence_parallel ? stage.tensor_parallel : 1;  // parts of a context group's
  return 2 * rows * graph.element_bytes() * (e - 1) / e / stage.context_parallel / tokens;
}

/// The devices of a group together hold the weights of all experts.
void check_weights(TraceEvidence& evidence, StageId id) {
  const plan::Stage& stage = evidence.plan.stages[id.index()];
  if (stage.zero == 3 || (stage.tensor_parallel > 1 && !stage.whole_experts)) return;
  std::int64_t experts = 0;
  for (const core::OpId op : stage.operators)
    if (evidence.problem.graph.op(op).kind == graph::OpKind::experts)
      experts += evidence.problem.graph.parameter_bytes(op).value();
  for (const DeviceId device : stage.devices) {
    const core::Bytes held =
        plan::at(evidence.trace.devices[device.index()].fixed, plan::MemoryKind::weights);
    if (held.value() * stage.expert_parallel < experts)
      return evidence.violation("device {} holds less than its experts of stage {}", device.index(),
                                id.index());
  }
}

}  // namespace

void check_experts(TraceEvidence& evidence) {
  const bool known = evidence.perfect() && evidence.problem.cluster.collectives() == nullptr;
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s) {
    const plan::Stage& stage = evidence.plan.stages[s];
    if (!stage.experts_apart()) continue;
    check_weights(evidence, StageId(s));
    if (!known) continue;
    const double bytes = received_rows(evidence.problem.graph, stage);
    for (const auto& group : groups_of(stage))
      check_incoming(evidence, StageId(s), group, bytes, "experts' rows");
  }
}

}  // namespace penstock::check
