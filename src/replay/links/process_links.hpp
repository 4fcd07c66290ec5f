#pragma once
// Links between devices of several processes.

#include <memory>

#include "links/channels.hpp"
#include "links/thread_links.hpp"
#include "penstock/replay/processes.hpp"

namespace penstock::replay {

using Blob = std::vector<std::byte>;

/// What is sent to a device of this process goes by `local`, all else from process to process. Beside links:
/// where processes meet, learn each other's time, and hand over what they have noted. Every wait ends when a
/// process fails, or has not been heard of for a while.
class ProcessLinks : public Links {
 public:
  /// Returns once all processes are here.
  virtual void meet(const std::function<std::string()>& awaited) = 0;
  /// By how much the clock of process 0 is ahead of this one's; all ask side by side. From the quickest of
  /// several answers (Cristian, Distributed Computing 1989): wrong by half its way there and back at most.
  virtual core::Seconds ahead() = 0;
  /// To process 0 what every process gives, [rank]; to others nothing. Error(limit) beyond 1 GiB.
  virtual std::vector<Blob> gather(Blob own) = 0;
  /// The same to all.
  virtual std::vector<Blob> all_gather(Blob own) = 0;

  /// To each of the processes `to`, in no order among notes. Error(limit) beyond 1 GiB.
  virtual void share(const std::vector<int>& to, Blob note) = 0;

  /// From now on what devices other than the host send goes by these channels, which outlive the links.
  /// `abort` is called when something has failed: it ends what devices wait for.
  virtual void use(Channels& channels, std::function<void()> abort) = 0;
};

/// `name`: of a transfer, for messages. `shared` is called with the notes that others share. Defined where
/// there is MPI: a thread of its own does all that MPI does, for which MPI_THREAD_SERIALIZED is enough.
std::unique_ptr<ProcessLinks> connect(const Processes& processes, Monitor& monitor, ThreadLinks& local,
                                      std::vector<Transfer> transfers, core::Seconds patience,
                                      std::function<std::string(std::size_t)> name,
                                      std::function<void(Blob)> shared);

}  // namespace penstock::replay
