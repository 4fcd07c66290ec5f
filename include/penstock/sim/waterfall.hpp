#pragma once
// From the devices' peak to the model FLOPs utilisation: what an iteration's time is spent on.

#include <array>
#include <cstdint>
#include <string_view>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/by_device.hpp"

namespace penstock::sim {

/// In the order of the waterfall. What passes spend:
enum class TimePart : std::uint8_t {
  model,          ///< the model's FLOPs at the devices' peak, nothing twice; its share is the MFU
  kernels,        ///< forward and backward kernels beyond that, as costs say; all of them where FLOPs or
                  ///< peak are not known
  sustained,      ///< added to them by DeviceType::kernel_slowdown
  host,           ///< added by launches of the host
  recomputation,  ///< kernels of passes that compute activations again, with what slows them
  tensor,         ///< waits for collectives of tensor-parallel groups
  experts,        ///< waits for collectives of expert groups
  context,        ///< waits for collectives of context groups, and hops of ring attention
  slowed,         ///< passes beyond their time: overlap, crowding, perturbation
  // What devices do otherwise:
  pipeline,   ///< idle while a message between stages leaves or arrives
  reduction,  ///< idle while gradients are reduced; waits of passes for weights and gradients (ZeRO)
  step,       ///< optimizer
  bubble,     ///< idle
};
inline constexpr std::size_t kTimeParts = 13;
std::string_view name(TimePart part);  ///< in a few words
std::string_view key(TimePart part);   ///< "model", "kernels", ...: as above

struct Waterfall {
  core::Picoseconds iteration;
  std::array<core::Picoseconds, kTimeParts> time{};  ///< [TimePart], none below 0; the sum is `iteration`

  core::Picoseconds of(TimePart part) const { return time[static_cast<std::size_t>(part)]; }
  double share(TimePart part) const;    ///< of the iteration
  double reached(TimePart part) const;  ///< MFU with this part and those before it alone
  double without(TimePart part) const;  ///< MFU if this part took no time and nothing else changed
};

/// Mean over the cluster's devices, by their peak rates: equal weights where all devices are of one type,
/// and the weights with which MFU adds up where they are not. On each device every picosecond has one part;
/// of several messages at a time those between stages come first. What passes wait for on links
/// (PassCollectives::links) is divided as in closed form. Where costs are faster than the data sheet, `model`
/// is what kernels take. Of several mini-batches without a flush: the work of one, and what is left of an
/// iteration. `filled`: share of the model's FLOPs that samples have, where sequences leave some empty.
Waterfall waterfall(const cost::Problem& problem, const plan::Plan& plan, const trace::ByDevice& run,
                    const SimulationOptions& options = {}, double filled = 1);
/// Simulates first. Preconditions and errors as simulate().
Waterfall waterfall(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                    const SimulationOptions& options = {}, double filled = 1);

}  // namespace penstock::sim
