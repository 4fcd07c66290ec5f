#include <algorithm>
#include <memory>
#include <numeric>

#include "joint/move.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;
using Devices = std::vector<DeviceId>;
using Ranks = std::vector<std::vector<std::size_t>>;

/// [rank] devices.
std::vector<Devices> devices_of(const plan::Plan& plan, const Ranks& ranks) {
  std::vector<Devices> out;
  for (const auto& rank : ranks) out.push_back(plan.stages[rank.front()].devices);
  return out;
}

/// Number of devices that must stay together on a rank.
std::size_t group_size(const plan::Plan& plan, const std::vector<std::size_t>& rank) {
  return static_cast<std::size_t>(plan.stages[rank.front()].replica_size());
}

/// Assigns devices in order, from the first rank on.
void deal_in_order(std::vector<Devices>& devices) {
  std::uint64_t next = 0;
  for (Devices& rank : devices)
    for (DeviceId& device : rank) device = DeviceId(next++);
}

void deal_from_the_last(std::vector<Devices>& devices) {
  std::ranges::reverse(devices);
  deal_in_order(devices);
  std::ranges::reverse(devices);
}

/// Assigns devices group by group in turn, so that replicas of a rank are far apart and ranks are near each
/// other.
void deal_in_turn(std::vector<Devices>& devices, const std::vector<std::size_t>& groups) {
  std::vector<std::size_t> filled(devices.size());
  std::uint64_t next = 0;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t r = 0; r < devices.size(); ++r)
      for (std::size_t i = 0; i < groups[r] && filled[r] < devices[r].size(); ++i) {
        devices[r][filled[r]++] = DeviceId(next++);
        any = true;
      }
  }
}

/// Moves store no devices, which may be thousands: they read those of the draft that they change.
class DeviceMoves {
 public:
  explicit DeviceMoves(const MoveContext& sight) : ranks_(std::make_shared<const Ranks>(sight.ranks)) {
    for (const auto& rank : *ranks_) {
      sizes_.push_back(sight.draft.plan.stages[rank.front()].devices.size());
      groups_.push_back(group_size(sight.draft.plan, rank));
    }
  }

  Moves all() {
    for (std::size_t a = 0; a < sizes_.size(); ++a)
      for (std::size_t b = 0; b < sizes_.size(); ++b) {
        if (a == b) continue;
        give(a, b);
        if (a < b) swap(a, b);
      }
    if (sizes_.size() > 1) deal_anew();
    return std::move(out_);
  }

 private:
  void give(std::size_t a, std::size_t b) {
    for (std::size_t count = std::lcm(groups_[a], groups_[b]); count < sizes_[a]; count *= 2)
      add([a, b, count](std::vector<Devices>& devices) {
        const auto begin = devices[a].end() - static_cast<std::ptrdiff_t>(count);
        devices[b].insert(devices[b].end(), begin, devices[a].end());
        devices[a].erase(begin, devices[a].end());
      });
  }

  void swap(std::size_t a, std::size_t b) {
    add([a, b](std::vector<Devices>& devices) { std::swap(devices[a], devices[b]); });
    if (sizes_[a] == 1 && sizes_[b] == 1) return;
    add([a, b](std::vector<Devices>& devices) { std::swap(devices[a].back(), devices[b].back()); });
  }

  void deal_anew() {
    add(deal_in_order);
    add(deal_from_the_last);
    add([groups = groups_](std::vector<Devices>& devices) { deal_in_turn(devices, groups); });
  }

  template <class Change>
  void add(Change change) {
    out_.push_back([ranks = ranks_, change = std::move(change)](PlanDraft& draft) {
      auto devices = devices_of(draft.plan, *ranks);
      change(devices);
      for (std::size_t r = 0; r < ranks->size(); ++r)
        for (const std::size_t s : (*ranks)[r]) draft.plan.stages[s].devices = devices[r];
    });
  }

  std::shared_ptr<const Ranks> ranks_;
  std::vector<std::size_t> sizes_, groups_;  ///< [rank] number of devices; size of a group
  Moves out_;
};

}  // namespace

Moves device_moves(const MoveContext& sight) {
  return DeviceMoves(sight).all();
}

}  // namespace penstock::planners
