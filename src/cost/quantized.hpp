#pragma once
// Private to the room: layers that multiply in a narrower format (graph::ProductFormat).

#include "penstock/cost/analytic.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// Time of an m x k by k x n product in the format over its time in 16 bits. Ratio of their rooflines by the
/// data sheet, where the result has 16 bits. 1 of the stored format.
double product_ratio(graph::ProductFormat products, const cluster::DeviceType& device, double m, double n,
                     double k);

/// FLOPs at the 16-bit rate that take as long as an operator's do, over these: the core of attention keeps
/// 16 bits.
double flops_ratio(const graph::Operator& op, const cluster::DeviceType& device);

/// Numbers that an operator casts for a sample, and tensors that hold them. A device with a part of the
/// operator casts its part, except of tensors that it has whole.
struct CastNumbers {
  double numbers = 0;
  int tensors = 0;
};
struct OpCasts {
  CastNumbers inputs;     ///< before the forward pass
  CastNumbers gradients;  ///< of outputs, before the input gradient
};
OpCasts casts(const graph::OpGraph& graph, core::OpId op, const OpShard& part);
/// Kernels of so many casts: one each, and one more where the largest magnitude comes first.
int cast_launches(graph::ProductFormat products, const CastNumbers& casts);
/// Bytes that casts of so many two-byte numbers move: reads, and two copies in the format.
double cast_bytes(graph::ProductFormat products, double numbers);

/// Seconds of the casts of so many bytes of weights, once an iteration, when the optimizer has changed them.
/// Differs: counts embeddings and the head too.
core::Seconds weight_cast_time(const Problem& problem, core::Bytes weights,
                               const cluster::DeviceType& device);

/// Throws BadInput for an operator that multiplies in a format, or beside adapters, of which the costs have no
/// times.
void require_stored(const CostModel& costs, const graph::Operator& op);

}  // namespace penstock::cost
