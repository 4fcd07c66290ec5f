#include "penstock/cost/matrix_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "group_memo.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/buckets.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/ties.hpp"
#include "penstock/layout/groups.hpp"
#include "penstock/layout/infer.hpp"
#include "weight_parts.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;
using core::Seconds;
using graph::TensorRole;
using graph::WeightTensor;

constexpr double kIterations = 5, kHalf = 2;  // bytes of a number in bf16
/// torchao 0.18, OptimizerStateBase: block, smallest tensor in 8 bits.
constexpr std::int64_t kBlock = 256, kSmallest = 4096;

std::int64_t local_extent(std::int64_t extent, double share) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(static_cast<double>(extent) * share)));
}

/// Tensors of an operator on the device that holds this share.
std::vector<WeightTensor> local_tensors(const graph::OpGraph& graph, OpId id, plan::Partition how,
                                        double share) {
  std::vector<WeightTensor> out = graph::weight_tensors(graph, id);
  const auto axis = layout::rule(graph.op(id), how).weights;
  if (!axis) return out;
  const bool inherent =
      graph.op(id).kind == graph::OpKind::attention || graph.op(id).kind == graph::OpKind::experts;
  for (WeightTensor& tensor : out) {
    const bool columns =
        tensor.columns > 1 && (inherent ? tensor.by_columns : *axis == layout::WeightAxis::last);
    std::int64_t& extent = columns ? tensor.columns : tensor.rows;
    extent = local_extent(extent, share);
  }
  return out;
}

/// True if the optimizer leaves some weights to adam.
bool leaves_some(plan::Optimizer optimizer) {
  return optimizer == plan::Optimizer::muon || optimizer == plan::Optimizer::adam8bit;
}

bool quantized(const WeightTensor& tensor) {
  const std::int64_t each = tensor.rows * tensor.columns;
  return each >= kSmallest && each % kBlock == 0;
}

/// One product in bf16, m x k by k x n.
struct SmallProduct {
  double m = 0, k = 0, n = 0;
};

Seconds product_time(const SmallProduct& p, const cluster::DeviceType& device) {
  const AnalyticConstants constants;
  const double flops = 2 * p.m * p.k * p.n, outputs = p.m * p.n,
               half = constants.half_rate_outputs * device.multiprocessors,
               parallel = std::max({outputs, std::min(half, p.k * outputs / constants.split_depth), 1.0}),
               rate = device.peak_rate(cluster::Precision::bf16).value() * constants.compute_efficiency *
                      parallel / (parallel + half),
               bytes = kHalf * (p.m * p.k + p.k * p.n + outputs),
               bandwidth = device.memory_bandwidth.value() * constants.bandwidth_efficiency;
  return device.launch_overhead + Seconds(std::max(flops / rate, bytes / bandwidth));
}

/// Products of one matrix that `ways` devices divide by rows.
Seconds products_time(const WeightTensor& tensor, double ways, const cluster::DeviceType& device) {
  const auto small = static_cast<double>(std::min(tensor.rows, tensor.columns)),
             large = static_cast<double>(std::max(tensor.rows, tensor.columns));
  const bool tall = tensor.rows > tensor.columns;  // its rows are the sum's terms, and the square is whole
  const double rows = tall ? small : std::ceil(small / ways), terms = tall ? std::ceil(large / ways) : large;
  const Seconds one = product_time({rows, terms, small}, device) +
                      product_time({rows, small, small}, device) + product_time({rows, small, terms}, device);
  return one * (kIterations * static_cast<double>(tensor.count));
}

Seconds products_time(const StoredMatrix& matrix, double ways, const cluster::DeviceType& device) {
  Seconds sum;
  for (const WeightTensor& part : matrix.parts) sum += products_time(part, ways, device);
  return sum;
}

}  // namespace

core::Flops newton_schulz_flops(std::int64_t rows, std::int64_t columns) {
  const auto small = static_cast<double>(std::min(rows, columns)),
             large = static_cast<double>(std::max(rows, columns));
  return core::Flops(kIterations * 2 * (2 * small * small * large + small * small * small));
}

std::int64_t StoredMatrix::numbers() const {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const WeightTensor& part) { return sum + part.numbers(); });
}

std::vector<StoredMatrix> muon_matrices(const graph::OpGraph& graph, std::span<const OpId> operators,
                                        const std::map<OpId, plan::Partition>& how, double share) {
  std::vector<StoredMatrix> out;
  for (const OpId id : operators) {
    const bool expert = graph.op(id).kind == graph::OpKind::experts;
    for (WeightTensor tensor : local_tensors(graph, id, partition_of(how, id), share)) {
      if (tensor.role != TensorRole::matrix) continue;
      if (tensor.joined && !out.empty()) {
        out.back().parts.push_back(tensor);
        continue;
      }
      for (std::int64_t n = std::exchange(tensor.count, 1); n > 0; --n) out.push_back({{tensor}, expert});
    }
  }
  return out;
}

namespace {

std::int64_t rounded_to(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/// One bucket: matrices `begin` to `end`, from the last on.
void pack(std::span<const std::int64_t> sizes, std::size_t begin, std::size_t end, std::int64_t owners,
          std::vector<std::int64_t>& owned, MatrixBuffers& out) {
  constexpr std::int64_t kStart = 64, kEnd = 128;
  std::vector<std::size_t> order;
  for (std::size_t i = end; i > begin; --i) order.push_back(i - 1);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  using Owner = std::pair<std::int64_t, std::size_t>;  // load, number
  std::priority_queue<Owner, std::vector<Owner>, std::greater<>> free;
  for (std::size_t o = 0; o < static_cast<std::size_t>(owners); ++o) free.push({0, o});
  std::int64_t fullest = 0;
  for (const std::size_t i : order) {
    const auto [load, owner] = free.top();
    free.pop();
    out.owner[i] = owner;
    owned[owner] += sizes[i];
    const std::int64_t after = rounded_to(load, kStart) + sizes[i];
    fullest = std::max(fullest, after);
    free.push({after, owner});
  }
  out.numbers += owners * rounded_to(fullest, std::lcm(kStart, std::lcm(owners, kEnd) / owners));
}

}  // namespace

MatrixBuffers matrix_buffers(std::span<const std::int64_t> sizes, std::int64_t owners, std::int64_t bucket) {
  constexpr double kFloor = 0.9;
  MatrixBuffers out{std::vector<std::size_t>(sizes.size()), 0, 0};
  std::vector<std::int64_t> owned(static_cast<std::size_t>(owners));
  std::size_t end = sizes.size();
  std::int64_t numbers = 0, largest = 0;
  for (std::size_t i = sizes.size(); i > 0; --i) {
    numbers += sizes[i - 1], largest = std::max(largest, sizes[i - 1]);
    const auto least = static_cast<std::int64_t>(static_cast<double>(owners * largest) * kFloor);
    if (bucket == 0 || numbers < std::max(bucket, least)) continue;
    pack(sizes, i - 1, end, owners, owned, out);
    end = i - 1, numbers = largest = 0;
  }
  if (end > 0) pack(sizes, 0, end, owners, owned, out);
  out.fullest = *std::ranges::max_element(owned);
  return out;
}

UpdatedWeights updated_weights(const Problem& problem, std::span<const OpId> operators,
                               const std::map<OpId, plan::Partition>& how, double share) {
  UpdatedWeights out;
  const plan::Optimizer named = problem.training.optimizer;
  if (!leaves_some(named)) return out;
  const graph::OpGraph& graph = problem.graph;
  out.number_bytes = graph.element_bytes();
  const auto add = [&](OpId id, plan::Partition part) {
    const Bytes all = weights_of(graph, id, part, share);
    Bytes own;
    for (const WeightTensor& tensor : local_tensors(graph, id, part, share)) {
      const bool muon = named == plan::Optimizer::muon && tensor.role == TensorRole::matrix,
                 small = named == plan::Optimizer::adam8bit && quantized(tensor);
      if (muon || small) own += Bytes(tensor.numbers() * graph.element_bytes());
      if (small) out.tables += tensor.count;
    }
    const Bytes rest = all - std::min(all, own);
    out.by_adam += rest;
    if (graph.op(id).kind == graph::OpKind::experts) out.experts += rest;
  };
  for (const OpId id : operators) add(id, partition_of(how, id));
  for (const auto& [owner, users] : graph::borrowed(graph, operators))
    add(owner, partition_of(how, users.front()));
  return out;
}

namespace {

/// Matrices of a device's stage that are experts or are not, and the ranks that own them.
struct OwnedMatrices {
  std::vector<StoredMatrix> matrices;
  std::int64_t owners = 1;
  Bytes bucket;  ///< bytes of gradients
  MatrixBuffers buffers(const Problem& problem) const {
    std::vector<std::int64_t> sizes;
    for (const StoredMatrix& matrix : matrices) sizes.push_back(matrix.numbers());
    const double number = problem.training.sent_per_weight() * problem.graph.element_bytes();
    const auto closed = static_cast<std::int64_t>(static_cast<double>(bucket.value()) / number);
    return matrix_buffers(sizes, owners, closed);
  }
};

std::map<OpId, plan::Partition> how_of(const Problem& problem, const plan::Stage& stage) {
  if (stage.tensor_parallel == 1) return {};
  return partitions(stage, layout::infer(problem.graph, stage));
}

std::array<OwnedMatrices, 2> owned_matrices(const Problem& problem, const plan::Stage& stage,
                                            std::size_t member) {
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  const double share = stage.tensor_parallel == 1 ? 1 : part_of(stage, member);
  std::array<OwnedMatrices, 2> out;
  out[0].owners = placement.shards, out[1].owners = placement.expert_shards;
  out[0].bucket = out[1].bucket = bucket_size(problem, stage);
  for (StoredMatrix& matrix : muon_matrices(problem.graph, stage.operators, how_of(problem, stage), share))
    out[matrix.expert ? 1 : 0].matrices.push_back(std::move(matrix));
  return out;
}

/// Longest time of an owner.
Seconds owners_time(const OwnedMatrices& all, const Problem& problem, const cluster::DeviceType& device) {
  if (all.matrices.empty()) return {};
  const MatrixBuffers buffers = all.buffers(problem);
  std::vector<Seconds> times(static_cast<std::size_t>(all.owners));
  for (std::size_t i = 0; i < all.matrices.size(); ++i)
    times[buffers.owner[i]] += products_time(all.matrices[i], 1, device);
  return *std::ranges::max_element(times);
}

/// Products that a sharding group divides, and its collectives.
Seconds divided_time(const OwnedMatrices& all, const Problem& problem, const plan::Stage& stage,
                     layout::GroupScope among, const cluster::DeviceType& device) {
  constexpr double kGathers = 2 * kIterations;  // of the matrix, or all-reduces of the square
  const auto groups = layout::groups(stage, among);
  const AllReduce gather = all_gather(problem, groups), reduce = all_reduce(problem, groups);
  Seconds sum;
  for (const StoredMatrix& matrix : all.matrices)
    for (const WeightTensor& part : matrix.parts) {
      const std::int64_t small = std::min(part.rows, part.columns), two = static_cast<std::int64_t>(kHalf);
      const Bytes square(small * small * two), whole(part.rows * part.columns * two);
      sum += products_time(part, static_cast<double>(all.owners), device) * device.slowdown();
      sum += part.rows > part.columns ? reduce.time(square) * kGathers
                                      : gather.time(whole) * kGathers + gather.time(square) * kIterations;
    }
  return sum;
}

}  // namespace

UpdatedWeights updated_weights(const Problem& problem, const plan::Stage& stage, std::size_t member) {
  if (!leaves_some(problem.training.optimizer)) return {};
  const double share = stage.tensor_parallel == 1 ? 1 : part_of(stage, member);
  const auto how = how_of(problem, stage);
  UpdatedWeights out = updated_weights(problem, stage.operators, how, share);
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  if (problem.training.optimizer != plan::Optimizer::muon || !placement.shards_state() ||
      placement.shards_weights() || !framework_memory(problem).owns_matrices)
    return out;
  for (const OwnedMatrices& all : owned_matrices(problem, stage, member)) {
    if (all.matrices.empty()) continue;
    const MatrixBuffers buffers = all.buffers(problem);
    std::int64_t numbers = 0;
    for (const StoredMatrix& matrix : all.matrices) numbers += matrix.numbers();
    out.fullest += Bytes(buffers.fullest * out.number_bytes);
    out.padding += Bytes((buffers.numbers - numbers) * out.number_bytes);
  }
  return out;
}

Seconds orthogonalization_time(const Problem& given, const plan::Stage& stage, std::size_t member,
                               const cluster::DeviceType& device) {
  if (given.training.optimizer != plan::Optimizer::muon) return {};
  const LocalProblem local(given, stage);
  const plan::ReplicaPlacement placement = plan::replica_placement(stage);
  const auto all = owned_matrices(local.get(), stage, member);
  Seconds kernels, sent;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool alone = all[i].owners == 1 || !placement.shards_state();
    if (alone)
      for (const StoredMatrix& matrix : all[i].matrices) kernels += products_time(matrix, 1, device);
    else if (!placement.shards_gradients())
      kernels += owners_time(all[i], local.get(), device);
    else if (!all[i].matrices.empty())
      sent += divided_time(all[i], given, stage,
                           i == 0 ? layout::GroupScope::sharers : layout::GroupScope::expert_sharers, device);
  }
  return kernels * device.slowdown() + sent;
}

}  // namespace penstock::cost
