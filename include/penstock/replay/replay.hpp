#pragma once
// Executes a plan on real devices.

#include <string_view>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/replay/processes.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/replay/training.hpp"
#include "penstock/replay/worker.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::replay {

enum class ReplayManner : std::uint8_t {
  /// A thread per device, pinned if there are enough cores, and threads that carry messages at the speed of
  /// the cluster's links.
  concurrent,
  /// Sequential emulation: one device at a time, in an order that respects all dependencies. Each task is
  /// timed, and the times are combined as if devices ran in parallel and links took the time of the cluster
  /// file.
  sequential,
};
std::string_view name(ReplayManner manner);

inline constexpr int kMostIterations = 10000;

struct ReplayOptions {
  int warm_up = 1;       ///< iterations before the measured ones, 0 to kMostIterations
  int iterations = 5;    ///< measured iterations, 1 to kMostIterations
  bool throttle = true;  ///< concurrent: messages take at least the time of the cluster's links
  core::Seconds patience{
      60};  ///< longest wait of one device for another without any work; after it the replay counts as stuck
  core::StopToken stop{};
  /// Concurrent: all run the same program, each with the workers it hosts.
  const MpiProcesses* processes = nullptr;
};

struct ReplayResult {
  ReplayManner manner = ReplayManner::concurrent;
  std::vector<core::Seconds> iterations;  ///< times in the order of running
  std::vector<double> losses;             ///< per mini-batch run, including warm-up, if losses are requested
  trace::Trace trace;  ///< of the iteration of median time (the earlier one for an even number)
};

/// Share of this machine for the devices of this process. `processes` may be null: a single process.
/// Processes before it have lower ranks.
kernels::MachineShare share_of_machine(const DevicePrograms& program, const MpiProcesses* processes);

/// Runs `program` on workers, one per device with instructions (others null). With a flush, iterations follow
/// each other. Without one, the whole program is one run, and its iteration time is the time per mini-batch
/// of schedule::steady_part. A worker that throws ends all others within a bounded time; the error is rethrown with
/// device and task in front of its text. Throws core::InterruptedError when stopped; Error(device_failed) naming
/// device and awaited message if nothing moves for `patience`, in sequential emulation at once. A pass that
/// never ends cannot be stopped: a worker must return or throw. Throws BadInput if more devices of the host
/// would run in parallel than this process has cores, or several devices at one place (Backend::place).
///
/// In both manners, messages on the same link share it max-min fairly, as in the simulator's `fair` network,
/// and all replicas end with bit-identical gradients. Replicas on separate GPUs sum by NCCL, which ignores
/// the cluster's links, or through the host if gradients are not fp32. In sequential emulation a gradient sum
/// takes its closed form (cost::all_reduce), and devices do not compete for memory bandwidth.
///
/// Devices of a tensor-parallel group run collectives within a pass: in parallel over shared memory, or by
/// messages between processes (Error(limit) beyond 1 GiB in one). A collective takes at least its closed form
/// with `throttle`; in sequential emulation exactly that.
///
/// Of several processes each passes the workers it hosts (others null) and otherwise equal arguments. A
/// failure in one, including its silence, ends all within a bounded time. Process 0 returns the whole result,
/// the others an empty one. Messages between processes share the cluster's links with those within a process.
/// Between GPUs they go by NCCL, which needs whole GPUs, one process each: BadInput otherwise. There may then
/// be more devices than cores, without pinning. Throws BadInput for a process that would host no device with
/// work.
ReplayResult run(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                 const std::vector<Worker*>& workers, ReplayManner manner, const ReplayOptions& options);

}  // namespace penstock::replay
