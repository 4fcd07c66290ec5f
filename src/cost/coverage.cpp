#include "penstock/cost/coverage.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "penstock/cost/sharding.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::cost {
namespace {

/// Part of each of a stage's operators that one device runs.
std::vector<OpShard> parts(const graph::OpGraph& graph, const plan::Stage& stage) {
  std::vector<OpShard> out(stage.operators.size());
  if (stage.tensor_parallel == 1) return out;
  const auto how = layout::infer(graph, stage).partition;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = op_shard(graph.op(stage.operators[i]), how[i], part_of(stage, 0));
  return out;
}

/// Micro-batches of an iteration that a replica takes part in.
double micro_batches(const plan::Plan& plan, const plan::Stage& stage) {
  return static_cast<double>(plan.training.mini_batch) /
         static_cast<double>(plan::samples_per_device(plan, stage) * stage.replicas());
}

}  // namespace

void OriginCoverage::add(const OpEstimate& estimate, double times) {
  if (estimate.total().value() > 0) ++operators[static_cast<std::size_t>(estimate.origin())];
  for (const PassEstimate& pass : estimate.passes)
    seconds[static_cast<std::size_t>(pass.origin)] += pass.time.value() * times;
}

double OriginCoverage::time_share(TimeOrigin origin) const {
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return sum > 0 ? seconds[static_cast<std::size_t>(origin)] / sum : 0;
}

OriginCoverage coverage(const EstimatedCosts& costs, const graph::OpGraph& graph, std::int64_t samples) {
  const auto device = costs.measured_device();
  OriginCoverage out;
  for (std::size_t i = 0; i < graph.size(); ++i)
    out.add(costs.estimate(graph, core::OpId(i), device, samples));
  return out;
}

OriginCoverage coverage(const EstimatedCosts& costs, const graph::OpGraph& graph,
                        const cluster::Cluster& cluster, const plan::Plan& plan) {
  OriginCoverage out;
  for (const plan::Stage& stage : plan.stages) {
    const std::int64_t samples = plan::samples_per_device(plan, stage);
    const double times = micro_batches(plan, stage) * static_cast<double>(stage.devices.size());
    const auto part = parts(graph, stage);
    const LocalModel local(graph, stage);
    for (std::size_t i = 0; i < stage.operators.size(); ++i)
      out.add(costs.estimate(local.get(), stage.operators[i], cluster.type(stage.devices.front()), samples,
                             part[i]),
              times);
  }
  return out;
}

OriginCoverage collective_coverage(const Problem& problem, const plan::Plan& plan) {
  OriginCoverage out;
  for (const plan::Stage& stage : plan.stages) {
    if (stage.tensor_parallel == 1) continue;
    const GroupTimes group(problem.cluster, plan::Mesh(stage).groups(plan::MeshDim::tensor).front());
    const std::int64_t samples = plan::samples_per_device(plan, stage);
    const LocalProblem local(problem, stage);
    const auto layout = layout::infer(local.get().graph, stage);
    const double times = micro_batches(plan, stage) * static_cast<double>(stage.devices.size());
    for (const auto* passes : {&layout.collectives.forward, &layout.collectives.backward})
      for (const layout::GroupCollective& c : *passes)
        out.seconds[static_cast<std::size_t>(group.origin(c, samples))] +=
            group.time(c, samples).value() * times;
  }
  return out;
}

std::vector<CoverageGap> gaps(const EstimatedCosts& costs, const graph::OpGraph& graph,
                              std::int64_t samples) {
  const auto device = costs.measured_device();
  std::map<std::pair<KernelKey, std::string>, CoverageGap> found;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const core::OpId op(i);
    const OpEstimate estimate = costs.estimate(graph, op, device, samples);
    if (estimate.origin() == TimeOrigin::measured) continue;
    const graph::Operator& known = graph.op(op);
    const std::pair key(key_of(known, {}), shape_of(known.attributes).empty() ? known.name : "");
    CoverageGap& gap = found.try_emplace(key, CoverageGap{op, 0, estimate}).first->second;
    ++gap.operators;
  }
  std::vector<CoverageGap> out;
  for (const auto& [key, gap] : found) out.push_back(gap);
  std::stable_sort(out.begin(), out.end(),
                   [](const CoverageGap& a, const CoverageGap& b) { return a.time() > b.time(); });
  return out;
}

}  // namespace penstock::cost
