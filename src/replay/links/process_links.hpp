#pragma once
// Links between devices of several processes.

#include <memory>

#include "links/channels.hpp"
#include "links/thread_links.hpp"
#include "penstock/replay/processes.hpp"

namespace penstock::replay {

using Blob = std::vector<std::byte>;

/// Transfers to a device of this process use `local`, all others go between processes. Processes also
/// synchronise here, compare clocks, and collect their records. Every wait ends when a process fails, or has
/// been silent for a while.
class ProcessLinks : public TransferLinks {
 public:
  /// Returns once all processes have called it.
  virtual void meet(const std::function<std::string()>& awaited) = 0;
  /// Difference of process 0's clock to this one's; all processes call it at the same time. From the quickest
  /// of several answers (Cristian, Distributed Computing 1989): the error is at most half its round trip.
  virtual core::Seconds ahead() = 0;
  /// Returns to process 0 the data of every process, [rank]; to others nothing. Error(limit) beyond 1 GiB.
  virtual std::vector<Blob> gather(Blob own) = 0;
  /// Like gather, for all processes.
  virtual std::vector<Blob> all_gather(Blob own) = 0;

  /// Sends a note to each of the processes `to`; notes have no order. Error(limit) beyond 1 GiB.
  virtual void share(const std::vector<int>& to, Blob note) = 0;

  /// From now on transfers of devices other than the host use these channels, which must outlive the links.
  /// `abort` is called after a failure: it ends the waits of devices.
  virtual void use(DeviceChannels& channels, std::function<void()> abort) = 0;
};

/// `name`: text of a transfer, for messages. `shared` is called with notes from others. Defined if there is
/// MPI: a single thread makes all MPI calls, for which MPI_THREAD_SERIALIZED suffices.
std::unique_ptr<ProcessLinks> connect(const MpiProcesses& processes, Monitor& monitor, ThreadLinks& local,
                                      std::vector<DeviceTransfer> transfers, core::Seconds patience,
                                      std::function<std::string(std::size_t)> name,
                                      std::function<void(Blob)> shared);

}  // namespace penstock::replay
