#include "row_search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/quantity_text.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;

std::vector<core::DeviceId> all_devices(const cluster::Cluster& cluster) {
  std::vector<core::DeviceId> out;
  for (std::size_t d = 0; d < cluster.size(); ++d) out.emplace_back(d);
  return out;
}

/// The least memory factor with which the planner finds a plan, to a thousandth.
double least_factor(const std::function<bool(double)>& found) {
  double low = 1, high = 2;
  while (!found(high)) low = high, high *= 2;
  while (high - low > low / 1000) {
    const double middle = (low + high) / 2;
    (found(middle) ? high : low) = middle;
  }
  return high;
}

/// The smallest size that can use all devices needs least.
[[noreturn]] void explain(const cost::Problem& problem, const char* name, const Layers& layers,
                          const std::vector<std::int64_t>& sizes, const RowPlanner& planner) {
  constexpr double kUnlimited = 1 << 20;
  const Bytes has = least_memory(problem.cluster, all_devices(problem.cluster), 1);
  for (std::int64_t size : sizes) {
    const auto found = [&](double memory) {
      std::uint64_t states = 0;
      return planner(layers, {.micro_batch = size, .memory = memory}, states).has_value();
    };
    if (!found(kUnlimited)) continue;
    const double factor = least_factor(found);
    const auto missing =
        Bytes(static_cast<std::int64_t>(static_cast<double>(has.value()) * (factor - 1)) + 1);
    throw core::Infeasible(
        fmt::format("no plan fits in memory: with micro-batches of {} samples {} needs devices of {:.2f} "
                    "times the memory: {} beside {}",
                    size, name, factor, core::show(missing), core::show(has)));
  }
  throw core::Infeasible(
      fmt::format("{}: no plan cuts {} layers into stages on exactly {} devices with micro-batches of up to "
                  "{} samples",
                  name, layers.size(), problem.cluster.size(), sizes.back()));
}

}  // namespace

plan::Plan plan_in_row(const cost::Problem& problem, const Layers& layers,
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
  const auto sizes = micro_batch_sizes(problem, options);
  const Layers layers(problem, layers_at_most, sizes.back());
  std::vector<std::optional<RowPlan>> found(sizes.size());
  std::vector<std::uint64_t> states(sizes.size());
  const std::size_t first =
      sizes.size() - 1;  // most efficient: what it attains lets the others give up early
  double give_up = std::numeric_limits<double>::infinity();
  const auto search = [&](std::size_t i) {
    stop.check();
    found[i] = planner(layers, {.micro_batch = sizes[i], .give_up = give_up}, states[i]);
  };
  bool complete = until_limit(1, [&](std::size_t) { search(first); });
  if (found[first]) give_up = found[first]->verdict.iteration.value();
  complete = until_limit(first, search) && complete;
  std::size_t best = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    complete = complete && !(found[i] && (found[i]->verdict.late || !found[i]->complete));
    if (found[i] && (best == sizes.size() || found[i]->verdict < found[best]->verdict)) best = i;
  }
  if (best == sizes.size() && !complete) stop.give_up();
  if (best == sizes.size()) explain(problem, name, layers, sizes, planner);
  SearchResult out{std::move(found[best]->plan), found[best]->bottleneck / static_cast<double>(sizes[best])};
  out.estimate = found[best]->estimate;
  out.complete = complete;
  for (std::uint64_t n : states) out.states += n;
  return out;
}

std::vector<int> row_degrees(const SearchOptions& options, int most) {
  std::vector<int> counts;
  for (int r = 1; r <= most; r = options.any_degree ? r + 1 : r * 2) counts.push_back(r);
  return counts;
}

}  // namespace penstock::planners
