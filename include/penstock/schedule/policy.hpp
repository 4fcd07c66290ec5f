#pragma once
// Custom schedules in a few lines: a function that picks the pass that a rank runs next.

#include <functional>
#include <optional>
#include <vector>

#include "penstock/schedule/pass_costs.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Choices of an idle rank.
struct RankChoice {
  int rank = 0;
  int live = 0;               ///< its forwards whose weight gradient is not done
  std::vector<Action> ready;  ///< passes whose input has arrived, in order of arrival; never empty
};

/// Returns the index of the pass to run now, or nothing to wait until something changes. Example, 1F1B: a
/// backward if there is one, and no more forwards than there are ranks from here on:
///     [p](const Choice& c) -> std::optional<std::size_t> {
///       for (std::size_t k = 0; k < c.ready.size(); ++k)
///         if (c.ready[k].kind == ActionKind::backward) return k;
///       return c.live < p - c.rank ? std::optional<std::size_t>(0) : std::nullopt;
///     }
using Policy = std::function<std::optional<std::size_t>(const RankChoice&)>;

struct PolicySetting {
  std::vector<std::int32_t> rank_of_stage;  ///< loop_placement, zigzag_placement, or any other placement
  int ranks = 1;
  int micro_batches = 1;
  bool split = false;  ///< I and W instead of B
  PassCosts costs{};   ///< determine when passes are ready
};

/// Runs the pipeline in time and calls the policy whenever a rank is idle and a pass is ready. Ranks are
/// called in order, so the schedule depends only on the arguments. Throws an invalid-plan error if every rank
/// waits for ever.
Schedule schedule_by_policy(const PolicySetting& setting, const Policy& policy);

}  // namespace penstock::schedule
