// A cluster file of any bytes is read or refused. In an accepted one every route has finite times.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"

using namespace penstock;

namespace {

void check_routes(const cluster::Cluster& c) {
  for (std::size_t d = 1; d < c.size() && d < 8; ++d) {
    const auto route = c.route(core::DeviceId(0), core::DeviceId(d));
    core::require(!route.links.empty(), "a route between two devices has links");
    core::require(std::isfinite(route.time(core::Bytes(1)).value()), "a route's time is finite");
  }
  core::require(c.first(1).size() == 1, "a cluster can be cut to one device");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check_routes(cluster::parse_cluster(std::string(reinterpret_cast<const char*>(data), size), "fuzz"));
  } catch (const core::BadInput&) {
  }
  return 0;
}
