#include "penstock/cost/unfused.hpp"

namespace penstock::cost {
namespace {

/// Passes over a row in 16-bit numbers, read or written; one in fp32 counts twice.
struct RowMoves {
  double forward, backward;
  friend RowMoves operator/(const RowMoves& a, const RowMoves& b) {
    return {a.forward / b.forward, a.backward / b.backward};
  }
};

/// Norm. Forward: cast to fp32 (3), square (4), mean (2), product with the root (4), cast back (3), weight
/// (2). Backward: gradients of the product with the weight (5) and their sum (1), cast (3). Then the product
/// with the root for its two operands (4, 6) and their sum (2), square (4), sum of gradients (6), cast (3).
constexpr RowMoves kRootNorm{18, 34};
/// One kernel per pass, as costs count it: input and output; backward for the input, and for the weight.
constexpr RowMoves kFusedNorm{2, 4};
/// Gated activation. Forward: silu of the gate (2), product (3). Backward: gradients of both factors (3, 3), of
/// silu (3).
constexpr RowMoves kGated{5, 9};
/// Moves as costs count them: two inputs and an output each way.
constexpr RowMoves kFusedGated{3, 3};

bool by_root(const graph::Operator& op) {
  return op.kind == graph::OpKind::norm && as<graph::Norm>(op).form == graph::NormForm::rms;
}
bool gated(const graph::Operator& op) {
  return op.kind == graph::OpKind::activation &&
         as<graph::Activation>(op).function == graph::Function::swiglu;
}

/// True if the framework runs such operators kernel by kernel. Of attention only what it saves is counted: its
/// norms of queries and keys keep their time.
bool apart(const graph::Operator& op, const cluster::FrameworkRuntime& runtime) {
  const bool norms = by_root(op) || (op.kind == graph::OpKind::attention && as<graph::Attention>(op).qk_norm);
  return (norms && !runtime.fused_norms) || (gated(op) && !runtime.fused_gates);
}

}  // namespace

OpTime unfused(const graph::Operator& op, const OpTime& fused, const cluster::FrameworkRuntime& runtime) {
  if (!apart(op, runtime) || op.kind == graph::OpKind::attention) return fused;
  const RowMoves times = by_root(op) ? kRootNorm / kFusedNorm : kGated / kFusedGated;
  return {fused.forward * times.forward, fused.input_gradient * times.backward,
          fused.weight_gradient * times.backward};
}

core::Bytes unfused_saved(const graph::Operator& op, int element_bytes,
                          const cluster::FrameworkRuntime& runtime) {
  constexpr std::int64_t kWhole = 4;  // bytes of a number in fp32
  if (!apart(op, runtime)) return core::Bytes(0);
  if (by_root(op)) {
    const std::int64_t numbers = op.output_bytes.value() / element_bytes,
                       roots =
                           numbers / as<graph::Norm>(op).channels;  // counted in the model's numbers so far
    return core::Bytes(numbers * kWhole + roots * (kWhole - element_bytes));
  }
  if (const auto& a = as<graph::Attention>(op); a.qk_norm) {
    const std::int64_t numbers = a.queries * a.inner_width() + a.projected_keys() * a.shared_width(),
                       roots = a.queries * a.heads + a.projected_keys() * a.key_heads();
    return core::Bytes((numbers + roots) * kWhole);
  }
  return op.output_bytes;
}

LaunchCounts unfused_launches(const graph::Operator& op, const cluster::FrameworkRuntime& runtime) {
  if (!apart(op, runtime)) return {};
  if (by_root(op)) return {6, 9, 2};  // the root and its epsilon are two small kernels
  if (gated(op)) return {1, 2, 0};
  return {};
}

}  // namespace penstock::cost
