#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "parallel.hpp"
#include "penstock/core/error.hpp"
#include "recomposed.hpp"
#include "regions.hpp"
#include "traced.hpp"

namespace penstock::replay {
namespace {

void check(const Program& program, const std::vector<Worker*>& workers, Manner manner,
           const ReplayOptions& options) {
  if (options.iterations < 1 || options.iterations > kMostIterations)
    throw core::BadInput(fmt::format("a replay has 1 to {} iterations", kMostIterations));
  if (options.warm_up < 0 || options.warm_up > kMostIterations)
    throw core::BadInput(fmt::format("a replay has 0 to {} iterations to warm up", kMostIterations));
  std::size_t devices = 0;
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    if (program.devices[d].empty()) continue;
    ++devices;
    core::require(d < workers.size() && workers[d] != nullptr, "every device with instructions has a worker");
    if (manner == Manner::parallel && !on_host(workers[d]->backend()))
      throw core::BadInput(
          fmt::format("device {} is {}, and only devices of the host run side by side; "
                      "replay it recomposed",
                      d, workers[d]->backend().name()));
  }
  const std::size_t cores = allowed_cores().size();
  if (manner == Manner::parallel && devices > cores)
    throw core::BadInput(
        fmt::format("{} devices side by side need as many cores, and this process may use {}; "
                    "replay it recomposed",
                    devices, cores));
}

/// Index of the median; of an even number the earlier one of the two in the middle.
std::size_t median(const std::vector<core::Seconds>& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return times[a] < times[b]; });
  return std::min(order[(order.size() - 1) / 2], order[order.size() / 2]);
}

}  // namespace

std::string_view name(Manner manner) {
  return manner == Manner::parallel ? "parallel" : "recomposed";
}

ReplayResult run(const Program& program, const cost::Problem& problem, const plan::Plan& plan,
                 const std::vector<Worker*>& workers, Manner manner, const ReplayOptions& options) {
  check(program, workers, manner, options);
  const Records records = manner == Manner::parallel
                              ? run_parallel(program, problem, plan, workers, options, allowed_cores())
                              : run_recomposed(program, problem, plan, workers, options);
  ReplayResult out;
  out.manner = manner;
  for (const Record& record : records.iterations)
    out.iterations.push_back(iteration_time(program, plan, record));
  out.trace = trace_of(program, problem, plan, records.iterations[median(out.iterations)], records.peaks);
  return out;
}

}  // namespace penstock::replay
