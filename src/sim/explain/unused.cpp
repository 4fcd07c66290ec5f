#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/pass_pieces.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/explain.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

using Lines = std::vector<std::string>;

bool reduces(const cost::Problem& problem, const plan::Stage& stage) {
  return plan::reduces_gradients(stage) && cost::stage_load(problem, stage.operators).parameters.value() > 0;
}

void add_collective(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
                    Lines& out) {
  if (std::any_of(plan.stages.begin(), plan.stages.end(), [&](const auto& s) { return reduces(problem, s); }))
    return;
  constexpr const char* kWhy = "is set, but no stage has replicas with gradients to reduce";
  const bool shared = !plan::asynchronous(plan) && !plan::shared_parameters(problem.graph, plan).empty();
  if (options.collective.travels() && !shared)
    out.push_back(fmt::format("collective {} {}", name(options.collective), kWhy));
  if (problem.training.bucket != plan::kUsualBucket && problem.training.bucket.value() > 0)
    out.push_back(fmt::format("bucket {} {}", core::show(problem.training.bucket), kWhy));
}

void add_pass_collectives(const plan::Plan& plan, const SimulationOptions& options, Lines& out) {
  if (options.pass_collectives == PassCollectives::links &&
      std::ranges::none_of(plan.stages, cost::PassPieces::may_wait))
    out.push_back("pass-collectives links is set, but passes of no stage wait for other devices");
}

void add_devices(const cost::Problem& problem, const plan::Plan& plan, Lines& out) {
  std::set<core::DeviceId> used;
  for (const plan::Stage& stage : plan.stages) used.insert(stage.devices.begin(), stage.devices.end());
  for (std::size_t d = 0; d < problem.cluster.size(); ++d)
    if (!used.contains(core::DeviceId(d)))
      out.push_back(fmt::format("device {} ({}) serves no stage", d, problem.cluster.points()[d]));
}

void add_in_flight(const schedule::ScheduledPlan& scheduled, Lines& out) {
  const auto held = schedule::most_held(scheduled.order);
  for (std::size_t s = 0; s < held.size(); ++s) {
    const plan::Stage& stage = scheduled.plan.stages[s];
    if (const std::int64_t samples = held[s] * stage.micro_batch; stage.in_flight > samples)
      out.push_back(
          fmt::format("stage {}: in_flight {} is more than the {} samples that the order ever holds", s,
                      stage.in_flight, samples));
  }
}

void add_routes(const cost::Problem& problem, const TaskGraph& graph, Lines& out) {
  const auto taken = [&](const auto& ends) {
    return std::any_of(graph.paths.begin(), graph.paths.end(), [&](const TransferPath& path) {
      return path.from.index() == ends.first && path.to.index() == ends.second;
    });
  };
  for (const auto& [ends, links] : problem.cluster.given_routes())
    if (!taken(ends))
      out.push_back(fmt::format("the route given from {} to {} is taken by nothing",
                                problem.cluster.points()[ends.first], problem.cluster.points()[ends.second]));
}

}  // namespace

Lines unused(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
             const SimulationOptions& options) {
  Lines out;
  add_collective(problem, scheduled.plan, options, out);
  add_pass_collectives(scheduled.plan, options, out);
  add_devices(problem, scheduled.plan, out);
  add_in_flight(scheduled, out);
  add_routes(problem, prepare(problem, scheduled, options).graph, out);
  return out;
}

}  // namespace penstock::sim
