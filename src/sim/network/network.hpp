#pragma once
// Interface between the event loop and the network that carries transfers.

#include <memory>

#include "agenda.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// Receives transfers when they become ready, records their starts, and posts events for them. The event loop
/// returns every event of a transfer in the agenda's order.
class TransferNetwork {
 public:
  virtual ~TransferNetwork() = default;
  /// The transfer's predecessors have ended.
  virtual void request(TaskId transfer, std::int64_t now) = 0;
  /// An event posted for the transfer is due. Returns true if the transfer has ended. Negative ids are events
  /// of the network itself, which end no transfer.
  virtual bool due(TaskId transfer, std::int64_t now) = 0;
  /// No event of this moment is left; must not post one for it.
  virtual void settle(std::int64_t now) = 0;
  /// No event is left but tasks are: throws if a transfer waits for a dead link.
  virtual void report_stalled() const {}
};

/// The references outlive the network.
std::unique_ptr<TransferNetwork> make_network(NetworkModel model, const TaskGraph& graph, EventAgenda& agenda,
                                              TaskRecorder& record);

}  // namespace penstock::sim
