#include "penstock/cluster/price.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"

namespace penstock::cluster {

double hourly_price(const Cluster& cluster) {
  double out = 0;
  for (const Device& device : cluster.devices()) {
    const DeviceType& type = cluster.types()[device.type];
    if (!type.price)
      throw core::BadInput(fmt::format(
          "cluster {}: device type {} has no price: add `price`, dollars for an hour of one device, "
          "to its entry in a cluster file",
          cluster.name(), type.name));
    out += *type.price;
  }
  return out;
}

double sample_price(const Cluster& cluster, core::Seconds iteration, std::int64_t mini_batch) {
  constexpr double kHour = 3600;  // seconds
  return hourly_price(cluster) / kHour * iteration.value() / static_cast<double>(mini_batch);
}

}  // namespace penstock::cluster
