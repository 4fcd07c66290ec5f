#pragma once
// What a step of a collective takes, in which every member sends one message.

#include <span>
#include <vector>

#include "penstock/cluster/cluster.hpp"

namespace penstock::collective {

/// Time as a function of size: latency + bytes * per_byte.
struct Affine {
  double latency = 0;   ///< s
  double per_byte = 0;  ///< s/B
  double at(core::Bytes bytes) const { return latency + per_byte * static_cast<double>(bytes.value()); }
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// Who else uses the links of a group: [link] groups that send over it in a step; empty where there is one
/// group.
using Crowd = std::vector<int>;

/// The slowest of the routes that one step sends over, as time per message.
struct Step {
  double latency = 0;   ///< s
  double per_byte = 0;  ///< s/B
  void include(const cluster::Cluster& cluster, const cluster::Route& route, const Crowd& crowd);
};

}  // namespace penstock::collective
