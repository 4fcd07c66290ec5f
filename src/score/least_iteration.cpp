#include "penstock/score/least_iteration.hpp"

#include <algorithm>
#include <limits>

#include "exposed_reduction.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/score/plan_pipeline.hpp"

namespace penstock::score {
namespace {

using core::Seconds;

constexpr Seconds kNever(std::numeric_limits<double>::infinity());

/// True if a stage's last pass is a backward pass whose end the stages before it wait for.
bool ends_backward(const plan::Plan& plan) {
  return whole_backwards(plan) || plan.schedule == "interleaved_1f1b";
}

/// Seconds of a stage's passes of one micro-batch.
struct StagePasses {
  std::vector<Seconds> all;  ///< [replica] forward, backward and recomputation
  Seconds forward = kNever;  ///< forward pass of the fastest replica
  Seconds backward = kNever;
};

StagePasses passes(const cost::Problem& problem, const plan::Stage& stage) {
  StagePasses out;
  const std::int64_t replicas = stage.replicas();
  std::vector<std::int64_t> samples;
  for (std::int64_t r = 0; r < replicas; ++r)
    samples.push_back(std::max<std::int64_t>(1, stage.share_start(r + 1) - stage.share_start(r)));
  const auto times = cost::replica_times(problem, stage, {stage.operators}, samples);
  for (const auto& replica : *times) {
    const cost::OpTime time = replica.front().total();
    out.all.push_back(time.total());
    out.forward = std::min(out.forward, time.forward);
    out.backward = std::min(out.backward, time.backward());
  }
  return out;
}

/// Minimum over replicas of the all-reduce time that the last backward pass does not hide.
Seconds exposed(const cost::Problem& problem, const plan::Stage& stage,
                const std::vector<core::OpId>& reduced) {
  cost::StageKey key("exposed", problem, stage);
  key.add(reduced);
  return *cost::StageMemo::recall(problem, key,
                                  [&] { return ExposedReduction(problem, stage, reduced).least(); });
}

/// The passes of one device over an iteration.
struct DevicePasses {
  Seconds head = kNever;  ///< time before the first pass
  Seconds work;
  Seconds tail = kNever;    ///< time after the last pass
  std::int64_t passes = 0;  ///< maximum number of passes, including those before and after
};

}  // namespace

core::Seconds least_iteration(const cost::Problem& problem, const plan::Plan& plan,
                              ReductionTiming reduction) {
  if (plan::asynchronous(plan)) return Seconds(0);
  const bool colocated = plan::has_colocated(plan);  // devices run all their passes, whatever these wait for
  const plan::StageGraph stages(problem.graph, plan);
  const auto shared = plan::shared_parameters(problem.graph, plan);
  std::vector<Seconds> head(plan.stages.size()), tail(plan.stages.size());
  std::vector<DevicePasses> devices(problem.cluster.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {  // stages come after those they wait for
    const plan::Stage& stage = plan.stages[s];
    const StagePasses mine = passes(problem, stage);
    const Seconds after = reduction == ReductionTiming::closed_form && !colocated
                              ? exposed(problem, stage, plan::unshared(stage.operators, shared))
                              : Seconds(0);
    tail[s] = ends_backward(plan) ? std::max(tail[s], after) : Seconds(0);
    const std::int64_t count = problem.training.mini_batch / stage.micro_batch;
    for (std::size_t d = 0; d < stage.devices.size(); ++d) {
      DevicePasses& device = devices[stage.devices[d].index()];
      device.head = std::min(device.head, head[s]);
      device.tail = std::min(device.tail, tail[s]);
      device.work +=
          mine.all[plan::Mesh(stage).coordinate(d, plan::MeshDim::data)] * static_cast<double>(count);
      device.passes += 4 * count + static_cast<std::int64_t>(stage.operators.size() + 4 * plan.stages.size());
    }
    for (const std::size_t e : stages.outgoing(core::StageId(s))) {
      if (colocated) break;
      const std::size_t next = stages.boundaries()[e].to.index();
      head[next] = std::max(head[next], head[s] + mine.forward);
      tail[next] = std::max(tail[next], tail[s] + mine.backward);
    }
  }
  constexpr Seconds kRounding(1e-12);  // the simulator counts whole picoseconds
  Seconds most(0);
  for (const DevicePasses& device : devices)
    if (device.passes > 0)
      most = std::max(
          most, device.head + device.work + device.tail - kRounding * static_cast<double>(device.passes));
  return most;
}

}  // namespace penstock::score
