#pragma once
// Devices that direct cables join, without a switch.

#include <vector>

#include "penstock/cluster/cluster.hpp"

namespace penstock::support {

struct CableEnds {
  std::size_t a = 0, b = 0;
  double bandwidth = 0;  ///< B/s in each direction
};

/// Devices of one node and the cables between them.
inline cluster::Cluster cabled_cluster(std::size_t devices, const std::vector<CableEnds>& cables,
                                       double latency = 0) {
  cluster::DeviceType type{
      "tiny",          core::Bytes(std::int64_t{1} << 40), core::Bandwidth(1e15), {core::FlopRate(1e12)}, 1,
      core::Seconds(0)};
  std::vector<cluster::Link> links;
  for (const CableEnds& cable : cables) {
    links.push_back({cable.a, cable.b, core::Bandwidth(cable.bandwidth), core::Seconds(latency)});
    links.push_back({cable.b, cable.a, core::Bandwidth(cable.bandwidth), core::Seconds(latency)});
  }
  return cluster::Cluster("cabled", {type}, std::vector<cluster::Device>(devices), 0, links);
}

/// A cable between any two devices.
inline std::vector<CableEnds> every_cable(std::size_t devices, double bandwidth) {
  std::vector<CableEnds> out;
  for (std::size_t a = 0; a < devices; ++a)
    for (std::size_t b = a + 1; b < devices; ++b) out.push_back({a, b, bandwidth});
  return out;
}

/// The hybrid cube mesh of a DGX-1 with V100: six NVLinks of `link` bytes per second on each device (NVIDIA
/// DGX-1 With Tesla V100 System Architecture, 2017).
inline std::vector<CableEnds> hybrid_cube_mesh(double link) {
  return {{0, 1, link},     {0, 2, link},     {0, 3, 2 * link}, {0, 4, 2 * link},
          {1, 2, 2 * link}, {1, 3, link},     {1, 5, 2 * link}, {2, 3, 2 * link},
          {2, 6, link},     {3, 7, link},     {4, 5, link},     {4, 6, link},
          {4, 7, 2 * link}, {5, 6, 2 * link}, {5, 7, link},     {6, 7, 2 * link}};
}

/// Two nodes of four devices. Cables of `inside` join all devices of a node, and one of `outside` each device to
/// the network (B/s).
inline cluster::Cluster meshed_nodes(double inside, double outside) {
  std::vector<cluster::Device> devices(8);
  std::vector<cluster::Link> links;
  const auto join = [&](std::size_t a, std::size_t b, double bandwidth) {
    links.push_back({a, b, core::Bandwidth(bandwidth), core::Seconds(0)});
    links.push_back({b, a, core::Bandwidth(bandwidth), core::Seconds(0)});
  };
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d].node = static_cast<int>(d / 4);
    for (std::size_t e = d / 4 * 4; e < d; ++e) join(d, e, inside);
    join(d, devices.size(), outside);
  }
  return cluster::Cluster("nodes", {{}}, devices, 1, links);
}

inline std::vector<core::DeviceId> first_devices(std::size_t count) {
  std::vector<core::DeviceId> out;
  for (std::size_t d = 0; d < count; ++d) out.emplace_back(d);
  return out;
}

}  // namespace penstock::support
