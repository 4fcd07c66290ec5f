#pragma once
// Private to the room: the sets of degrees that divide a cluster.

#include <functional>
#include <vector>

#include "penstock/score/uniform_bound.hpp"

namespace penstock::score {

/// Degrees that one replica's work depends on: all but ranks and replicas, which are 1.
std::vector<UniformDegrees> replica_degrees(std::int64_t devices, const UniformSpace& space);

/// Calls `visit` with every way to complete these degrees: ranks (at most `most_ranks`), replicas, micro-batch.
void for_each_completion(const UniformDegrees& degrees, std::int64_t devices, std::int64_t mini_batch,
                         std::int64_t most_ranks, const std::function<void(const UniformDegrees&)>& visit);

/// Fewest replicas that hold whole expert groups.
std::int64_t least_replicas(const UniformDegrees& degrees);

}  // namespace penstock::score
