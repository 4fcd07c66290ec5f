#pragma once
// The seam between the event loop and what carries transfers.

#include <memory>

#include "agenda.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// Told when transfers become ready, it records their starts and posts events for them. The event loop hands
/// every event of a transfer back, in the agenda's order.
class Network {
 public:
  virtual ~Network() = default;
  /// The transfer's predecessors have ended.
  virtual void request(TaskId transfer, std::int64_t now) = 0;
  /// An event posted for the transfer is due. True when the transfer has ended. Below zero stand events of
  /// the network itself, which end no transfer.
  virtual bool due(TaskId transfer, std::int64_t now) = 0;
  /// No event of this moment is left; posts none for it either.
  virtual void settle(std::int64_t now) = 0;
  /// Nothing is left to happen, yet tasks are: throws when a transfer stands still on a dead link.
  virtual void report_stalled() const {}
};

/// The references outlive the network.
std::unique_ptr<Network> make_network(NetworkModel model, const TaskGraph& graph, Agenda& agenda,
                                      Record& record);

}  // namespace penstock::sim
