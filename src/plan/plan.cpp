#include "penstock/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "penstock/core/spelling.hpp"
#include "penstock/plan/replica_placement.hpp"

namespace penstock::plan {
namespace {

constexpr std::array<std::string_view, 5> kAsynchronous = {"pipedream", "pipedream_vsync", "pipedream_2bw",
                                                           "pipemare", "xpipe"};
constexpr std::array<std::string_view, 6> kOptimizers = {"sgd",  "momentum", "adam",
                                                         "lion", "muon",     "adam8bit"};
constexpr std::array<std::string_view, 3> kExchanges = {"ring", "all_gather", "ulysses"};
constexpr std::array<std::string_view, 5> kPartitions = {"whole", "batch", "column", "row", "sequence"};

}  // namespace

std::string_view name(Optimizer optimizer) {
  return kOptimizers[static_cast<std::size_t>(optimizer)];
}
Optimizer optimizer(std::string_view given) {
  if (given == "adamw") return Optimizer::adam;  // weight decay needs no state, and no kernel of its own
  return static_cast<Optimizer>(core::index_of(given, kOptimizers, "optimizer"));
}

std::string_view name(ContextExchange exchange) {
  return kExchanges[static_cast<std::size_t>(exchange)];
}
ContextExchange context_exchange(std::string_view given) {
  return static_cast<ContextExchange>(core::index_of(given, kExchanges, "exchange of keys and values"));
}

std::string_view name(Partition partition) {
  return kPartitions[static_cast<std::size_t>(partition)];
}
Partition partition(std::string_view given) {
  if (given == "output") return Partition::column;
  if (given == "input") return Partition::row;
  return static_cast<Partition>(core::index_of(given, kPartitions, "partition"));
}

namespace {

/// Bytes of as many numbers as `weights` holds, in the precision `number`; an incomplete number counts as
/// one.
core::Bytes held(core::Bytes weights, const MixedPrecision& precision, cluster::Precision number) {
  const std::int64_t each = bytes(precision.weights);
  return core::Bytes((weights.value() + each - 1) / each * bytes(number));
}

std::int64_t moments(Optimizer optimizer) {
  if (optimizer == Optimizer::sgd) return 0;
  return optimizer == Optimizer::adam || optimizer == Optimizer::adam8bit ? 2 : 1;
}

/// Two moments of `numbers` numbers in 8 bits, with an fp32 scale per block of 256 (torchao 0.18, AdamW8bit).
core::Bytes quantized_moments(std::int64_t numbers) {
  constexpr std::int64_t kBlock = 256, kScale = 4;
  return core::Bytes(2 * (numbers + (numbers + kBlock - 1) / kBlock * kScale));
}

}  // namespace

core::Bytes Training::gradients(core::Bytes weights) const {
  return precision ? held(weights, *precision, precision->gradients) : weights;
}

core::Bytes Training::held_gradients(core::Bytes weights) const {
  const bool beside = precision && precision->pass_gradients;
  return gradients(weights) +
         (beside ? held(weights, *precision, *precision->pass_gradients) : core::Bytes(0));
}

core::Bytes Training::sent_gradients(core::Bytes weights) const {
  return compression.gradient_bytes(gradients(weights));
}

double Training::sent_per_weight() const {
  return precision ? compression.gradients * bytes(precision->gradients) / bytes(precision->weights)
                   : compression.gradients;
}

core::Bytes Training::optimizer_state(core::Bytes weights) const {
  const bool quantized = optimizer == Optimizer::adam8bit;
  constexpr std::int64_t kFull = 4;  // bytes of a number where no precision is stated
  const std::int64_t each = precision ? bytes(precision->weights) : kFull;
  if (!precision && !quantized) return weights * moments(optimizer);
  const core::Bytes state = quantized ? quantized_moments((weights.value() + (each - 1)) / each)
                                      : held(weights, *precision, precision->state) * moments(optimizer);
  if (!precision) return state;
  return precision->master ? state + held(weights, *precision, *precision->master) : state;
}

core::Bytes Training::step_traffic(core::Bytes weights) const {
  const bool master = precision && precision->master;
  constexpr std::int64_t kTransits = 5;  // zeroing; reading for the norm; scaling (read and write); reading
  return gradients(weights) * (master ? kTransits : 1) + optimizer_state(weights) * 2 +
         weights * (master ? 1 : 2);
}

Training Training::by_adam() const {
  Training out = *this;
  out.optimizer = Optimizer::adam;
  return out;
}

bool reduces_gradients(const Stage& stage) {
  const bool by_samples = std::any_of(stage.partition.begin(), stage.partition.end(),
                                      [](const auto& chosen) { return chosen.second == Partition::batch; });
  const bool by_tokens = stage.sequence_parallel ||
                         std::any_of(stage.partition.begin(), stage.partition.end(),
                                     [](const auto& chosen) { return chosen.second == Partition::sequence; });
  const ReplicaPlacement placement = replica_placement(stage);
  const bool summed = placement.shards_weights() && placement.copies == 1;  // every backward pass sums them
  return (stage.weight_replicas() > 1 && !summed) || (by_samples && stage.devices.size() > 1) ||
         (by_tokens && stage.tensor_parallel > 1);
}

core::Bytes Compression::sent(core::Bytes bytes, double ratio) {
  if (ratio == 1) return bytes;
  return core::Bytes(static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes.value()) * ratio)));
}

bool asynchronous(const Plan& plan) {
  return std::find(kAsynchronous.begin(), kAsynchronous.end(), plan.schedule) != kAsynchronous.end();
}

std::int64_t samples_per_device(const Plan& plan, const Stage& stage) {
  return samples_per_device(stage.micro_batch, asynchronous(plan) ? 1 : stage.sharing_replicas());
}

std::vector<std::int32_t> rank_of_stage(const Plan& plan) {
  std::map<std::vector<core::DeviceId>, std::int32_t> ranks;
  std::vector<std::int32_t> out;
  for (const Stage& stage : plan.stages)
    out.push_back(ranks.try_emplace(stage.devices, static_cast<std::int32_t>(ranks.size())).first->second);
  return out;
}

}  // namespace penstock::plan
