#include "penstock/collective/step.hpp"

#include <algorithm>

namespace penstock::collective {

void StepTime::include(const cluster::Cluster& cluster, const cluster::Route& route, const Crowd& crowd) {
  latency = std::max(latency, route.latency.value());
  per_byte = std::max(per_byte, 1 / route.bandwidth.value());
  if (crowd.empty()) return;
  for (const std::size_t l : route.links)
    per_byte = std::max(per_byte, crowd[l] / cluster.links()[l].bandwidth.value());
}

}  // namespace penstock::collective
