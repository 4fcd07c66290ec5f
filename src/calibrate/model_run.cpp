#include "penstock/calibrate/model_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/calibrate/precisions.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/kernels/graph_run.hpp"

namespace penstock::calibrate {
namespace {

constexpr std::uint64_t kRunSeed = 1;

/// [operator] true if parameters come before it; otherwise its input gradient is never needed.
std::vector<bool> trained_above(const graph::OpGraph& graph) {
  std::vector<bool> above(graph.size());
  for (std::size_t v = 0; v < graph.size(); ++v)
    for (const graph::Vertex u : graph.dag().predecessors(static_cast<graph::Vertex>(v))) {
      const core::OpId source(static_cast<std::size_t>(u));
      if (above[source.index()] || cost::has_pass(graph.op(source), graph::Pass::weight_gradient))
        above[v] = true;
    }
  return above;
}

}  // namespace

const cost::KernelPoint* find_point(const cost::Calibration& calibration, const cost::KernelKey& key,
                                    graph::Pass pass, std::int64_t samples) {
  const auto kernel = std::ranges::find(calibration.kernels, key, &cost::MeasuredKernel::key);
  if (kernel == calibration.kernels.end()) return nullptr;
  const auto point = std::ranges::find_if(
      kernel->points, [&](const cost::KernelPoint& p) { return p.pass == pass && p.samples == samples; });
  return point == kernel->points.end() ? nullptr : &*point;
}

std::optional<KernelSums> kernel_sums(const cost::Calibration& calibration, const graph::OpGraph& graph,
                                      std::int64_t samples, cluster::Precision precision) {
  KernelSums sums;
  const std::vector<bool> above = trained_above(graph);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const graph::Operator& op = graph.op(core::OpId(v));
    for (const graph::Pass pass : graph::kAllPasses) {
      const bool weighs = cost::has_pass(op, graph::Pass::weight_gradient);
      if (!cost::has_pass(op, pass) || (pass == graph::Pass::input_gradient && !above[v] && !weighs))
        continue;
      const auto* point = find_point(calibration, cost::key_of(op, precision), pass, samples);
      if (point == nullptr) return std::nullopt;
      sums.cold += point->cold.median;
      sums.back_to_back += point->back_to_back.median;
    }
  }
  return sums;
}

cost::ModelSum time_model(const cost::Calibration& calibration, kernels::Backend& backend,
                          kernels::Stream& stream, Stopwatch& stopwatch, const NamedModel& model,
                          std::int64_t samples, cluster::Precision precision, core::Bytes memory) {
  const auto sums = kernel_sums(calibration, model.graph, samples, precision);
  if (!sums) throw core::BadInput("not all of its kernels are measured");
  const core::Bytes needed = kernels::GraphRun::bytes(model.graph, samples);
  if (needed > memory)
    throw core::BadInput(fmt::format("it takes {}, more than {}", core::show(needed), core::show(memory)));
  kernels::GraphRun run(backend, model.graph, samples, precision_of(precision), kRunSeed);
  run.zero_tables(stream);
  const cost::TimingSummary whole = stopwatch.unbundled([&] {
    run.forward(stream);
    run.backward(stream);
  });
  return {model.name, model.parameters, samples, precision, whole, sums->cold, sums->back_to_back};
}

}  // namespace penstock::calibrate
