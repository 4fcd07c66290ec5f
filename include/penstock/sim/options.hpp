#pragma once
// Options of a simulation beyond plan and cluster.

#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/collective/catalogue.hpp"
#include "penstock/core/stop.hpp"

namespace penstock::sim {

/// Model of transfers that share a link.
enum class NetworkModel : std::uint8_t {
  fair,  ///< transfers are flows that share links max-min fairly; latency is paid once, before
  /// A transfer holds its whole route; each link serves one transfer at a time, in the order in which they
  /// became ready.
  fifo,
};
std::string_view name(NetworkModel model);
NetworkModel network_model(std::string_view name);  ///< throws BadInput for an unknown name

/// Method of reducing gradients among the replicas of a stage.
struct ReductionMethod {
  enum class MethodKind : std::uint8_t {
    closed_form,  ///< takes the time of cost::all_reduce and occupies no link
    cheapest,     ///< Messages of the algorithm with the smallest closed form; written "automatic".
    algorithm,    ///< messages of that algorithm; of a ring if it does not suit a group
  };
  MethodKind by = MethodKind::closed_form;
  const collective::Algorithm* algorithm = nullptr;  ///< for MethodKind::algorithm

  bool travels() const { return by != MethodKind::closed_form; }
  bool rounds_up() const { return algorithm != nullptr && algorithm->rounds_up; }
  friend bool operator==(const ReductionMethod&, const ReductionMethod&) = default;
};
std::string_view name(ReductionMethod collective);
ReductionMethod collective(std::string_view name);  ///< throws BadInput for an unknown name
/// All names: closed_form, automatic, and those of collective::algorithms().
const std::vector<std::string_view>& collective_names();

/// Collectives that passes wait for: those of tensor-parallel, context and expert groups, and of ZeRO. Hops
/// of ring attention always count as part of a pass.
enum class PassCollectives : std::uint8_t {
  closed_form,  ///< part of a pass's time; occupy no link
  /// Messages on links, slowed by other traffic: all-reduces like those of gradients (or by the cheapest
  /// algorithm), all-gathers around a ring, all-to-alls one receiver after the other.
  links,
};
std::string_view name(PassCollectives collectives);
PassCollectives pass_collectives(std::string_view name);  ///< throws BadInput for an unknown name

/// When messages between stages travel.
enum class MessageOrder : std::uint8_t {
  free,  ///< as soon as they are computed and the receiver has room
  /// Each device sends and receives one message at a time, in the order in which its rank posts them. A receive
  /// that waits delays all later ones, as on one NCCL stream (pytorch/pytorch#188833). Ranks take turns, one
  /// instruction each. The turn of a pass posts its messages on both sides, as in schedule::add_messages.
  /// Receivers have room for every message, as PyTorch's stages do.
  in_order,
};
std::string_view name(MessageOrder order);
MessageOrder message_order(std::string_view name);  ///< throws BadInput for an unknown name

struct Perturbation;

struct SimulationOptions {
  NetworkModel network = NetworkModel::fair;
  ReductionMethod collective{};
  const Perturbation* perturbation = nullptr;  ///< for the problem's cluster; null: none
  std::uint64_t seed = 0;                      ///< for the jitter of the perturbation
  core::StopToken
      stop{};  ///< checked every few thousand tasks; the simulation then throws InterruptedError or LimitHit
  bool crowding = true;  ///< devices of a node slow each other if costs have data for it (cost/crowding.hpp)
  PassCollectives pass_collectives = PassCollectives::closed_form;
  MessageOrder message_order = MessageOrder::free;
};

}  // namespace penstock::sim
