#pragma once
// What devices cost.

#include "penstock/cluster/cluster.hpp"

namespace penstock::cluster {

/// Dollars for an hour of all devices that take part. Throws BadInput where the type of one states no price.
double hourly_price(const Cluster& cluster);

/// Dollars per sample where an iteration of `mini_batch` samples takes that long. Throws likewise.
double sample_price(const Cluster& cluster, core::Seconds iteration, std::int64_t mini_batch);

}  // namespace penstock::cluster
