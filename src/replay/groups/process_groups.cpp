#include "groups/process_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "penstock/core/error.hpp"

namespace penstock::replay {

ProcessGroups::ProcessGroups(Monitor& monitor, const PeerGroups& groups, const MpiProcesses* processes,
                             bool throttle, Send send)
    : groups_(groups), processes_(processes), send_(std::move(send)) {
  for (std::size_t g = 0; g < groups_.list.size(); ++g) {
    const auto& group = groups_.list[g];
    list_.push_back(std::make_unique<ProcessGroup>(
        monitor, members(g), throttle, fmt::format("the group of device {}", group.front().index())));
    for (std::size_t m = 0; m < group.size(); ++m) seats_[group[m]] = {list_[g].get(), m};
  }
}

ProcessGroup::GroupMembers ProcessGroups::members(std::size_t group) const {
  const auto& devices = groups_.list[group];
  const auto count = std::ranges::count_if(devices, [&](core::DeviceId d) { return here(d); });
  ProcessGroup::GroupMembers out{devices.size(), static_cast<std::size_t>(count)};
  std::set<int> others;
  for (const core::DeviceId device : devices)
    if (!here(device)) others.insert(processes_->host(device));
  if (!others.empty())
    out.send = [this, group, to = std::vector<int>(others.begin(), others.end())](
                   std::size_t member, std::uint64_t round, const GroupPeers::Shared& what) {
      send_(to, written({group, member, round}, what));
    };
  return out;
}

GroupPeers* ProcessGroups::peers(core::DeviceId device) const {
  const auto seat = seats_.find(device);
  return seat == seats_.end() ? nullptr : &seat->second.group->member(seat->second.member);
}

core::Seconds ProcessGroups::taken(core::DeviceId device) {
  const auto seat = seats_.find(device);
  return seat == seats_.end() ? core::Seconds(0) : seat->second.group->taken(seat->second.member);
}

void ProcessGroups::arrive(Blob bytes) {
  GroupPeers::Shared shared;
  const SharedNote note = read_shared(bytes, shared);
  core::require(note.group < list_.size(), "processes of a replay know the same groups");
  list_[note.group]->arrive(note.member, note.round, std::move(shared), std::move(bytes));
}

}  // namespace penstock::replay
