#pragma once
// Assumptions of a simulation beyond plan and cluster.

#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/collective/catalogue.hpp"
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
struct Collective {
  enum class By : std::uint8_t {
    closed_form,  ///< takes the time of cost::all_reduce, and no link
    cheapest,     ///< travels step by step, by whichever algorithm has the smallest closed form: "automatic"
    algorithm,    ///< by that one; around a ring where it does not fit a group
  };
  By by = By::closed_form;
  const collective::Algorithm* algorithm = nullptr;  ///< of By::algorithm

  bool travels() const { return by != By::closed_form; }
  bool rounds_up() const { return algorithm != nullptr && algorithm->rounds_up; }
  friend bool operator==(const Collective&, const Collective&) = default;
};
std::string_view name(Collective collective);
Collective collective(std::string_view name);  ///< throws BadInput for an unknown name
/// Names of all: closed_form, automatic, and those of collective::algorithms().
const std::vector<std::string_view>& collective_names();

/// Collectives that passes wait for: those of tensor-parallel, context and expert groups, and of ZeRO. Hops
/// of ring attention are part of a pass's time either way.
enum class PassCollectives : std::uint8_t {
  closed_form,  ///< part of a pass's time, and take no link
  links,        ///< travel step by step: all-reduces as gradients do, or by the cheapest algorithm,
                ///< all-gathers around a ring, all-to-alls one receiver after the other; whatever else is on
                ///< a link slows them
};
std::string_view name(PassCollectives collectives);
PassCollectives pass_collectives(std::string_view name);  ///< throws BadInput for an unknown name

struct Perturbation;

struct SimulationOptions {
  NetworkModel network = NetworkModel::fair;
  Collective collective{};
  const Perturbation* perturbation = nullptr;  ///< made for the problem's cluster; none: nothing is perturbed
  std::uint64_t seed = 0;                      ///< of the perturbation's jitter
  core::StopToken
      stop{};            ///< asked every few thousand tasks: the simulation ends with Interrupted or LimitHit
  bool crowding = true;  ///< devices of a node slow each other, where costs know (cost/crowding.hpp)
  PassCollectives pass_collectives = PassCollectives::closed_form;
};

}  // namespace penstock::sim
