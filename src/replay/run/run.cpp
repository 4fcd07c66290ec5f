#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "penstock/core/error.hpp"
#include "run/concurrent.hpp"
#include "run/cores.hpp"
#include "run/sequential.hpp"
#include "run/traced.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

void check_counts(const ReplayOptions& options) {
  if (options.iterations < 1 || options.iterations > kMostIterations)
    throw core::BadInput(fmt::format("a replay has 1 to {} iterations", kMostIterations));
  if (options.warm_up < 0 || options.warm_up > kMostIterations)
    throw core::BadInput(fmt::format("a replay has 0 to {} iterations to warm up", kMostIterations));
}

/// Devices with instructions whose workers are with process `rank`.
std::size_t at_work(const DevicePrograms& program, const MpiProcesses* processes, int rank) {
  std::size_t out = 0;
  for (std::size_t d = 0; d < program.devices.size(); ++d)
    out +=
        !program.devices[d].empty() && (processes == nullptr || processes->host(core::DeviceId(d)) == rank);
  return out;
}

void check_processes(const DevicePrograms& program, ReplayManner manner, const MpiProcesses& processes) {
  if (manner == ReplayManner::sequential)
    throw core::BadInput("several processes replay devices concurrently, not in sequential emulation");
  for (int rank = 0; rank < processes.size(); ++rank)
    if (at_work(program, &processes, rank) == 0)
      throw core::BadInput(fmt::format("of {} processes, number {} would have none of the plan's devices",
                                       processes.size(), rank));
}

/// Throws if two devices share multiprocessors, or differ in kind: they cannot run in parallel.
void check_side_by_side(const std::vector<const kernels::Backend*>& backends) {
  std::set<std::string> places;
  for (const kernels::Backend* backend : backends) {
    if (on_host(*backend) != on_host(*backends.front()))
      throw core::BadInput("devices of the host and others do not run side by side");
    if (on_host(*backend)) continue;
    if (!places.insert(backend->place()).second)
      throw core::BadInput(
          fmt::format("more than one device is on {}, and side by side each needs its own; "
                      "replay it with --sequential, or on partitions",
                      backend->place()));
  }
}

void check_workers(const DevicePrograms& program, const std::vector<Worker*>& workers, ReplayManner manner,
                   const MpiProcesses* processes) {
  std::vector<const kernels::Backend*> backends;
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    if (program.devices[d].empty() || (processes != nullptr && !processes->has(core::DeviceId(d)))) continue;
    core::require(d < workers.size() && workers[d] != nullptr, "every device with instructions has a worker");
    backends.push_back(&workers[d]->backend());
  }
  if (manner == ReplayManner::concurrent) check_side_by_side(backends);
}

bool needs_cores(const std::vector<Worker*>& workers) {
  return std::any_of(workers.begin(), workers.end(),
                     [](Worker* worker) { return worker != nullptr && on_host(worker->backend()); });
}

void check(const DevicePrograms& program, const std::vector<Worker*>& workers, ReplayManner manner,
           const ReplayOptions& options) {
  check_counts(options);
  if (options.processes != nullptr) check_processes(program, manner, *options.processes);
  check_workers(program, workers, manner, options.processes);
  const std::size_t devices = at_work(program, nullptr, 0), cores = allowed_cores().size();
  if (manner == ReplayManner::concurrent && options.processes == nullptr && needs_cores(workers) &&
      devices > cores)
    throw core::BadInput(
        fmt::format("{} devices side by side need as many cores, and this process may use {}; "
                    "replay it with --sequential",
                    devices, cores));
}

/// Cores for this process: the machine's processes take theirs in the order of ranks; empty if there are too
/// few.
std::vector<int> cores_for(const DevicePrograms& program, const ReplayOptions& options) {
  std::vector<int> cores = allowed_cores();
  const kernels::MachineShare share = share_of_machine(program, options.processes);
  if (share.all > cores.size()) return {};
  std::rotate(cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(share.before), cores.end());
  return cores;
}

/// Index of the median; for an even number the earlier of the two in the middle.
std::size_t median(const std::vector<core::Seconds>& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return times[a] < times[b]; });
  return std::min(order[(order.size() - 1) / 2], order[order.size() / 2]);
}

/// [mini-batch run] loss over all devices.
std::vector<double> losses(const ReplayRecords& records) {
  std::vector<double> out;
  for (const std::vector<double>& part : records.losses) {
    out.resize(std::max(out.size(), part.size()));
    for (std::size_t i = 0; i < part.size(); ++i) out[i] += part[i];
  }
  return out;
}

}  // namespace

std::string_view name(ReplayManner manner) {
  return manner == ReplayManner::concurrent ? "concurrent" : "sequential";
}

kernels::MachineShare share_of_machine(const DevicePrograms& program, const MpiProcesses* processes) {
  if (processes == nullptr) return {0, at_work(program, nullptr, 0), at_work(program, nullptr, 0)};
  kernels::MachineShare out{0, at_work(program, processes, processes->rank()), 0};
  for (const int rank : processes->on_this_machine()) {
    const std::size_t devices = at_work(program, processes, rank);
    out.all += devices;
    if (rank < processes->rank()) out.before += devices;
  }
  return out;
}

ReplayResult run(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                 const std::vector<Worker*>& workers, ReplayManner manner, const ReplayOptions& options) {
  check(program, workers, manner, options);
  std::optional<OnOneCore> on_one_core;
  if (manner == ReplayManner::sequential && needs_cores(workers)) on_one_core.emplace();
  ReplayRecords records =
      manner == ReplayManner::concurrent
          ? run_concurrent(program, problem, plan, workers, options, cores_for(program, options))
          : run_sequential(program, problem, plan, workers, options);
  if (manner == ReplayManner::sequential) note_losses(workers, records);
  ReplayResult out;
  out.manner = manner;
  if (options.processes != nullptr && options.processes->rank() > 0) return out;
  for (const IterationRecord& record : records.iterations)
    out.iterations.push_back(iteration_time(program, plan, record));
  out.trace = trace_of(program, problem, plan, records.iterations[median(out.iterations)], records.peaks);
  out.losses = losses(records);
  return out;
}

}  // namespace penstock::replay
