#pragma once
// Roofline with saturation: operator times from shapes and data sheets only.

#include <functional>
#include <optional>

#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// Measured time of kernels that compute next to nothing: bytes / bandwidth + latency.
struct StreamingTime {
  core::Bandwidth bandwidth;
  core::Seconds latency;
};

/// Seconds of a product of a rows x inner with an inner x columns matrix, without its launch.
using ProductSeconds = std::function<core::Seconds(double rows, double columns, double inner)>;

/// Constants of the analytic model; the same for every device and model, none fitted to a result.
struct AnalyticConstants {
  /// Share of peak FLOP/s a large matrix product reaches. cuBLAS reaches about 90 % of the fp32 peak on large
  /// products on V100 (NVIDIA's and independent measurements agree within a few percent).
  double compute_efficiency = 0.9;
  /// Share of data-sheet bandwidth a streaming kernel reaches: 750 of 900 GB/s measured on V100 (Jia et al.,
  /// "Dissecting the NVIDIA Volta GPU architecture via microbenchmarking", 2018).
  double bandwidth_efficiency = 0.83;
  /// Output elements per multiprocessor at which half of the attainable rate is reached (n_1/2 of Hockney and
  /// Jesshope, "Parallel Computers", 1981). Derived: one 64 x 64 output tile per multiprocessor keeps every
  /// multiprocessor busy but leaves no second block to hide latency behind.
  double half_rate_outputs = 64 * 64;
  /// Multiply-adds per output below which splitting a product along its inner dimension (split-K) stops
  /// paying.
  double split_depth = 256;
  /// Measured streaming, which replaces the data sheet's bandwidth with its efficiency, and the launch
  /// overhead.
  std::optional<StreamingTime> streaming{};
  /// true: flash kernels skip pairs that the mask hides. Their backward pass makes the scores again, five
  /// products to the forward pass's two (Dao, FlashAttention-2, 2023, section 3.1). false: every pair counts,
  /// and a backward pass has twice the FLOPs of the forward pass.
  bool flash_as_run = false;
};

/// time = launches * launch overhead + max(traffic / bandwidth, FLOPs / rate(outputs)) for each pass, with
/// rate(n) = peak * efficiency * n / (n + n_half). Efficiency therefore falls at small micro-batches. n
/// counts output elements; a product with few outputs and a long inner dimension is split until it fills one
/// tile per multiprocessor, not further (cuBLAS does this). Therefore n = max(outputs, min(n_half,
/// multiply-adds / split_depth)). Plausibility on V100: square fp32 products of 512, 1024 and 2048 come out
/// at 7.1, 10.8 and 13.1 TFLOP/s.
class AnalyticCosts final : public CostModel {
 public:
  explicit AnalyticCosts(AnalyticConstants constants = {}) : constants_(constants) {}
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override;
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) const override;
  /// Time of only attention's core: scores, softmax and context, without projections and without turning
  /// queries and keys by their positions.
  OpTime core_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) const;
  core::Seconds core_forward(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                             std::int64_t samples, const OpShard& part) const override;
  /// Time of only plain attention's scale, mask and softmax, in one kernel each way, and of its dropout in
  /// another; zero of another core.
  OpTime softmax_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      double samples) const;
  /// Time of turning queries and keys by their positions, in either direction; zero where attention does not.
  core::Seconds rotary_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                            double samples) const;
  /// Time of what a mixture of experts does beside its products: rows copied to experts and back, and the
  /// activation between their products.
  OpTime expert_moves(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      double samples, const OpShard& part) const;
  /// Time of the casts of an operator's inputs and output gradients to its graph::ProductFormat. A cast reads
  /// its tensor as often as the format needs, and writes it by rows and by columns. Zero where the operator
  /// multiplies in the stored numbers. Differs: no cast is fused with the kernel before it.
  OpTime cast_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   double samples, const OpShard& part) const;
  /// Time of what comes beside an operator's products: casts, adapters, and frozen weights. Those of
  /// 8 or 4 bits are written in 16 bits before the products that read them, forward and for the input gradient.
  /// An adapter (graph/adapters.hpp) has two thin products, a kernel that scales what they make, and a sum with the
  /// product's output; the gradients likewise. In a tensor-parallel group a device has a part of both matrices
  /// (NeMo's ParallelLinearAdapter). Differs: the group's exchange of what the first product makes, and of a
  /// row-parallel layer's parts of the second, takes no time.
  OpTime beside_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                     double samples, const OpShard& part) const;
  /// Time of a scan (graph::LinearScan), kernel by kernel (src/cost/scan_kernels.hpp): the longer of computing and
  /// streaming. Products of all heads and chunks count as one with as many rows, by `product`; FLOPs outside of
  /// products at the fp32 rate. One pass makes all gradients. A part is that part of every kernel's work, also
  /// where groups of heads are too few to be divided. Differs: states are handed from chunk to chunk one after
  /// the other, which no wait counts.
  OpTime scan_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   double samples, const OpShard& part, const ProductSeconds& product) const;
  OpTime scan_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   double samples, const OpShard& part) const;
  bool equal_of_alike() const override { return true; }
  std::string source() const override { return "analytic"; }

 private:
  /// Time of a mixture of experts: its experts' products one after the other, each with its own rate and
  /// weights, and expert_moves. All experts count as if they got equally many rows. A kernel that runs
  /// several side by side is faster where they are small.
  OpTime experts_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      double samples, const OpShard& part) const;
  OpTime adapter_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      double samples, const OpShard& part) const;
  /// Time of a cross entropy over the vocabulary.
  OpTime loss_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   double samples) const;
  /// Time of what the kernels of plain attention stream beside its products; forward and backward.
  OpTime scores_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                     double samples) const;
  AnalyticConstants constants_;
};

}  // namespace penstock::cost
