#include "penstock/experiment/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "changed_cluster.hpp"
#include "changed_plan.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/score/order.hpp"
#include "without_bound.hpp"

namespace penstock::experiment {
namespace {

/// Sorts changes: devices first, then hardware, then batches.
std::vector<WhatIfChange> in_order(std::vector<WhatIfChange> changes) {
  std::ranges::sort(changes, {}, &WhatIfChange::key);
  return changes;
}

/// The plan and its cluster after changes.
struct ChangedPlan {
  plan::Plan plan;
  cluster::Cluster cluster;
};

/// Throws BadInput if the mini-batch is not a multiple of a stage's micro-batch.
void check_batches(const plan::Plan& plan) {
  for (const plan::Stage& stage : plan.stages)
    if (plan.training.mini_batch % stage.micro_batch != 0)
      throw core::BadInput(fmt::format(
          "mini_batch {} must be a multiple of the micro-batch {} ({} for each of {} replicas): change "
          "micro_batch or mini_batch too",
          plan.training.mini_batch, stage.micro_batch, plan::samples_per_device(plan, stage),
          plan::asynchronous(plan) ? 1 : stage.sharing_replicas()));
}

ChangedPlan changed(const PlanInput& input, const std::vector<WhatIfChange>& changes) {
  plan::Plan plan = input.plan;
  const auto devices = static_cast<std::int64_t>(input.cluster.size());
  plan.cluster.devices = static_cast<int>(devices);
  for (const WhatIfChange& change : changes) {
    if (change.key == ChangedKey::devices) {
      const double to = change.factor ? static_cast<double>(devices) * change.value : change.value;
      if (to != static_cast<double>(static_cast<int>(to)) || to < 1)
        throw core::BadInput(fmt::format("{} leaves {:g} devices", change.text, to));
      plan.cluster.devices = static_cast<int>(to);
      scale_devices(plan, devices, plan.cluster.devices);
    }
    if (change.key == ChangedKey::micro_batch) change_micro_batch(plan, change);
    if (change.key == ChangedKey::mini_batch) change_mini_batch(plan, change);
  }
  check_batches(plan);
  const bool same = std::ranges::all_of(changes, [](const WhatIfChange& change) {
    return change.key == ChangedKey::micro_batch || change.key == ChangedKey::mini_batch;
  });
  if (same) return {std::move(plan), input.cluster};
  const cluster::Cluster stated = changed_cluster(plan.cluster, input.graph, *input.costs, changes);
  return {std::move(plan), cost::measured_by(*input.costs, stated)};
}

core::Bytes least_memory(const cluster::Cluster& cluster) {
  core::Bytes out = cluster.type(core::DeviceId(0)).memory;
  for (const cluster::Device& device : cluster.devices())
    out = std::min(out, cluster.types()[device.type].memory);
  return out;
}

/// Adds the result, or the reason why there is none.
void simulate(const PlanInput& input, const std::vector<WhatIfChange>& changes,
              const sim::SimulationOptions& simulation, WhatIfRow& row) {
  ChangedPlan now = changed(input, changes);
  const cost::Problem problem{input.graph, now.cluster, *input.costs, now.plan.training};
  complete(problem, now.plan, row.change, true);
  row.capacity = least_memory(now.cluster);
  const report::CellResult about = describe(problem, now.plan);
  const CellOutcome outcome =
      evaluated_without_bound(problem, score::scheduled(problem, std::move(now.plan)), about, simulation);
  row.result = outcome.row;
  if (!outcome.summary->out_of_memory.empty()) row.note = kDoesNotFit;
  for (const std::string& doubt : doubts(problem, outcome))
    row.note += (row.note.empty() ? "warning: " : "; warning: ") + doubt;
}

/// First violation of an invalid plan.
std::string first_line(const std::string& message) {
  const auto list = message.find("\n  ");
  if (list == message.npos) return message;
  const auto first = list + 3;
  return "not valid: " + message.substr(first, message.find('\n', first) - first);
}

WhatIfRow answered(const PlanInput& input, std::string name, const std::vector<WhatIfChange>& changes,
                   const sim::SimulationOptions& simulation) {
  WhatIfRow row{std::move(name)};
  try {
    simulate(input, in_order(changes), simulation, row);
  } catch (const core::InterruptedError&) {
    throw;
  } catch (const core::LimitHit&) {
    throw;
  } catch (const core::Error& e) {
    row.note = first_line(e.what());
  }
  return row;
}

/// Notes a change without effect: measured costs ignore data sheets, and some links are never waited for.
void note_no_effect(const WhatIfChange& change, const WhatIfRow& today, WhatIfRow& row) {
  if (!today.result || !row.result || row.result->iteration_s != today.result->iteration_s) return;
  if (change.key == ChangedKey::flops || change.key == ChangedKey::memory_bandwidth)
    row.note = fmt::format("no effect on these costs ({}); speed=2x changes all kernels", row.result->costs);
  if (change.key == ChangedKey::network || change.key == ChangedKey::node_links)
    row.note = "no effect: the plan waits for nothing on these links";
}

/// Notes that measured times of collectives do not follow the links of a node.
void note_measured(const PlanInput& input, const WhatIfChange& change, const WhatIfRow& today,
                   WhatIfRow& row) {
  row.partial = change.key == ChangedKey::node_links && input.cluster.collectives() != nullptr;
  if (!row.partial || !today.result || !row.result) return;
  const bool same = row.result->iteration_s == today.result->iteration_s;
  if (same) row.note.clear();  // another reason for no effect
  row.note += fmt::format(
      "{}{}: these costs have measured times of collectives within a node (--costs data_sheet has none)",
      row.note.empty() ? "" : "; ", same ? "no effect" : "partial effect");
}

/// Notes the bandwidth per device before and after a change of links. Cluster files state links of nodes.
void note_links(const PlanInput& input, const WhatIfChange& change, WhatIfRow& row) {
  const bool within = change.key == ChangedKey::node_links;
  if (!row.result || (!within && change.key != ChangedKey::network)) return;
  const double now = device_bandwidth(input.plan.cluster, *input.costs, within),
               then = change.factor ? now * change.value : change.value;
  const bool same = std::abs(then - now) <= 1e-9 * now;
  if (same && row.note.starts_with("no effect")) row.note.clear();
  const std::string before = row.note.empty() ? "" : "; ";
  row.note +=
      same ? fmt::format("{}already {:.4g} GB/s per device", before, now * 1e-9)
           : fmt::format("{}{:.4g} instead of {:.4g} GB/s per device", before, then * 1e-9, now * 1e-9);
}

}  // namespace

std::vector<WhatIfRow> what_if(const PlanInput& input, const std::vector<WhatIfChange>& changes,
                               const sim::SimulationOptions& simulation) {
  std::vector<WhatIfRow> out = {answered(input, "today", {}, simulation)};
  for (const WhatIfChange& change : changes) {
    out.push_back(answered(input, change.text, {change}, simulation));
    note_no_effect(change, out.front(), out.back());
    note_measured(input, change, out.front(), out.back());
    note_links(input, change, out.back());
  }
  if (changes.size() > 1) out.push_back(answered(input, "all", changes, simulation));
  return out;
}

}  // namespace penstock::experiment
