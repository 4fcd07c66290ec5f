#pragma once
// Which kernels are worth measuring, and in what order.

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
  std::vector<int> tensor_degrees{};    ///< of groups that divide operators: parts are kernels of their own
};

/// One distinct kernel of the models at one number of samples.
struct KernelItem {
  graph::Operator op;  ///< the first with that key
  cost::KernelKey key;
  cost::Work work;
  std::array<bool, graph::kPasses> passes{};  ///< those that some model trains with
  std::int64_t samples = 1;
};

struct WorkLimits {
  std::int64_t most_samples = 64;  ///< powers of two up to it, of models that do not say
  core::Bytes memory;              ///< of all operands together
  core::Seconds longest{0.25};     ///< of a pass, by the roofline: utilisation is flat beyond; one sample is
                                   ///< measured in any case
};

/// Every distinct kernel of the models, and of the parts that tensor-parallel groups make of operators, times
/// the numbers of samples that the limits allow. First all at one sample, then each at the most, then the
/// sizes between, so that what a budget cuts off are points that can be interpolated: 1, 64, 8, 16, 2, 32, 4.
/// Of one turn, those first that hold the greatest share of the
/// models' time on a device that does ten FLOPs per byte; so the order is the same everywhere.
std::vector<KernelItem> kernel_items(std::span<const NamedModel> models, cluster::Precision precision,
                                     const Roofline& roofline, const WorkLimits& limits);

/// The sizes in another order: the ends first, then always the middle of the widest gap. At least one,
/// ascending.
std::vector<std::int64_t> ends_first(const std::vector<std::int64_t>& sizes);
/// So the powers of two up to `most` (a power of two).
std::vector<std::int64_t> batch_sizes(std::int64_t most);

/// How long one way of timing is expected to take when a run takes `run`: warm-up, then timings.
core::Seconds sampling_time(core::Seconds run, const SamplingRule& rule);

/// What `item` is expected to take: preparing operands, then both ways of timing each pass.
core::Seconds measuring_time(const KernelItem& item, const Roofline& roofline, const SamplingRule& rule);

}  // namespace penstock::calibrate
