#include <algorithm>
#include <numeric>

#include "joint/move.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;
using Devices = std::vector<DeviceId>;

class DeviceMoves {
 public:
  explicit DeviceMoves(const Sight& sight) : ranks_(sight.ranks), stages_(sight.draft.plan.stages) {
    for (const auto& rank : ranks_) devices_.push_back(stages_[rank.front()].devices);
  }

  Moves all() {
    for (std::size_t a = 0; a < ranks_.size(); ++a)
      for (std::size_t b = 0; b < ranks_.size(); ++b) {
        if (a == b) continue;
        give(a, b);
        if (a < b) swap(a, b);
      }
    if (ranks_.size() > 1) deal_anew();
    return std::move(out_);
  }

 private:
  void give(std::size_t a, std::size_t b) {
    const std::size_t group = std::lcm(group_size(a), group_size(b)), has = devices_[a].size();
    for (std::size_t count = group; count < has; count *= 2) {
      auto devices = devices_;
      const auto begin = devices[a].end() - static_cast<std::ptrdiff_t>(count);
      devices[b].insert(devices[b].end(), begin, devices[a].end());
      devices[a].erase(begin, devices[a].end());
      add(std::move(devices));
    }
  }

  std::size_t group_size(std::size_t rank) const {
    return static_cast<std::size_t>(stages_[ranks_[rank].front()].replica_size());
  }

  void swap(std::size_t a, std::size_t b) {
    auto devices = devices_;
    std::swap(devices[a], devices[b]);
    add(devices);
    if (devices_[a].size() == 1 && devices_[b].size() == 1) return;
    devices = devices_;
    std::swap(devices[a].back(), devices[b].back());
    add(std::move(devices));
  }

  /// Rank by rank, from the first or from the last on; and group by group in turn, so that the replicas of a
  /// rank stand far apart and ranks near each other.
  void deal_anew() {
    auto in_order = devices_;
    std::uint64_t next = 0;
    for (Devices& devices : in_order)
      for (DeviceId& device : devices) device = DeviceId(next++);
    add(in_order);
    for (auto rank = in_order.rbegin(); rank != in_order.rend(); ++rank)
      for (DeviceId& device : *rank) device = DeviceId(--next);
    auto reversed = devices_;
    for (auto rank = reversed.rbegin(); rank != reversed.rend(); ++rank)
      for (DeviceId& device : *rank) device = DeviceId(next++);
    add(std::move(reversed));
    add(in_turn());
  }

  std::vector<Devices> in_turn() const {
    auto out = devices_;
    std::vector<std::size_t> filled(out.size());
    std::uint64_t next = 0;
    for (bool any = true; any;) {
      any = false;
      for (std::size_t r = 0; r < out.size(); ++r)
        for (std::size_t i = 0; i < group_size(r) && filled[r] < out[r].size(); ++i) {
          out[r][filled[r]++] = DeviceId(next++);
          any = true;
        }
    }
    return out;
  }

  void add(std::vector<Devices> devices) {
    out_.push_back([ranks = ranks_, devices = std::move(devices)](Draft& draft) {
      for (std::size_t r = 0; r < ranks.size(); ++r)
        for (const std::size_t s : ranks[r]) draft.plan.stages[s].devices = devices[r];
    });
  }

  const std::vector<std::vector<std::size_t>>& ranks_;
  const std::vector<plan::Stage>& stages_;
  std::vector<Devices> devices_;  ///< [rank]
  Moves out_;
};

}  // namespace

Moves device_moves(const Sight& sight) {
  return DeviceMoves(sight).all();
}

}  // namespace penstock::planners
