#pragma once
// A schedule of one's own in a few lines: a function that says which ready pass a rank runs next.

#include <functional>
#include <optional>
#include <vector>

#include "penstock/schedule/pass_costs.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// What an idle rank sees.
struct Choice {
  int rank = 0;
  int live = 0;               ///< its forwards whose weight gradient is not done
  std::vector<Action> ready;  ///< passes whose input is there, the longest waiting first; never empty
};

/// Index of the pass to run now, or nothing to wait until something changes. For example 1F1B, a backward
/// where there is one and no more forwards than there are ranks from here on:
///     [p](const Choice& c) -> std::optional<std::size_t> {
///       for (std::size_t k = 0; k < c.ready.size(); ++k)
///         if (c.ready[k].kind == ActionKind::backward) return k;
///       return c.live < p - c.rank ? std::optional<std::size_t>(0) : std::nullopt;
///     }
using Policy = std::function<std::optional<std::size_t>(const Choice&)>;

struct PolicySetting {
  std::vector<std::int32_t> rank_of_stage;  ///< loop_placement, zigzag_placement, or any other
  int ranks = 1;
  int micro_batches = 1;
  bool split = false;  ///< I and W instead of B
  PassCosts costs{};   ///< decide what is ready when
};

/// Runs the pipeline in time and asks the policy whenever a rank is idle and a pass is ready; ranks in order,
/// so that the schedule depends on nothing but the arguments. Throws an invalid-plan error when every rank
/// waits for ever.
Schedule schedule_by_policy(const PolicySetting& setting, const Policy& policy);

}  // namespace penstock::schedule
