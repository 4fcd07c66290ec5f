#include "penstock/graph/adapters.hpp"

#include <numeric>

namespace penstock::graph {
namespace {

bool reads_one_tensor(const Attention& a) {
  return a.query_width == 0 && a.queries == a.projected_keys() && a.key_width == a.hidden &&
         a.value_width == a.hidden;
}

std::vector<AdapterShape> of_attention(const Attention& a) {
  const AdapterShape output{a.queries, a.result_width(), a.hidden, false};
  if (reads_one_tensor(a))
    return {{a.queries, a.hidden, a.inner_width() + a.projected_width() + a.values_width()}, output};
  return {{a.queries, a.query_width > 0 ? a.query_width : a.hidden, a.inner_width()},
          {a.projected_keys(), a.key_width - a.rotary_width, a.projected_width()},
          {a.projected_keys(), a.value_width, a.values_width()},
          output};
}

template <class Count>
std::int64_t summed(const Operator& op, const Count& count) {
  const std::vector<AdapterShape> all = adapters(op);
  return std::accumulate(
      all.begin(), all.end(), std::int64_t{0},
      [&](std::int64_t sum, const AdapterShape& a) { return sum + op.adapter_rank * count(a); });
}

}  // namespace

std::vector<AdapterShape> adapter_shapes(const Operator& op) {
  if (op.kind == OpKind::attention) return of_attention(as<Attention>(op));
  const auto& l = as<Linear>(op);
  if (op.kind == OpKind::linear) return {{l.rows, l.in, l.out}};
  return {};
}

std::vector<AdapterShape> adapters(const Operator& op) {
  return op.adapter_rank > 0 ? adapter_shapes(op) : std::vector<AdapterShape>();
}

bool trains_products(const Operator& op) {
  return weighs(op) && op.adapter_rank == 0;
}

std::int64_t adapter_numbers(const Operator& op) {
  return summed(op, [](const AdapterShape& a) { return a.in + a.out; });
}

core::Flops adapter_flops(const Operator& op) {
  return core::Flops(
      static_cast<double>(summed(op, [](const AdapterShape& a) { return 2 * a.rows * (a.in + a.out); })));
}

std::int64_t adapter_saved(const Operator& op) {
  return summed(op, [](const AdapterShape& a) { return a.rows; });
}

}  // namespace penstock::graph
