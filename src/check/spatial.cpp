// Spatial parallelism by rules of the verifier's own: borders take their time to come in.

#include <algorithm>

#include "evidence.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::check {
namespace {

/// Of the rows of other groups, what windows of a stage reach at least, per sample.
double border_bytes(const graph::OpGraph& graph, const plan::Stage& stage) {
  double sum = 0;
  for (const core::OpId id : stage.operators)
    if (const auto* c = std::get_if<graph::Convolution>(&graph.op(id).attributes))
      sum += static_cast<double>(std::max<std::int64_t>(0, c->window.kernel[0] - c->window.stride[0]) *
                                 c->window.image[1] * c->window.channels);
  return sum * graph.element_bytes();
}

}  // namespace

void check_spatial(Evidence& evidence) {
  if (!evidence.perfect() || evidence.problem.cluster.collectives() != nullptr) return;
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s) {
    const plan::Stage& stage = evidence.plan.stages[s];
    if (stage.spatial_parallel > 1)
      for (const auto& group : plan::Mesh(stage).groups(plan::MeshDim::spatial))
        check_incoming(evidence, StageId(s), group, border_bytes(evidence.problem.graph, stage), "borders");
  }
}

}  // namespace penstock::check
