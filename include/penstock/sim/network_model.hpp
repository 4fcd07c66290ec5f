#pragma once
// How transfers that meet on a link get along.

#include <cstdint>
#include <string_view>

namespace penstock::sim {

enum class NetworkModel : std::uint8_t {
  fifo,  ///< a transfer holds its whole route; each link serves one at a time, the first to become ready
         ///< first
  fair,  ///< transfers are flows that share links max-min fairly; the route's latency is paid once, before
};
std::string_view name(NetworkModel model);
NetworkModel network_model(std::string_view name);  ///< throws BadInput for an unknown name

struct Imperfection;

struct SimulationOptions {
  NetworkModel network = NetworkModel::fifo;
  const Imperfection* imperfection = nullptr;  ///< made for the problem's cluster; none: a perfect world
  std::uint64_t seed = 0;                      ///< of the imperfection's jitter
};

}  // namespace penstock::sim
