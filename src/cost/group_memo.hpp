#pragma once
// Private to the room: times of collectives, worked out once for groups of equal devices.

#include <span>
#include <vector>

#include "penstock/cost/communication.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Times as in communication.hpp and GroupTimes. Where the problem remembers (StageMemo) they are found only
/// once for all groups that become each other by renumbering equal nodes (stage_forms.hpp).
AllReduce all_reduce(const Problem& problem, std::span<const std::vector<core::DeviceId>> groups);
AllReduce all_gather(const Problem& problem, std::span<const std::vector<core::DeviceId>> groups);
GroupTimes group_times(const Problem& problem, const GroupTimes::Groups& groups, CollectiveKinds kinds);

}  // namespace penstock::cost
