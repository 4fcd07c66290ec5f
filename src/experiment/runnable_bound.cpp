#include "penstock/experiment/runnable_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/frameworks/framework.hpp"

namespace penstock::experiment {
namespace {

bool passes_are_whole(const frameworks::Abilities& can) {
  return !can.any_order && std::ranges::all_of(can.schedules, [](std::string_view schedule) {
    return schedule == "1f1b" || schedule == "interleaved_1f1b";
  });
}

/// Reason why there is no bound; "": there is one.
std::string unbounded(const std::string& framework, const cost::Problem& problem) {
  if (framework.empty()) return "needs a framework (--for megatron, for example)";
  const frameworks::Framework& named = frameworks::framework_named(framework);
  if (!passes_are_whole(named.can))
    return fmt::format("there is no bound for plans of {}, which splits backward passes or reads orders",
                       named.title);
  if (problem.cluster.types().size() != 1) return "there is no such bound for several device types";
  const auto row = plan::layer_row(problem.graph);
  const auto* why = std::get_if<std::string>(&row);
  return why == nullptr ? "" : fmt::format("there is no such bound for this model: {}", *why);
}

score::UniformSpace space_of(const frameworks::Abilities& can, const graph::OpGraph& graph) {
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

void check_bounded(const std::string& option, const std::string& framework, const cost::Problem& problem) {
  if (const std::string why = unbounded(framework, problem); !why.empty())
    throw core::BadInput(fmt::format("{}: {}", option, why));
}

std::optional<RunnableBound> runnable_bound(const std::string& framework, const cost::Problem& problem,
                                            BoundEffort effort, const std::function<void()>& check) {
  if (effort == BoundEffort::none || !unbounded(framework, problem).empty()) return {};
  const auto row = std::get<plan::LayerRow>(plan::layer_row(problem.graph));
  const frameworks::Framework& named = frameworks::framework_named(framework);
  const score::UniformSpace space = space_of(named.can, problem.graph);
  if (effort == BoundEffort::short_wait && score::uniform_effort(problem, space) > kShortEffort)
    return RunnableBound{.framework = named.title, .skipped = true};
  const auto bounds = score::uniform_bounds(problem, row, space, check);
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
