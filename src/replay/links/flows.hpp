#pragma once
// How long messages take that share the cluster's links.

#include <cstdint>
#include <optional>
#include <vector>

#include "penstock/cluster/cluster.hpp"

namespace penstock::replay {

/// A message is a flow: it waits for its route's latency, then shares links max-min fairly with all that
/// flow, by progressive filling (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2): what
/// the simulator's `fair` network says too. Any clock; times never go back.
class Flows {
 public:
  explicit Flows(const cluster::Cluster& cluster) : cluster_(cluster) {}

  void start(std::size_t id, core::DeviceId from, core::DeviceId to, core::Bytes bytes, core::Seconds now);
  /// When a flow begins or ends next, if nothing is started before; none where nothing flows.
  std::optional<core::Seconds> next() const;
  /// Goes on to `now`; returns who ended, first ones first.
  std::vector<std::size_t> advance(core::Seconds now);

 private:
  struct Flow {
    std::size_t id = 0;
    std::vector<std::size_t> links;
    bool flowing = false;  ///< its latency is over
    double left = 0;       ///< bytes, at `since`
    double rate = 0;       ///< bytes/s
    double since = 0;      ///< s
    double due = 0;        ///< s, when it flows or has ended
  };
  void share(double now);
  std::vector<double> fair_rates() const;  ///< by position in flows_

  const cluster::Cluster& cluster_;
  std::vector<Flow> flows_;  ///< in the order they were started
};

}  // namespace penstock::replay
