#pragma once
// Time of one step of a collective, in which every member sends one message.

#include <span>
#include <vector>

#include "penstock/cluster/cluster.hpp"

namespace penstock::collective {

/// Time as a function of size: latency + bytes * per_byte.
struct AffineTime {
  double latency = 0;   ///< s
  double per_byte = 0;  ///< s/B
  double at(core::Bytes bytes) const { return latency + per_byte * static_cast<double>(bytes.value()); }
  friend bool operator==(const AffineTime&, const AffineTime&) = default;
};

/// Other users of the links of a group: [link] number of groups that send over it in a step; empty for a
/// single group.
using Crowd = std::vector<int>;

/// The slowest route of one step, as time per message.
struct StepTime {
  double latency = 0;   ///< s
  double per_byte = 0;  ///< s/B
  void include(const cluster::Cluster& cluster, const cluster::Route& route, const Crowd& crowd);
};

}  // namespace penstock::collective
