#pragma once
// Every family of pipeline schedules, by name.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/schedule/pass_costs.hpp"
#include "penstock/schedule/schedule.hpp"
#include "penstock/schedule/weight_versions.hpp"

namespace penstock::schedule {

/// What a family is asked for.
struct ScheduleShape {
  int ranks = 1;          ///< p
  int chunks = 0;         ///< v, stages per rank; 0: what the family usually has
  int micro_batches = 1;  ///< m; of both directions together where there are two
  /// Interleaved families: micro-batches per round; kfkb: k; sliced_1f1b: micro-batches that are cut;
  /// chimera: pipelines per direction; pipedream_2bw: micro-batches per update. 0: what the family usually
  /// has.
  int group = 0;
  PassCosts costs{};  ///< only the heuristics look at them
  std::optional<int>
      memory_limit{};  ///< full-stage activations a rank may hold; for the families that take one
  /// Heuristics under a memory limit: what a full stage holds from its forward on, and the part of it that is
  /// kept until the weight gradient is done; in any unit.
  std::int64_t activation_bytes = 1, weight_gradient_bytes = 1;
};

struct Family {
  std::string name;
  std::string summary;      ///< one line
  std::string source;       ///< paper or program, and how ours differs
  std::string constraints;  ///< on p, v, m
  std::string closed_form;  ///< bubble time for equal stages without delay; peak activations
  int chunks;               ///< stages per rank when none are asked for
  Schedule (*make)(const ScheduleShape&);
  std::string weights = "flush";  ///< which weights its passes use, see weight_versions.hpp
  bool searched = false;          ///< a heuristic that looks at costs: slower, so smaller schedules
  bool grouped = false;           ///< ScheduleShape::group means something
};

/// Every family, in the order lists show them.
const std::vector<Family>& families();
/// Throws BadInput for an unknown name, with a hint.
const Family& family_named(std::string_view name);

/// How many micro-batches an update takes that does not wait for the flush: one, or with two buffers the
/// group, as many as ranks unless given.
int micro_batches_per_update(const WeightPolicy& policy, const ScheduleShape& shape);

/// What make_schedule takes at most; passes are ranks x chunks x micro-batches.
inline constexpr int kMostRanks = 4096, kMostChunks = 64, kMostMicroBatches = 100000;
inline constexpr std::int64_t kMostSchedulePasses = 20'000'000;
/// Searches take time in proportion to passes x ranks: some ten seconds at this many.
inline constexpr std::int64_t kMostSearch = 200'000'000;

/// The family's schedule, free of violations. Throws BadInput naming the constraint that the shape breaks, or
/// for a group that the family does not have.
Schedule make_schedule(std::string_view family, const ScheduleShape& shape);

}  // namespace penstock::schedule
