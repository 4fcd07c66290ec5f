#pragma once
// All families of pipeline schedules, by name.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/schedule/pass_costs.hpp"
#include "penstock/schedule/schedule.hpp"
#include "penstock/schedule/weight_versions.hpp"

namespace penstock::schedule {

/// Size of a schedule, and its family's options.
struct ScheduleShape {
  int ranks = 1;          ///< p
  int chunks = 0;         ///< v, stages per rank; 0: the family's default
  int micro_batches = 1;  ///< m; of both directions together if there are two
  /// Interleaved families: micro-batches per round; kfkb: k; sliced_1f1b: number of micro-batches that are
  /// cut; chimera: pipelines per direction; pipedream_2bw: micro-batches per update. 0: the family's default.
  int group = 0;
  PassCosts costs{};  ///< used only by the heuristics
  std::optional<int>
      memory_limit{};  ///< maximum number of full-stage activations on a rank, for families with a limit
  /// For heuristics under a memory limit: what a full stage holds from its forward on; the part of it kept
  /// until the weight gradient is done. Both in the same unit.
  std::int64_t activation_bytes = 1, weight_gradient_bytes = 1;
};

struct ScheduleFamily {
  std::string name;
  std::string summary;      ///< one line
  std::string source;       ///< paper or program, and how our version differs
  std::string constraints;  ///< conditions on p, v, m
  std::string closed_form;  ///< bubble time for equal stages without delay; peak activations
  int chunks;               ///< default number of stages per rank
  Schedule (*make)(const ScheduleShape&);
  std::string weights = "flush";  ///< weights that its passes use, see weight_versions.hpp
  bool searched = false;          ///< a heuristic that uses costs: slower, so limited to smaller schedules
  bool grouped = false;           ///< true if the family uses ScheduleShape::group
};

/// All families, in the order of lists.
const std::vector<ScheduleFamily>& families();
/// Returns a family by name. Throws BadInput for an unknown name, with a hint.
const ScheduleFamily& family_named(std::string_view name);

/// Micro-batches per update without a flush: one. With two weight buffers: the group, by default as many as
/// ranks.
int micro_batches_per_update(const WeightPolicy& policy, const ScheduleShape& shape);

/// Limits of make_schedule; passes are ranks x chunks x micro-batches.
inline constexpr int kMostRanks = 4096, kMostChunks = 64, kMostMicroBatches = 100000;
inline constexpr std::int64_t kMostSchedulePasses = 20'000'000;
/// Limit of heuristics in passes x ranks, to which their time is proportional: about ten seconds.
inline constexpr std::int64_t kMostSearch = 200'000'000;

/// Returns the family's schedule, free of violations. Throws BadInput naming the condition that the shape
/// breaks, or if the family has no group.
Schedule make_schedule(std::string_view family, const ScheduleShape& shape);

}  // namespace penstock::schedule
