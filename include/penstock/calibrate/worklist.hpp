#pragma once
// The kernels to measure, and their order.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "penstock/calibrate/ceilings.hpp"

namespace penstock::calibrate {

struct NamedModel {
  std::string name;
  std::map<std::string, std::string> parameters;  ///< those unlike the model's defaults
  graph::OpGraph graph;
  std::vector<std::int64_t> samples{};  ///< ascending; empty: powers of two up to WorkLimits::most_samples
  std::vector<int> tensor_degrees{};    ///< of groups that divide operators: shards are kernels of their own
};

/// One distinct kernel of the models at one number of samples.
struct KernelItem {
  graph::Operator op;  ///< the first with that key
  cost::KernelKey key;
  cost::KernelWork work;
  std::array<bool, graph::kPasses> passes{};  ///< those that some model trains with
  std::int64_t samples = 1;
};

struct WorkLimits {
  std::int64_t most_samples = 64;  ///< powers of two up to it, for models without `samples`
  core::Bytes memory;              ///< of all operands together
  /// Longest pass to measure, by the roofline: beyond it utilisation does not change; one sample is always
  /// measured.
  core::Seconds longest{0.25};
};

/// Every distinct kernel of the models, and of the shards of tensor-parallel groups, times the numbers of
/// samples that the limits allow. The order starts with all at one sample, then each at the most, then the
/// sizes between: 1, 64, 8, 16, 2, 32, 4. Points that a budget cuts off can thus be interpolated. Within one
/// size, kernels with the largest share of the models' time come first. That time is of a device that does
/// ten FLOPs per byte; so the order is the same on every device.
std::vector<KernelItem> kernel_items(std::span<const NamedModel> models, cluster::Precision precision,
                                     const Roofline& roofline, const WorkLimits& limits);

/// The sizes in another order: the ends first, then always the middle of the widest gap. At least one,
/// ascending.
std::vector<std::int64_t> ends_first(const std::vector<std::int64_t>& sizes);
/// The powers of two up to `most` (a power of two), in the order of ends_first().
std::vector<std::int64_t> batch_sizes(std::int64_t most);

/// Expected time of one way of timing a run of length `run`: warm-up, then timings.
core::Seconds sampling_time(core::Seconds run, const SamplingRule& rule);

/// Expected time of `item`: preparing operands, then both ways of timing each pass.
core::Seconds measuring_time(const KernelItem& item, const Roofline& roofline, const SamplingRule& rule);

}  // namespace penstock::calibrate
