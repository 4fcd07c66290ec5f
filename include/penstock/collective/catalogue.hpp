#pragma once
// Algorithms of an all-reduce: their messages, and their times in closed form.

#include <span>
#include <string_view>
#include <vector>

#include "penstock/collective/messages.hpp"
#include "penstock/collective/step.hpp"

namespace penstock::collective {

using Group = std::span<const core::DeviceId>;

/// Passes around the group: one for a reduce-scatter or an all-gather, two for an all-reduce.
enum class PassCount : int { one = 1, two = 2 };

struct Algorithm {
  std::string_view name;
  bool (*applies)(const cluster::Cluster&,
                  Group);  ///< null: to every group; otherwise a ring replaces it for other groups
  /// Closed form for at least two devices, with other users of the links; null: unknown.
  AffineTime (*closed_form)(const cluster::Cluster&, Group, PassCount, const Crowd&);
  bool scatters;           ///< false for a tree: with one pass its root would receive everything
  bool rounds_up = false;  ///< a message may have a byte more than its share
  /// Messages of one all-reduce of so many bytes, each listed after those it waits for. Every member has the
  /// result when all messages to it have arrived; two from one sender to one receiver arrive in order.
  std::vector<Message> (*messages)(const cluster::Cluster&, Group, std::int64_t bytes);

  bool fits(const cluster::Cluster& cluster, Group group) const {
    return applies == nullptr || applies(cluster, group);
  }
};

/// Every algorithm; if closed forms are equal, the first counts as the cheapest.
const std::vector<Algorithm>& algorithms();
/// An algorithm by its name.
const Algorithm& algorithm(std::string_view name);
/// The algorithm with the smallest closed form among those that fit; for one device a ring, which sends
/// nothing.
const Algorithm& cheapest(const cluster::Cluster& cluster, Group group, core::Bytes bytes);

/// Messages of an all-gather around a ring: every member has one part of `bytes` and needs the whole.
std::vector<Message> all_gather(std::size_t members, std::int64_t bytes);
/// Messages of an all-to-all of `bytes` in all: every member sends each other one its part, one after the
/// other, beginning with the next member.
std::vector<Message> all_to_all(std::size_t members, std::int64_t bytes);

}  // namespace penstock::collective
