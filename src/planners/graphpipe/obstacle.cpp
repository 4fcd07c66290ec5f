#include "graphpipe/obstacle.hpp"

#include <fmt/format.h>

#include "graphpipe/assemble.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;

std::string shortage(const std::string& who, Bytes needed, Bytes has) {
  core::require(needed > has, "what does not fit needs more than there is");
  return fmt::format("no plan fits in memory: {} needs {}, a device has {}: {} missing", who,
                     core::show(needed), core::show(has), core::show(needed - has));
}

/// Minimum bytes of any stage with these operators, whatever else it holds: one sample per device, and no
/// tensor from outside.
Bytes least_need(const cost::Problem& problem, const std::vector<core::OpId>& operators,
                 const StageChoices& choices) {
  auto load = cost::stage_load(problem, operators);
  load.inputs = load.outputs = Bytes(0);
  load.workspace = {};
  for (const core::OpId id : operators) {
    const cost::MemoryEnvelope least = cost::least_workspace(problem.graph, problem.costs, id);
    for (const cost::MemoryLine& line : least.lines()) load.workspace.raise(line);
  }
  return plan::total(cost::stage_memory(load, problem.memory, problem.training, 1, choices.k));
}

std::optional<std::string> lone_operator(const cost::Problem& problem, const UnitGraph& units,
                                         const StageChoices& choices, Bytes has) {
  for (const auto& unit : units.operators)
    if (const Bytes needed = least_need(problem, unit, choices); needed > has)
      return shortage(fmt::format("operator '{}'", problem.graph.op(unit.back()).name), needed, has);
  return std::nullopt;
}

class MemoryProbe {
 public:
  MemoryProbe(const cost::Problem& problem, const UnitGraph& units, const UnitArrangement& arrangement,
              const StageChoices& choices, bool in_row, core::StopToken stop)
      : problem_(problem),
        arrangement_(arrangement),
        in_row_(in_row),
        stop_(stop),
        table_(problem, units, arrangement, choices, stop) {}

  std::optional<plan::Plan> plan_within(Bytes memory) {
    table_.pretend_memory(memory);
    PartitionSearch partition(arrangement_, table_, std::numeric_limits<double>::infinity(),
                              LevelCounting::counted, stop_);
    const auto stages = partition.solve();
    if (!stages) return std::nullopt;
    return assemble(problem_, table_, *stages, in_row_);
  }
  Bytes has() const { return table_.smallest_memory(); }

 private:
  const cost::Problem& problem_;
  const UnitArrangement& arrangement_;
  bool in_row_;
  core::StopToken stop_;
  StageTable table_;
};

}  // namespace

std::optional<std::string> obstacle(const cost::Problem& problem, const UnitGraph& units,
                                    const UnitArrangement& arrangement, const StageChoices& choices,
                                    bool in_row, core::StopToken stop) {
  MemoryProbe budget(problem, units, arrangement, choices, in_row, stop);
  const Bytes has = budget.has();
  if (auto lone = lone_operator(problem, units, choices, has)) return lone;
  constexpr Bytes kUnlimited(std::int64_t{1} << 56);
  if (!budget.plan_within(kUnlimited)) return std::nullopt;
  Bytes low = has, high = has * 2;
  auto plan = budget.plan_within(high);
  while (!plan) {
    low = high;
    high = high * 2;
    plan = budget.plan_within(high);
  }
  while ((high - low).value() > has.value() / 1000 + 1) {
    const Bytes middle = low + (high - low) / 2;
    if (auto thriftier = budget.plan_within(middle)) {
      plan = std::move(thriftier);
      high = middle;
    } else {
      low = middle;
    }
  }
  std::size_t fullest = 0;
  const auto memories = score::stage_memories(problem, *plan);
  const auto need = [&](std::size_t s) { return plan::total(memories[s]); };
  for (std::size_t s = 1; s < plan->stages.size(); ++s)
    if (need(s) > need(fullest)) fullest = s;
  if (need(fullest) <= has) return std::nullopt;  // within the search's rounding
  const auto& operators = plan->stages[fullest].operators;
  return shortage(
      fmt::format("even in the thriftiest partition stage {} of {} ('{}' to '{}', {} samples in flight)",
                  fullest, plan->stages.size(), problem.graph.op(operators.front()).name,
                  problem.graph.op(operators.back()).name, plan->stages[fullest].in_flight),
      need(fullest), has);
}

}  // namespace penstock::planners
