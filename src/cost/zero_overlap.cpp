#include "zero_overlap.hpp"

#include <algorithm>

namespace penstock::cost {
namespace {

using core::Seconds;

Seconds waited_by(Seconds sent, Seconds computed, std::size_t layers) {
  const double n = static_cast<double>(std::max<std::size_t>(1, layers));
  return std::max(sent / n, sent - computed * ((n - 1) / n));
}

}  // namespace

OpTime waited(const ReplicaTraffic& sent, const OpTime& computed) {
  OpTime out = sent.rest;
  const OpTime& layers = sent.layers;
  out.forward += waited_by(layers.forward, computed.forward, sent.count);
  out.recompute += waited_by(layers.recompute, computed.recompute, sent.count);
  if (layers.backward() > Seconds(0)) {
    const Seconds backward = waited_by(layers.backward(), computed.backward(), sent.count);
    const Seconds for_inputs = backward * (layers.input_gradient / layers.backward());
    out.input_gradient += for_inputs;
    out.weight_gradient += backward - for_inputs;
  }
  return out;
}

}  // namespace penstock::cost
