#include "penstock/sim/waterfall.hpp"

#include <algorithm>
#include <cmath>

#include "engine.hpp"
#include "explain/device_time.hpp"
#include "penstock/cost/utilisation.hpp"
#include "run_by_device.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

using core::Picoseconds;
using PartSums = std::array<double, kTimeParts>;  // ps

struct PartName {
  std::string_view key, words;
};
constexpr std::array<PartName, kTimeParts> kPartNames = {{{"model", "model FLOPs at peak"},
                                                          {"kernels", "kernels below peak"},
                                                          {"sustained", "sustained load"},
                                                          {"host", "host launches"},
                                                          {"recomputation", "recomputation"},
                                                          {"tensor", "tensor-parallel collectives"},
                                                          {"experts", "expert collectives"},
                                                          {"context", "context-parallel collectives"},
                                                          {"slowed", "slowed passes"},
                                                          {"pipeline", "exposed pipeline messages"},
                                                          {"reduction", "gradient reduction and ZeRO"},
                                                          {"step", "optimizer step"},
                                                          {"bubble", "bubble"}}};

bool idles(std::size_t part) {
  const auto is = static_cast<TimePart>(part);
  return is == TimePart::pipeline || is == TimePart::reduction || is == TimePart::bubble;
}

/// Divides one iteration: the model's FLOPs of one mini-batch first; then other work, then waits, as far as
/// the iteration has room; the bubble last. A run of one mini-batch has room for everything. With several,
/// the busiest device may seem to work longer than the iteration, where the steady part
/// has shorter passes than the rest.
PartSums per_iteration(const PartTimes& times, std::int64_t mini_batches, Picoseconds iteration) {
  PartSums out{};
  for (std::size_t p = 0; p < kTimeParts; ++p)
    out[p] = static_cast<double>(times[p].value()) / static_cast<double>(mini_batches);
  double left = static_cast<double>(iteration.value());
  const auto fit = [&](const auto& belongs) {
    double sum = 0;
    for (std::size_t p = 0; p < kTimeParts; ++p) sum += belongs(p) ? out[p] : 0;
    const double scale = sum > left ? left / sum : 1;
    for (std::size_t p = 0; p < kTimeParts; ++p)
      if (belongs(p)) out[p] *= scale;
    left = std::max(0.0, left - sum * scale);
  };
  constexpr auto kModel = static_cast<std::size_t>(TimePart::model),
                 kBubble = static_cast<std::size_t>(TimePart::bubble);
  fit([](std::size_t p) { return p == kModel; });
  fit([](std::size_t p) { return !idles(p) && p != kModel; });
  fit([](std::size_t p) { return idles(p) && p != kBubble; });
  out[kBubble] = left;
  return out;
}

/// [device] weight; the sum is 1.
std::vector<double> weights(const cost::Problem& problem) {
  const double peak = cost::peak_rate(problem.graph, problem.cluster).value();
  std::vector<double> of_type, out;
  for (const cluster::DeviceType& type : problem.cluster.types())
    of_type.push_back(peak > 0 ? cost::peak_rate(problem.graph, type).value() / peak
                               : 1 / static_cast<double>(problem.cluster.size()));
  for (const cluster::Device& device : problem.cluster.devices()) out.push_back(of_type[device.type]);
  return out;
}

/// Rounds running sums to whole picoseconds, so that the last part ends with the iteration.
Waterfall rounded(const PartSums& sums, Picoseconds iteration) {
  Waterfall out{iteration, {}};
  double until = 0;
  std::int64_t before = 0;
  for (std::size_t p = 0; p < kTimeParts; ++p) {
    until += sums[p];
    const bool last = p + 1 == kTimeParts;
    const std::int64_t end =
        last ? iteration.value()
             : std::min(iteration.value(), static_cast<std::int64_t>(std::llround(until)));
    out.time[p] = Picoseconds(end - before);
    before = end;
  }
  return out;
}

}  // namespace

std::string_view name(TimePart part) {
  return kPartNames[static_cast<std::size_t>(part)].words;
}

std::string_view key(TimePart part) {
  return kPartNames[static_cast<std::size_t>(part)].key;
}

double Waterfall::share(TimePart part) const {
  return of(part) / iteration;
}

double Waterfall::reached(TimePart part) const {
  Picoseconds until;
  for (std::size_t p = 0; p <= static_cast<std::size_t>(part); ++p) until += time[p];
  return until.value() > 0 ? of(TimePart::model) / until : 0;
}

double Waterfall::without(TimePart part) const {
  const Picoseconds left = iteration - of(part);
  return left.value() > 0 ? of(TimePart::model) / left : 0;
}

Waterfall waterfall(const cost::Problem& problem, const plan::Plan& plan, const trace::ByDevice& run,
                    const SimulationOptions& options, double filled) {
  const trace::ByDevice::RunExtent extent = run.extent();
  const std::vector<double> weight = weights(problem);
  const DeviceTime time(problem, plan, options, filled);
  PartSums sums{};
  for (std::size_t d = 0; d < extent.devices; ++d) {
    const core::DeviceId device(d);
    const PartSums mine = per_iteration(time.of(run, device), extent.mini_batches, extent.iteration);
    for (std::size_t p = 0; p < kTimeParts; ++p) sums[p] += mine[p] * weight[d];
  }
  return rounded(sums, extent.iteration);
}

Waterfall waterfall(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                    const SimulationOptions& options, double filled) {
  IterationTasks iteration = prepare(problem, scheduled, options);
  const TaskTimes times = run(iteration.graph, options.network, true, options.stop);
  iteration.graph.forget_edges();
  return waterfall(problem, scheduled.plan, RunByDevice(problem, scheduled.plan, iteration, times), options,
                   filled);
}

}  // namespace penstock::sim
