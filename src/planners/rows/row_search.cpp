#include "rows/row_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "own_options.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;

std::vector<core::DeviceId> all_devices(const cluster::Cluster& cluster) {
  std::vector<core::DeviceId> out;
  for (std::size_t d = 0; d < cluster.size(); ++d) out.emplace_back(d);
  return out;
}

/// Smallest memory factor with which the planner finds a plan, to a thousandth.
double least_factor(const std::function<bool(double)>& found) {
  double low = 1, high = 2;
  while (!found(high)) low = high, high *= 2;
  while (high - low > low / 1000) {
    const double middle = (low + high) / 2;
    (found(middle) ? high : low) = middle;
  }
  return high;
}

std::int64_t most_samples(const std::vector<PipelineFlow>& flows) {
  std::int64_t most = 1;
  for (const PipelineFlow& flow : flows) most = std::max(most, flow.samples);
  return most;
}

/// Throws with the memory needed; the smallest size that can use all devices needs the least.
[[noreturn]] void explain(const cost::Problem& problem, const char* name, const PlanningLayers& layers,
                          const std::vector<PipelineFlow>& flows, const RowPlanner& planner) {
  constexpr double kUnlimited = 1 << 20;
  const Bytes has = least_memory(problem.cluster, all_devices(problem.cluster), 1);
  for (const PipelineFlow& flow : flows) {
    const auto found = [&](double memory) {
      std::uint64_t states = 0;
      return planner(layers, {.flow = flow, .memory = memory}, states).has_value();
    };
    if (!found(kUnlimited)) continue;
    const double factor = least_factor(found);
    const auto missing =
        Bytes(static_cast<std::int64_t>(static_cast<double>(has.value()) * (factor - 1)) + 1);
    throw core::Infeasible(
        fmt::format("no plan fits in memory: with micro-batches of {} samples {} needs devices of {:.2f} "
                    "times the memory: {} beside {}",
                    flow.samples, name, factor, core::show(missing), core::show(has)));
  }
  throw core::Infeasible(
      fmt::format("{}: no plan cuts {} layers into stages on exactly {} devices with micro-batches of up to "
                  "{} samples",
                  name, layers.size(), problem.cluster.size(), most_samples(flows)));
}

}  // namespace

plan::Plan plan_in_row(const cost::Problem& problem, const PlanningLayers& layers,
                       const std::vector<RowStage>& stages, std::int64_t micro_batch, const char* schedule) {
  plan::Plan plan;
  plan.training = problem.training;
  plan.schedule = schedule;
  for (const RowStage& stage : stages) {
    plan::Stage out{layers.operators(stage.begin, stage.end), stage.devices, micro_batch, 1, 0, {}};
    if (!plan.stages.empty()) out.after = {core::StageId(plan.stages.size() - 1)};
    plan.stages.push_back(std::move(out));
  }
  return plan;
}

SearchResult search_row(const cost::Problem& problem, const SearchOptions& options, const char* name,
                        int layers_at_most, const RowPlanner& planner, core::StopToken stop) {
  if (options.k != 1) throw core::BadInput(fmt::format("{}: k must be 1", name));
  if (options.per_stage_micro_batch)
    throw core::BadInput(fmt::format("{}: all stages have one micro-batch size", name));
  const OwnValues own(name, row_options(), options.own);
  const auto all = flows(problem, options, replica_counts(options, static_cast<int>(problem.cluster.size())),
                         free_flows(own.word(kChooseBy)));
  // Clustered at one size, independent of fixed sizes, so that all searches of a problem cut equal layers.
  const PlanningLayers layers(problem, layers_at_most, free_sizes(problem).back(), stop);
  std::vector<std::optional<RowPlan>> found(all.size());
  std::vector<std::uint64_t> states(all.size());
  double give_up = std::numeric_limits<double>::infinity();
  LeastSoFar fastest;
  bool complete = true;
  for (const auto& round : rounds(all)) {
    const core::Seconds to_beat = fastest.seconds();
    complete = until_limit(round.size(),
                           [&](std::size_t n) {
                             const std::size_t i = round[n];
                             stop.check();
                             if (hopeless(problem, options, all[i], to_beat)) return;
                             found[i] =
                                 planner(layers, {.flow = all[i], .give_up = give_up, .fastest = &fastest},
                                         states[i]);
                             if (found[i] && !found[i]->verdict.late)
                               fastest.lower(found[i]->verdict.iteration);
                           }) &&
               complete;
    // The planner's own formula may exceed simulation, so it bounds only an estimate.
    if (found.back() && !by_evaluation(options)) give_up = found.back()->verdict.iteration.value();
  }
  std::size_t best = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    complete = complete && !(found[i] && (found[i]->verdict.late || !found[i]->complete));
    if (found[i] && (best == all.size() || found[i]->verdict < found[best]->verdict)) best = i;
  }
  if (best == all.size() && !complete) stop.give_up();
  if (best == all.size() && std::isfinite(options.give_up.value())) nothing_within(name, options.give_up);
  if (best == all.size()) explain(problem, name, layers, all, planner);
  SearchResult out{std::move(found[best]->plan),
                   found[best]->bottleneck / static_cast<double>(all[best].samples)};
  out.estimate = found[best]->estimate;
  out.complete = complete;
  for (std::uint64_t n : states) out.states += n;
  return out;
}

const std::vector<PlannerOption>& row_options() {
  static const std::vector<PlannerOption> options = {choose_by_option()};
  return options;
}

}  // namespace penstock::planners
