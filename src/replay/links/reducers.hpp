#pragma once
// Threads that sum the gradients of replicas while later passes run.

#include <map>
#include <thread>

#include "links/barrier.hpp"
#include "links/reductions.hpp"
#include "links/ring.hpp"
#include "penstock/replay/worker.hpp"
#include "run/monitor.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// One thread per device with a worker here that has gradients to sum. It runs one sum at a time, in the
/// device's order: by the devices' library if there is one, otherwise around a ring.
class GradientReducers {
 public:
  /// Transfers of their rings are numbered from `first_transfer` on. `copiers`: [device] carry them; null on
  /// the host, and for devices of other processes.
  GradientReducers(Monitor& monitor, const ReductionList& reductions, const plan::Plan& plan,
                   const std::vector<Worker*>& workers,
                   const std::vector<std::unique_ptr<PieceCopier>>& copiers, std::size_t first_transfer);

  void add_transfers(std::vector<DeviceTransfer>& transfers) const;
  /// Sets the library for devices of several processes. Call before `start`.
  void use(const std::vector<core::DeviceId>& devices, std::shared_ptr<kernels::Collectives> library) {
    libraries_[devices] = std::move(library);
  }
  std::vector<std::jthread> start(TransferLinks& links);

  /// Called by the device's thread: `position` is that of its REDUCE_GRAD, or of a STEP that waits for its
  /// own.
  void begin(std::size_t device, std::size_t position);
  void wait_for(std::size_t device, std::size_t position, const DeviceInstruction& step);
  void wait_for_all(std::size_t device);

  /// Called under the monitor's lock.
  void close() { closed_ = true; }
  void reset();
  void note(IterationRecord& record) const;

 private:
  struct ReductionTask {
    std::size_t position = 0;
    std::vector<std::vector<BufferRegion>> terms;
    TimeInterval when{};
  };
  struct DeviceSums {
    std::vector<ReductionTask> tasks;  ///< of this iteration, in order of their begin
    std::size_t begun = 0, ended = 0;
  };
  void serve(TransferLinks& links, std::size_t device);
  void sum(TransferLinks& links, std::size_t device, const ReductionTask& task);
  using Terms = std::vector<std::vector<BufferRegion>>;
  using Awaited = std::function<std::string()>;
  void sum_on_host(TransferLinks& links, std::size_t reduction, std::size_t member, std::size_t device,
                   const Terms& terms, const Awaited& awaited);
  void sum_on_device(TransferLinks& links, std::size_t reduction, std::size_t member, std::size_t device,
                     const Terms& terms, const Awaited& awaited);
  void find_library(const GradientReduction& reduction);
  /// Returns false if there is no library for these numbers.
  bool sum_by_library(TransferLinks& links, std::size_t reduction, std::size_t member,
                      GradientAccumulator& values, const Awaited& awaited);

  Monitor& monitor_;
  const ReductionList& reductions_;
  const plan::Plan& plan_;
  const std::vector<Worker*>& workers_;
  const std::vector<std::unique_ptr<PieceCopier>>& copiers_;
  std::vector<ReductionRing> rings_;  ///< [reduction]
  std::map<std::vector<core::DeviceId>, std::shared_ptr<kernels::Collectives>> libraries_;
  /// [reduction] The library is called once all replicas have arrived, so that none waits in it for a failed
  /// one.
  std::vector<MessageBarrier> barriers_;
  std::vector<DeviceSums> devices_;
  struct ReducerScratch {
    ReductionRing::RingScratch ring;
    /// Gradients that are not fp32 numbers of the host, or come from several copies.
    ReductionRing::RingScratch::Floats gathered = std::make_shared<std::vector<float>>();
    std::pair<std::unique_ptr<GradientAccumulator>, std::unique_ptr<GradientAccumulator>>
        on_device;  ///< values, and a buffer of equal size
  };
  std::vector<std::vector<ReducerScratch>> scratch_;  ///< [device][reduction]
  bool closed_ = false;
};

}  // namespace penstock::replay
