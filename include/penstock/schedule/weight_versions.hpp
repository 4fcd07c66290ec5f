#pragma once
// Weights that a pass uses if the pipeline is not flushed between updates, and the number of versions this
// needs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Weights that a forward pass uses.
enum class ForwardWeights : std::uint8_t {
  newest,      ///< with all updates the stage has made
  as_entered,  ///< those that the micro-batch's forward used in stage 0
  one_behind,  ///< with all updates of sequential training up to then, except the last
};

/// Rule for weights in training without a flush, as data.
struct WeightPolicy {
  std::string name;
  ForwardWeights forward = ForwardWeights::newest;
  bool stash = false;      ///< the backward uses its forward's weights again; otherwise the newest
  bool predicted = false;  ///< the forward uses a prediction of its backward's weights
  int more_buffers = 0;    ///< weight-sized buffers needed in addition to the versions
  bool flush = false;      ///< one update, after all micro-batches
  std::string source;      ///< source, and how our version differs
};

const std::vector<WeightPolicy>& weight_policies();
/// Returns a policy by name. Throws BadInput for an unknown name, with a hint.
const WeightPolicy& weight_policy(std::string_view name);

struct WeightVersions {
  /// [rank] maximum number of versions of one stage's weights held at once, including the one in use.
  std::vector<int> held;
  /// [rank][position in the row] updates of sequential training that are missing from the weights of this
  /// forward or backward (input gradient); -1 for other passes. With predicted weights: the updates that the
  /// prediction covers. A pair has the larger of its two values.
  std::vector<std::vector<int>> staleness;
};

/// Follows every rank's row. A stage's weights are updated after every `per_update` full backwards or weight
/// gradients of it on the rank. With a flush they are updated after the last one of all. Several ranks may
/// run the same stage on different micro-batches: these are its replicas, which update together. Sequential
/// training makes one update per `per_update` micro-batches that the rank began before. PipeDream's stashing
/// needs floor((R-1-r)/replicas) + 1 versions (R ranks, r in earlier stages), 2BW two. Throws BadInput naming
/// rank and cell if a policy needs weights that do not exist yet: 2BW needs as many micro-batches per update
/// as are in flight.
WeightVersions weight_versions(const std::vector<RankOrder>& rows, const WeightPolicy& policy,
                               int per_update = 1);

/// Orders of 1F1B-RR (PipeDream, Narayanan et al., SOSP 2019, section 3.2). `replicas[s]` ranks run stage s
/// in turn, rank by rank in the order of the stages. A rank of stage s starts with floor((R-1-r)/replicas[s])
/// forwards.
std::vector<RankOrder> round_robin_orders(const std::vector<int>& replicas, int micro_batches);

}  // namespace penstock::schedule
