#include "penstock/experiment/runnable_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "penstock/core/quantity_text.hpp"
#include "penstock/frameworks/framework.hpp"

namespace penstock::experiment {
namespace {

/// Nothing for a framework with plans that the bound does not cover.
std::optional<score::UniformSpace> space_of(const frameworks::Abilities& can, const graph::OpGraph& graph) {
  const auto known = [](std::string_view schedule) {
    return schedule == "1f1b" || schedule == "interleaved_1f1b";
  };
  if (can.any_order || !std::ranges::all_of(can.schedules, known)) return {};
  const auto has = [](const auto& list, std::string_view name) { return std::ranges::count(list, name) > 0; };
  score::UniformSpace out;
  out.tensor = can.tensor_parallel;
  out.sequence = can.sequence_parallel;
  out.experts = can.expert_parallel && frameworks::has_experts(graph);
  out.interleaved = has(can.schedules, "interleaved_1f1b");
  out.interleaved_filled = can.always_filled || has(can.filled, "interleaved_1f1b");
  out.core = can.recompute_core;
  out.zero = can.zero.back();
  out.context = can.context;
  out.allows_tensor = [&can, &graph](std::int64_t degree) {
    return frameworks::degree_of_whole_heads(graph, can, degree) == degree;
  };
  return out;
}

std::string reason(const score::UniformBound& bound) {
  const std::string work =
      fmt::format("{} micro-batches of {} of work on {} rank{}", bound.micro_batches, show(bound.work),
                  bound.degrees.ranks, bound.degrees.ranks == 1 ? "" : "s");
  return bound.reason == score::UniformReason::memory ? work + ", in the memory there is" : work;
}

/// Effort of about a second on two cores.
constexpr std::size_t kShortEffort = 300'000;

}  // namespace

std::optional<RunnableBound> runnable_bound(const std::string& framework, const cost::Problem& problem,
                                            BoundEffort effort, const std::function<void()>& check) {
  if (effort == BoundEffort::none || framework.empty() || problem.cluster.types().size() != 1) return {};
  const auto row = plan::layer_row(problem.graph);
  if (!std::holds_alternative<plan::LayerRow>(row)) return {};
  const frameworks::Framework& named = frameworks::framework_named(framework);
  const auto space = space_of(named.can, problem.graph);
  if (!space) return {};
  if (effort == BoundEffort::short_wait && score::uniform_effort(problem, *space) > kShortEffort)
    return RunnableBound{.framework = named.title, .skipped = true};
  const auto bounds = score::uniform_bounds(problem, std::get<plan::LayerRow>(row), *space, check);
  RunnableBound out{.framework = named.title,
                    .degrees = bounds.tried,
                    .least_memory = bounds.least_memory,
                    .least_degrees = bounds.least_degrees};
  if (!bounds.fitting.empty()) out.best = bounds.fitting.front();
  return out;
}

std::string in_words(const RunnableBound& bound, double iteration_s) {
  if (bound.skipped)
    return fmt::format("Lower bound for plans that {} can run: left out, it takes a while (--bound)\n",
                       bound.framework);
  if (!bound.best) return "";
  const double least = bound.best->time.value();
  return fmt::format(
      "Lower bound for plans that {} can run: {} ({}: {}), of {} sets of degrees. Simulated: {:+.1f} %.\n",
      bound.framework, show(core::Seconds(least)), written(bound.best->degrees), reason(*bound.best),
      bound.degrees, (iteration_s / least - 1) * 100);
}

std::string no_fit_in_words(const RunnableBound& bound) {
  if (bound.skipped || bound.best || bound.degrees == 0) return "";
  return fmt::format(
      "no plan that {} can run fits: of {} sets of degrees, {} needs least, {} per device before anything is computed",
      bound.framework, bound.degrees, written(bound.least_degrees), show(bound.least_memory));
}

}  // namespace penstock::experiment
