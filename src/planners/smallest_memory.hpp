#pragma once
// Smallest memory of a device in a cluster.

#include <algorithm>

#include "penstock/cluster/cluster.hpp"

namespace penstock::planners {

inline core::Bytes smallest_memory(const cluster::Cluster& cluster) {
  core::Bytes least = cluster.type(core::DeviceId(0)).memory;
  for (const cluster::Device& device : cluster.devices())
    least = std::min(least, cluster.types()[device.type].memory);
  return least;
}

}  // namespace penstock::planners
