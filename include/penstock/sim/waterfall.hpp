#pragma once
// Division of an iteration's time: from the devices' peak to the model FLOPs utilisation.

#include <array>
#include <cstdint>
#include <string_view>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/by_device.hpp"

namespace penstock::sim {

/// Parts of the time, in the order of the waterfall. Passes:
enum class TimePart : std::uint8_t {
  model,  ///< the model's FLOPs at the devices' peak, counted once; its share is the MFU
  /// Forward and backward kernels beyond that, according to costs; all kernels if FLOPs or peak are unknown.
  kernels,
  sustained,      ///< time that DeviceType::kernel_slowdown adds to them
  host,           ///< time that launches of the host add
  recomputation,  ///< kernels of recomputation, including what slows them
  tensor,         ///< waits for collectives of tensor-parallel groups
  experts,        ///< waits for collectives of expert groups
  context,        ///< waits for collectives of context groups, and hops of ring attention
  slowed,         ///< time of passes beyond costs: overlap, crowding, perturbation
  // Other times of devices:
  pipeline,   ///< idle during a message between stages
  reduction,  ///< idle during gradient reductions; waits of passes for weights and gradients (ZeRO)
  step,       ///< optimizer
  bubble,     ///< idle
};
inline constexpr std::size_t kTimeParts = 13;
std::string_view name(TimePart part);  ///< in a few words
std::string_view key(TimePart part);   ///< identifier, such as "model" or "kernels"

struct Waterfall {
  core::Picoseconds iteration;
  std::array<core::Picoseconds, kTimeParts> time{};  ///< [TimePart] not negative; the sum is `iteration`

  core::Picoseconds of(TimePart part) const { return time[static_cast<std::size_t>(part)]; }
  double share(TimePart part) const;    ///< share of the iteration
  double reached(TimePart part) const;  ///< MFU with only this part and those before it
  double without(TimePart part) const;  ///< MFU if this part took no time and nothing else changed
};

/// Mean over the cluster's devices, weighted by their peak rates: the weights with which MFU adds up. On each
/// device every picosecond belongs to one part; messages between stages take precedence over others.
/// Collectives of passes on links (PassCollectives::links) are divided as in closed form. If costs are faster
/// than the data sheet, `model` is the time of kernels. For several mini-batches without a flush: the work of
/// one, and the rest of an iteration. `filled`: share of the model's FLOPs in samples that sequences do not
/// fill.
Waterfall waterfall(const cost::Problem& problem, const plan::Plan& plan, const trace::ByDevice& run,
                    const SimulationOptions& options = {}, double filled = 1);
/// Simulates, then divides the time. Preconditions and errors as for simulate().
Waterfall waterfall(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                    const SimulationOptions& options = {}, double filled = 1);

}  // namespace penstock::sim
