#pragma once
// Duration of messages that share the cluster's links.

#include <cstdint>
#include <optional>
#include <vector>

#include "penstock/cluster/cluster.hpp"

namespace penstock::replay {

/// A message is a flow: it waits for its route's latency, then shares links max-min fairly with all current
/// flows, by progressive filling (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2), like
/// the simulator's `fair` network. Any clock may be used; times never go back.
class MessageFlows {
 public:
  explicit MessageFlows(const cluster::Cluster& cluster) : cluster_(cluster) {}

  void start(std::size_t id, core::DeviceId from, core::DeviceId to, core::Bytes bytes, core::Seconds now);
  /// Time at which a flow next begins or ends, if none is started before; none without flows.
  std::optional<core::Seconds> next() const;
  /// Advances to `now`; returns the flows that ended, in order of their ends.
  std::vector<std::size_t> advance(core::Seconds now);

 private:
  struct MessageFlow {
    std::size_t id = 0;
    std::vector<std::size_t> links;
    bool flowing = false;  ///< its latency is over
    double left = 0;       ///< bytes left at `since`
    double rate = 0;       ///< bytes/s
    double since = 0;      ///< s
    double due = 0;        ///< s, when it begins to flow or ends
  };
  void share(double now);
  std::vector<double> fair_rates() const;  ///< [index in flows_]

  const cluster::Cluster& cluster_;
  std::vector<MessageFlow> flows_;  ///< in the order of starting
};

}  // namespace penstock::replay
