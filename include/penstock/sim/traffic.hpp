#pragma once
// Count and bytes of what every rank sends in one iteration, by kind of collective or message.

#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::sim {

enum class TrafficKind : std::uint8_t {
  all_reduce,      ///< bytes: the tensor
  all_gather,      ///< bytes: the gathered tensor
  reduce_scatter,  ///< bytes: the tensor before it is scattered
  all_to_all,      ///< bytes: the tensor of one device
  send,            ///< bytes: the message
  receive,         ///< bytes: the message
};
std::string_view name(TrafficKind kind);

/// Devices that a collective or message joins.
enum class TrafficAmong : std::uint8_t {
  tensor,    ///< tensor-parallel group
  context,   ///< context-parallel group; sends are hops of ring attention
  experts,   ///< expert-parallel group
  replicas,  ///< devices that hold or share the same weights
  tied,      ///< devices of stages that share parameters
  pipeline,  ///< stages
};
std::string_view name(TrafficAmong among);

/// Collectives of one kind among groups of one size, on one device.
struct TrafficRow {
  TrafficKind kind;
  TrafficAmong among;
  std::size_t ranks = 0;   ///< devices of a group; 2 for a message
  std::int64_t count = 0;  ///< per iteration; of several mini-batches without a flush, the mean, rounded up
  core::Bytes bytes;       ///< sum over all of them, as TrafficKind counts
  /// Least sum that leaves the device. Of a tensor that n devices gather, scatter or exchange, (n - 1) / n leave
  /// it; of a reduced one twice that; of a message that it sends, all.
  core::Bytes sent;
};

/// Traffic of the first device of a pipeline rank. The others have the same collectives; messages, and shares of
/// samples that replicas do not divide evenly, can differ by one part.
struct RankTraffic {
  std::vector<core::DeviceId> devices;  ///< of the rank
  std::vector<TrafficRow> rows;         ///< by kind, then group
};

/// Traffic of every rank in closed form, from the plan's program; no simulation. Counts collectives that
/// frameworks run, not launches: ZeRO 1 scatters per bucket and gathers once, ZeRO 2 and 3 send per layer and pass.
/// A product's second gather of its input in the backward pass counts where the framework gathers again
/// (cluster::FrameworkMemory::saves_gathered).
std::vector<RankTraffic> traffic(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled);

}  // namespace penstock::sim
