#pragma once
// A plan executed for real.

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

enum class Manner : std::uint8_t {
  concurrent,  ///< a thread per device, pinned where there are cores, and threads that carry messages at the
               ///< speed of the cluster's links
  sequential,  ///< sequential emulation: one device at a time, in an order that respects all waits; each
               ///< task is timed, and the times are put together as if devices ran side by side and links
               ///< took what the cluster file says
};
std::string_view name(Manner manner);

inline constexpr int kMostIterations = 10000;

struct ReplayOptions {
  int warm_up = 1;       ///< iterations before those that count, 0 to kMostIterations
  int iterations = 5;    ///< measured iterations, 1 to kMostIterations
  bool throttle = true;  ///< concurrent: messages take no less than the cluster's links say
  core::Seconds patience{
      60};  ///< longest wait of one device for another beyond the time of its work: then it is stuck
  core::StopToken stop{};
  const Processes* processes = nullptr;  ///< concurrent: all run the same, each with the workers it hosts
};

struct ReplayResult {
  Manner manner = Manner::concurrent;
  std::vector<core::Seconds> iterations;  ///< times, in the order they were run
  std::vector<double> losses;  ///< per mini-batch run, warm-up included, where a loss was asked for
  trace::Trace trace;          ///< of the iteration of median time (of an even number the earlier one)
};

/// Devices at work here. `processes` may be null: this one is alone; those before it are of lower ranks.
kernels::MachineShare share_of_machine(const DevicePrograms& program, const Processes* processes);

/// Runs `program` on workers, one per device that it has instructions for (others null). Iterations of a
/// program with a flush follow each other; of one without, the whole program is one run, and its iteration
/// time what a mini-batch adds in the second half. A worker that throws ends all others within a bounded
/// time; the error is rethrown with device and task in front of its text. Throws core::Interrupted when
/// stopped, Error(device_failed) naming device and awaited message when nothing moves for `patience`, or
/// in sequential emulation, at once. A pass that never ends cannot be ended: a worker returns, or throws.
/// BadInput where more devices of the host are to run side by side than this process has cores, or others of
/// one place (Backend::place).
///
/// In both manners, messages that meet on a link share it max-min fairly, as in the
/// simulator's `fair` network, and all replicas end with the same gradients, bit by bit. Replicas on GPUs of
/// their own sum by NCCL, which knows nothing of the cluster's links, or by way of the host where gradients
/// are not in fp32. In sequential emulation a sum of gradients takes its closed form (cost::all_reduce), and
/// devices do not compete for memory bandwidth.
///
/// Devices of a tensor-parallel group run collectives within a pass: side by side over shared memory, and
/// by messages where they are of several processes (Error(limit) beyond 1 GiB in one), which takes no less
/// than the closed form of the collective where `throttle`, in sequential emulation in that time.
///
/// Of several processes each passes the workers it hosts (others null), all the same of everything else; a
/// failure in one ends all within a bounded time, be it only that it is no longer heard of. Process 0 returns
/// the whole result, the others an empty one. Messages between processes share the cluster's links with those
/// that end in the same process; between GPUs they go by NCCL, each GPU whole and of one process: BadInput
/// otherwise. Devices may then be more than cores, and have none of their own. BadInput
/// for a process that would host no device at work.
ReplayResult run(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                 const std::vector<Worker*>& workers, Manner manner, const ReplayOptions& options);

}  // namespace penstock::replay
