#pragma once
// Muon's step: who updates which weights, and the time of the matrices' Newton-Schulz products.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/graph/weight_tensors.hpp"

namespace penstock::cost {

/// FLOPs of the step of a rows x columns matrix, in bf16. Five iterations of three products: short x long x short,
/// short^3, and short x short x long (torch.optim.Muon; Jordan et al., 2024).
core::Flops newton_schulz_flops(std::int64_t rows, std::int64_t columns);

/// One stored matrix: query, key and value together are one.
struct StoredMatrix {
  std::vector<graph::WeightTensor> parts;  ///< that Muon orthogonalises one by one
  bool expert = false;
  std::int64_t numbers() const;
};

/// Matrices that Muon updates on a device which holds `share` of what tensor parallelism divides, in the order of
/// operators. Each shard of a group is orthogonalised by itself (megatron-core's blockwise mode), and sends nothing.
std::vector<StoredMatrix> muon_matrices(const graph::OpGraph& graph, std::span<const core::OpId> operators,
                                        const std::map<core::OpId, plan::Partition>& how, double share);

/// Buffers of whole matrices: [matrix] its owner, the numbers on each rank with padding, and of the fullest owner.
struct MatrixBuffers {
  std::vector<std::size_t> owner;
  std::int64_t numbers = 0, fullest = 0;
};

/// Divides matrices of these sizes, in the order of the model, among `owners` ranks as megatron-core 0.19.2 does
/// (LayerWiseDistributedOptimizer._compute_per_buffer_param_layout). Buckets close from the last matrix on, as
/// soon as they have `bucket` numbers and 0.9 times owners x their largest matrix; 0: one bucket. In a bucket the
/// largest matrix goes first, to the least loaded owner. Each owner has the room of the fullest one; starts are
/// multiples of 64, and ends of 64 or, among odd numbers of owners, 128.
MatrixBuffers matrix_buffers(std::span<const std::int64_t> sizes, std::int64_t owners, std::int64_t bucket);

/// How the problem's optimizer updates the weights of a set of operators.
UpdatedWeights updated_weights(const Problem& problem, std::span<const core::OpId> operators,
                               const std::map<core::OpId, plan::Partition>& how = {}, double share = 1);

/// StageLoad::updated of a member of the stage's tensor-parallel groups. `problem`: the stage's LocalProblem.
UpdatedWeights updated_weights(const Problem& problem, const plan::Stage& stage, std::size_t member);

/// Seconds of the Newton-Schulz products of a member of a stage's groups, with what is sent between them; 0 of
/// other optimizers. Replicated state: every device does all. ZeRO 1: owners do their matrices (Megatron-LM,
/// ZeroRedundancyOptimizer), nothing is sent. ZeRO 2 and 3: devices divide the products of each matrix (torch
/// 2.15's FSDP2). It then has 15 collectives in bf16 if it has more columns than rows or is square: ten
/// all-gathers of the matrix, five of the small square. If it has more rows, ten all-reduces of the small square.
core::Seconds orthogonalization_time(const Problem& problem, const plan::Stage& stage, std::size_t member,
                                     const cluster::DeviceType& device);

}  // namespace penstock::cost
