#pragma once
// Which weights a pass uses when the pipeline is not flushed between updates, and how many versions that
// takes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// The weights a forward pass uses.
enum class ForwardWeights : std::uint8_t {
  newest,      ///< all updates the stage has made
  as_entered,  ///< those that its forward pass in stage 0 used
  one_behind,  ///< all but the last of the updates that sequential training would have made by then
};

/// A way to train without waiting for each other, as data.
struct WeightPolicy {
  std::string name;
  ForwardWeights forward = ForwardWeights::newest;
  bool stash = false;      ///< the backward uses its forward's weights again; else the newest
  bool predicted = false;  ///< the forward uses a prediction of its backward's weights
  int more_buffers = 0;    ///< buffers as large as the weights that it needs beside the versions
  bool flush = false;      ///< one update, after all micro-batches
  std::string source;      ///< and how ours differs
};

const std::vector<WeightPolicy>& weight_policies();
/// Throws BadInput for an unknown name, with a hint.
const WeightPolicy& weight_policy(std::string_view name);

struct WeightVersions {
  /// Per rank: versions of one stage's weights held at once at most, the one in use among them.
  std::vector<int> held;
  /// [rank][position in the row]: how many of the updates that sequential training would have made are
  /// missing from the weights of this forward or backward (input gradient); -1 for other passes. Where
  /// weights are predicted: the updates that the prediction bridges. A pair has the larger of its two.
  std::vector<std::vector<int>> staleness;
};

/// Follows every rank's row. A stage's weights are updated each time the rank has done `per_update` more
/// full backwards or weight gradients of it (after the last one of all, where the policy flushes). Several
/// ranks may run the same stage, each its own micro-batches: its replicas, which update together. Sequential
/// training has made one update per `per_update` micro-batches that the rank began before. With PipeDream's
/// stashing this gives floor((R-1-r)/replicas) + 1 versions (R ranks, r in earlier stages), with 2BW two.
/// Throws BadInput naming rank and cell where a policy asks for weights that are not made yet: 2BW needs as
/// many micro-batches per update as are in flight.
WeightVersions weight_versions(const std::vector<RankOrder>& rows, const WeightPolicy& policy,
                               int per_update = 1);

/// 1F1B-RR (PipeDream, Narayanan et al., SOSP 2019, section 3.2): `replicas[s]` ranks run stage s in turn,
/// rank by rank in the order of the stages; a rank of stage s starts with floor((R-1-r)/replicas[s])
/// forwards.
std::vector<RankOrder> round_robin_orders(const std::vector<int>& replicas, int micro_batches);

}  // namespace penstock::schedule
