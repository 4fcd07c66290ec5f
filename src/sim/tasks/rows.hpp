#pragma once
// A plan's order, cut into the tasks that devices run.

#include <vector>

#include "penstock/cost/buckets.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::sim {

/// One task of a row, the same on every replica.
struct RowTask {
  schedule::ActionKind kind = schedule::ActionKind::forward;
  std::int32_t stage = -1;
  std::int32_t micro_batch = -1;
  std::int32_t bucket = -1;  ///< part of a last backward pass that fills this bucket; -1: a whole pass
  bool joined = false;       ///< runs as one with the task before it
};

/// All-reduces that start once `after` (a position in the row) has run.
struct Reduction {
  std::int32_t stage = -1;
  std::int32_t after = -1;
  std::int32_t bucket = 0;
  std::int32_t step = -1;    ///< position of the STEP that needs the result; -1: none
  std::int32_t shared = -1;  ///< of the sum among stages of so many shared parameters before it; else -1
};

struct RankRow {
  std::vector<RowTask> tasks;
  std::vector<Reduction> reductions;
  std::vector<std::int32_t> barriers;  ///< positions of the tasks that wait at one; the row's size at its end
};

/// One per row of the order. The last backward pass of a mini-batch is cut at its buckets.
std::vector<RankRow> rank_rows(const schedule::Schedule& order,
                               const std::vector<std::vector<cost::Bucket>>& buckets_of_stage);

}  // namespace penstock::sim
