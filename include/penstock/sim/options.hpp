#pragma once
// Assumptions of a simulation beyond plan and cluster.

#include <cstdint>
#include <string_view>

#include "penstock/core/stop.hpp"

namespace penstock::sim {

/// How transfers share a link.
enum class NetworkModel : std::uint8_t {
  fair,  ///< transfers are flows that share links max-min fairly; the route's latency is paid once, before
  fifo,  ///< a transfer holds its whole route; each link serves one at a time, the first to become ready
         ///< first
};
std::string_view name(NetworkModel model);
NetworkModel network_model(std::string_view name);  ///< throws BadInput for an unknown name

/// How gradients are reduced among the replicas of a stage.
enum class Collective : std::uint8_t {
  closed_form,       ///< takes the time of cost::all_reduce, and no link
  automatic,         ///< travels step by step, by whichever of the following has the smallest closed form
  ring,              ///< reduce-scatter, then all-gather around a ring (Patarasuk and Yuan, JPDC 2009)
  tree,              ///< to the root of a binary tree and back
  halving_doubling,  ///< recursive halving, then doubling; replicas beyond a power of two fold into others
                     ///< first (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 4.4)
  hierarchical,      ///< ring in each node, rings of shards between nodes; a plain ring where nodes hold
                     ///< unequally many
};
std::string_view name(Collective collective);
Collective collective(std::string_view name);  ///< throws BadInput for an unknown name

struct Perturbation;

struct SimulationOptions {
  NetworkModel network = NetworkModel::fair;
  Collective collective = Collective::closed_form;
  const Perturbation* perturbation = nullptr;  ///< made for the problem's cluster; none: nothing is perturbed
  std::uint64_t seed = 0;                      ///< of the perturbation's jitter
  core::StopToken
      stop{};            ///< asked every few thousand tasks: the simulation ends with Interrupted or LimitHit
  bool crowding = true;  ///< devices of a node slow each other, where costs know (cost/crowding.hpp)
};

}  // namespace penstock::sim
