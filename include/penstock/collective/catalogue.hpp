#pragma once
// Algorithms of an all-reduce: the messages of each, and what it takes in closed form.

#include <span>
#include <string_view>
#include <vector>

#include "penstock/collective/messages.hpp"
#include "penstock/collective/step.hpp"

namespace penstock::collective {

using Group = std::span<const core::DeviceId>;

/// How often a collective goes round: a reduce-scatter or an all-gather once, an all-reduce twice.
enum class Passes : int { one = 1, two = 2 };

struct Algorithm {
  std::string_view name;
  bool (*applies)(const cluster::Cluster&,
                  Group);  ///< null: to every group; a ring stands in for it elsewhere
  /// Closed form for at least two devices, while others use links too; null: none is known.
  Affine (*closed_form)(const cluster::Cluster&, Group, Passes, const Crowd&);
  bool scatters;           ///< whether it has one pass alone: a tree's root would receive everything
  bool rounds_up = false;  ///< whether a message may have a byte more than its share
  /// Messages of one all-reduce of so many bytes, each listed after those it waits for. Every member has the
  /// result when all messages to it have arrived; two of one sender to one receiver arrive in order.
  std::vector<Message> (*messages)(const cluster::Cluster&, Group, std::int64_t bytes);

  bool fits(const cluster::Cluster& cluster, Group group) const {
    return applies == nullptr || applies(cluster, group);
  }
};

/// Every algorithm; of equal closed forms the first is the cheapest.
const std::vector<Algorithm>& algorithms();
/// An algorithm by its name.
const Algorithm& algorithm(std::string_view name);
/// The smallest closed form of those that fit; of one device a ring, which sends nothing.
const Algorithm& cheapest(const cluster::Cluster& cluster, Group group, core::Bytes bytes);

/// Messages of an all-gather around a ring: every member has one part of `bytes`, all need the whole.
std::vector<Message> all_gather(std::size_t members, std::int64_t bytes);
/// Messages of an all-to-all of `bytes` in all: every member sends every other its part, one after the other,
/// beginning with the next.
std::vector<Message> all_to_all(std::size_t members, std::int64_t bytes);

}  // namespace penstock::collective
