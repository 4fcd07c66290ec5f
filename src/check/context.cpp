// Context parallelism by rules of the verifier's own: transfers take their time, and the saved bytes are
// there.

#include <algorithm>

#include "evidence.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::check {
namespace {

/// Bytes per sample that a device receives in a forward pass, by any algorithm: the tokens and heads of
/// others that attentions of a stage read.
double received(const graph::OpGraph& graph, const plan::Stage& stage) {
  const double c = stage.context_parallel, others = (c - 1) / c;
  double sum = 0;
  for (const core::OpId id : stage.operators) {
    const auto* a = std::get_if<graph::Attention>(&graph.op(id).attributes);
    if (a == nullptr) continue;
    const auto keys_values = static_cast<double>(a->keys * (a->shared_width() + a->values_width())),
               traded = static_cast<double>(a->queries * (a->inner_width() + a->result_width()));
    const bool heads = stage.context_exchange == plan::ContextExchange::ulysses;
    sum += heads ? (traded + keys_values) * others / c : keys_values * others;
  }
  return sum * graph.element_bytes() / stage.tensor_parallel;
}

/// The devices of a replica together save all that the stage saves.
void check_saved(TraceEvidence& evidence, StageId id) {
  const plan::Stage& stage = evidence.plan.stages[id.index()];
  if (stage.recompute || stage.tensor_parallel > 1) return;
  std::int64_t saved = 0;
  for (const core::OpId op : stage.operators) saved += evidence.problem.graph.op(op).saved_bytes.value();
  for (std::size_t i = 0; i < stage.devices.size(); ++i) {
    std::int64_t most = 0;
    for (const auto& point : evidence.trace.devices[stage.devices[i].index()].memory)
      most = std::max(most, point.activations.value());
    if (most * stage.context_parallel < saved * evidence.samples(id, i))
      return evidence.violation("device {} saves less than its tokens' part of stage {}",
                                stage.devices[i].index(), id.index());
  }
}

}  // namespace

void check_context(TraceEvidence& evidence) {
  const bool known = evidence.perfect() && evidence.problem.cluster.collectives() == nullptr;
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s) {
    const plan::Stage& stage = evidence.plan.stages[s];
    if (stage.context_parallel == 1) continue;
    check_saved(evidence, StageId(s));
    if (!known) continue;
    for (const auto& group : plan::Mesh(stage).groups(plan::MeshDim::context))
      check_incoming(evidence, StageId(s), group, received(evidence.problem.graph, stage), "keys and values");
  }
}

}  // namespace penstock::check
