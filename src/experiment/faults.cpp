#include "penstock/experiment/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "changed_plan.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/score/order.hpp"
#include "without_bound.hpp"

namespace penstock::experiment {
namespace {

/// Replicas of the whole plan: groups of devices that each hold all stages.
std::int64_t replicas_of(const plan::Plan& plan) {
  std::int64_t out = 0;
  for (const plan::Stage& stage : plan.stages) out = std::gcd(out, stage.replicas());
  return out;
}

/// Most replicas that have a device on one node.
std::int64_t replicas_per_node(const plan::Plan& plan, const cluster::Cluster& cluster) {
  const std::int64_t replicas = replicas_of(plan);
  std::map<int, std::set<std::int64_t>> on_node;
  for (const plan::Stage& stage : plan.stages)
    for (std::size_t d = 0; d < stage.devices.size(); ++d) {
      const std::int64_t replica = static_cast<std::int64_t>(d) / stage.replica_size();
      on_node[cluster.node(stage.devices[d])].insert(replica * replicas / stage.replicas());
    }
  std::size_t most = 1;
  for (const auto& [node, touched] : on_node) most = std::max(most, touched.size());
  return static_cast<std::int64_t>(most);
}

/// Samples per second of the plan with so many replicas fewer. Throws core::Error if that plan is not possible.
double rate_without(const PlanInput& input, std::int64_t fewer, const sim::SimulationOptions& simulation) {
  plan::Plan plan = input.plan;
  const std::int64_t replicas = replicas_of(plan), devices = static_cast<std::int64_t>(input.cluster.size());
  const auto scaled = [&](std::int64_t value) {
    if (value * (replicas - fewer) % replicas != 0)
      throw core::BadInput(fmt::format("{} of {} replicas would leave no whole number of {}",
                                       replicas - fewer, replicas, value == devices ? "devices" : "samples"));
    return value * (replicas - fewer) / replicas;
  };
  const std::int64_t left = scaled(devices);
  plan.training.mini_batch = scaled(plan.training.mini_batch);
  plan.cluster.devices = static_cast<int>(left);
  scale_devices(plan, devices, left);
  const cluster::Cluster cluster = input.cluster.first(plan.cluster.devices);
  const cost::Problem problem{input.graph, cluster, *input.costs, plan.training};
  complete(problem, plan, fmt::format("the plan with {} replicas", replicas - fewer));
  const auto about = describe(problem, plan);
  return *evaluated_without_bound(problem, score::scheduled(problem, std::move(plan)), about, simulation)
              .row.samples_per_s;
}

/// Names the inputs that a policy needs and that are not stated; empty if there are none.
std::string missing(const FaultSetting& setting, jobs::FaultPolicy policy) {
  if (policy == jobs::FaultPolicy::restart) return "";
  std::string out;
  if (!setting.spares) out += "--spares";
  if (!setting.repair) out += std::string(out.empty() ? "" : ", ") + "--repair";
  return out.empty() ? "" : "needs " + out;
}

FaultRow fault_row(const PlanInput& input, const FaultReport& report, jobs::FaultPolicy policy,
                   const sim::SimulationOptions& simulation, core::StopToken stop) {
  const FaultSetting& setting = report.setting;
  FaultRow out{policy, {}, {}, missing(setting, policy)};
  if (!out.note.empty()) return out;
  const jobs::JobSetting job{.costs = setting.costs,
                             .interval = report.interval,
                             .policy = policy,
                             .spares = setting.spares.value_or(0),
                             .repair = setting.repair.value_or(core::Seconds(0)),
                             .replicas = static_cast<int>(report.replicas / report.lost),
                             .speed_without = [&](int groups) {
                               return rate_without(input, groups * report.lost, simulation) /
                                      report.samples_per_s;
                             }};
  if (policy != jobs::FaultPolicy::shrink) {
    out.closed_form = jobs::goodput(setting.costs, report.interval);
    if (policy == jobs::FaultPolicy::spare)
      *out.closed_form *= 1 - jobs::waiting_share(setting.costs.mtbf, job.spares, job.repair);
  }
  try {
    out.life = jobs::job_life(job, setting.failures, setting.seed, stop);
  } catch (const core::LimitHit&) {
    throw;
  } catch (const core::InterruptedError&) {
    throw;
  } catch (const core::Error& e) {
    out.note = e.what();
  }
  return out;
}

}  // namespace

FaultReport faults(const PlanInput& input, const FaultSetting& setting, double samples_per_s,
                   const sim::SimulationOptions& simulation, core::StopToken stop) {
  FaultReport out{.setting = setting,
                  .interval = setting.interval.value_or(jobs::daly_interval(setting.costs)),
                  .samples_per_s = samples_per_s,
                  .replicas = replicas_of(input.plan),
                  .lost = replicas_per_node(input.plan, input.cluster)};
  for (const jobs::FaultPolicy policy : setting.policies)
    out.rows.push_back(fault_row(input, out, policy, simulation, stop));
  return out;
}

}  // namespace penstock::experiment
