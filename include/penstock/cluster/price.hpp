#pragma once
// Price of devices.

#include "penstock/cluster/cluster.hpp"

namespace penstock::cluster {

/// Dollars per hour for all devices that take part. Throws BadInput if the type of one states no price.
double hourly_price(const Cluster& cluster);

/// Dollars per sample, for iterations of `mini_batch` samples that take `iteration`. Throws like
/// hourly_price.
double sample_price(const Cluster& cluster, core::Seconds iteration, std::int64_t mini_batch);

}  // namespace penstock::cluster
