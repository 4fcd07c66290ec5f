#include "penstock/graph/weight_tensors.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/graph/adapters.hpp"

namespace penstock::graph {
namespace {

/// In the order of Megatron-LM, whose output projection comes first.
std::vector<WeightTensor> tensors_of(const Attention& a) {
  const std::int64_t asked = a.query_width > 0 ? a.query_width : a.hidden;
  const bool latent = a.query_width > 0;  // queries then have a tensor of their own
  return {{TensorRole::matrix, a.hidden, a.result_width(), 1, true},
          {TensorRole::matrix, a.inner_width(), asked},
          {TensorRole::matrix, a.projected_width(), a.key_width - a.rotary_width, 1, false, !latent},
          {TensorRole::matrix, a.values_width(), a.value_width, 1, false, true}};
}

/// Gate and up are one matrix, as in Megatron-LM and in transformers.
std::vector<WeightTensor> tensors_of(const Experts& e) {
  return {{TensorRole::matrix, (e.matrices() - 1) * e.inner, e.hidden, e.experts},
          {TensorRole::matrix, e.hidden, e.inner, e.experts, true}};
}

std::vector<WeightTensor> adapter_tensors(const Operator& op) {
  std::vector<WeightTensor> out;
  for (const AdapterShape& adapter : adapters(op)) {
    out.push_back({TensorRole::matrix, op.adapter_rank, adapter.in});
    out.push_back({TensorRole::matrix, adapter.out, op.adapter_rank});
  }
  return out;
}

/// Tensors that the attributes describe.
std::vector<WeightTensor> described(const OpGraph& graph, core::OpId id) {
  const Operator& op = graph.op(id);
  if (op.adapter_rank > 0) return adapter_tensors(op);
  if (op.kind == OpKind::linear) {
    const auto& l = as<Linear>(op);
    return {{is_output_layer(graph, id) ? TensorRole::head : TensorRole::matrix, l.out, l.in}};
  }
  if (op.kind == OpKind::attention) return tensors_of(as<Attention>(op));
  if (op.kind == OpKind::experts) return tensors_of(as<Experts>(op));
  if (op.kind == OpKind::embedding)
    return {{TensorRole::table, as<Embedding>(op).rows, as<Embedding>(op).width}};
  if (op.kind == OpKind::norm && as<Norm>(op).channels > 0)
    return {{TensorRole::other, as<Norm>(op).channels, 1, op.parameters / as<Norm>(op).channels}};
  return {};
}

}  // namespace

std::vector<WeightTensor> weight_tensors(const OpGraph& graph, core::OpId id) {
  const std::int64_t all = graph.op(id).parameters;
  if (all == 0) return {};
  std::vector<WeightTensor> out = described(graph, id);
  const auto numbers = [&] {
    return std::accumulate(out.begin(), out.end(), std::int64_t{0},
                           [](std::int64_t sum, const WeightTensor& t) { return sum + t.numbers(); });
  };
  const bool stated = std::ranges::all_of(out, [](const WeightTensor& t) { return t.numbers() > 0; });
  if (!stated || numbers() > all) out.clear();  // a model file may state parameters without extents
  if (const std::int64_t rest = all - numbers(); rest > 0) out.push_back({TensorRole::other, rest});
  return out;
}

}  // namespace penstock::graph
