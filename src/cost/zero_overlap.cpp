#include "zero_overlap.hpp"

#include <algorithm>

namespace penstock::cost {
namespace {

using core::Seconds;

Seconds waited(Seconds sent, Seconds computed, double layers) {
  return std::max(sent / layers, sent - computed);
}

}  // namespace

double travelling_layers(const graph::OpGraph& graph, const plan::Stage& stage) {
  if (stage.zero < 2) return 1;
  const auto layers = plan::segments(graph, stage.operators, plan::kRecomputeLayers).size();
  return 1 + static_cast<double>(layers);
}

OpTime waited(const OpTime& sent, const OpTime& computed, double layers) {
  OpTime out;
  out.forward = waited(sent.forward, computed.forward, layers);
  out.recompute = waited(sent.recompute, computed.recompute, layers);
  if (sent.backward() > Seconds(0)) {
    const Seconds backward = waited(sent.backward(), computed.backward(), layers);
    out.input_gradient = backward * (sent.input_gradient / sent.backward());
    out.weight_gradient = backward - out.input_gradient;
  }
  return out;
}

}  // namespace penstock::cost
