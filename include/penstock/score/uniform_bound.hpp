#pragma once
// Lower bounds for plans whose stages share one set of degrees, as training frameworks run them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/layer_row.hpp"

namespace penstock::score {

/// Degrees of a plan: ranks x replicas x context x tensor devices.
struct UniformDegrees {
  std::int64_t ranks = 1;
  std::int64_t replicas = 1;
  int tensor = 1;
  int context = 1;
  plan::ContextExchange exchange = plan::ContextExchange::ring;
  int expert = 1;
  bool whole_experts = false;
  bool divides_tokens = false;   ///< sequence parallelism
  std::int64_t micro_batch = 1;  ///< samples of one replica
};
/// Text such as "PP6 x DP4 x TP4+SP, mb 1".
std::string written(const UniformDegrees& degrees);

/// Plans of a framework: a row of whole layers, in a loop of ranks, without split backward passes.
struct UniformSpace {
  bool tensor = true, sequence = true, experts = false;
  bool interleaved = true;          ///< several stages per rank
  bool interleaved_filled = true;   ///< these take no fewer micro-batches than ranks
  bool core = true, layers = true;  ///< recomputation of attention's cores, of layers
  int zero = 0;                     ///< highest ZeRO stage
  std::vector<plan::ContextExchange> context;
  std::function<bool(std::int64_t tensor)> allows_tensor;  ///< empty: every degree
};

/// Reason of a bound.
enum class UniformReason : std::uint8_t {
  work,    ///< all work of all ranks, and the fill of the pipeline
  memory,  ///< the same, where ranks must recompute to fit, or cannot take their share
  no_fit   ///< the layers do not fit
};

struct UniformBound {
  UniformDegrees degrees;
  std::int64_t micro_batches = 1;
  core::Seconds work;          ///< one micro-batch through the whole model, both passes
  core::Bytes least_memory{};  ///< that each rank needs for state and what is kept
  UniformReason reason = UniformReason::work;
  core::Seconds time{};  ///< lower bound; not for no_fit
};

/// Bounds of all degrees of a space.
struct UniformBounds {
  std::vector<UniformBound> fitting;  ///< ascending by time
  std::size_t tried = 0;
  core::Bytes least_memory{};      ///< least of all degrees
  UniformDegrees least_degrees{};  ///< those that need it
};

/// Operators that uniform_bounds looks at, over all degrees of a replica: a measure of its time.
std::size_t uniform_effort(const cost::Problem& problem, const UniformSpace& space);

/// Computes a lower bound for each set of degrees (src/score/fluid_pipeline.hpp). A bound counts the work of the
/// model's parts with these degrees on the first devices, without transfers between stages and reductions. It
/// holds for plans that use all devices of a cluster of one device type. Throws BadInput for another cluster. `check` may throw
/// to end the computation.
UniformBounds uniform_bounds(const cost::Problem& problem, const plan::LayerRow& row,
                             const UniformSpace& space, const std::function<void()>& check = {});

}  // namespace penstock::score
