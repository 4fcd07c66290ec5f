#pragma once
// A row of the order as the instructions that each of its devices runs, and what one of them makes room for.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::replay {

/// Without what is idle, pairs taken apart. Throws BadInput for passes that are not replayed.
std::vector<schedule::RankOrder> plain_rows(const schedule::Schedule& order);

/// Nothing is updated where there are no weights, nor reduced where there are none but shared ones, or where
/// every device has its own (plan::reduces_gradients).
bool needless(const graph::OpGraph& graph, const plan::Plan& plan,
              const std::vector<plan::SharedParameters>& shared, const schedule::Action& action);

/// Where the sum of `shared` stands in a row: after the row's last REDUCE_GRAD and the last gradient of the
/// stages that share, not before `from`. Throws BadInput where one of these is updated before.
std::size_t place_of(const plan::SharedParameters& shared, const schedule::RankOrder& row, std::size_t from);

/// Where the passes of one stage stand in its row, by micro-batch as the row counts them.
struct Places {
  std::vector<std::int32_t> forward;
  std::vector<std::int32_t> backward;  ///< what makes gradients for the stages before
  std::vector<std::int32_t> gradient;  ///< what waits for the gradients of the stages behind
  std::vector<std::int32_t> release;   ///< after which nothing of the micro-batch is held
  /// The pass after which there is room for what its forward, or backward, receives; -1: from the beginning.
  /// One micro-batch may come ahead of the most that the row ever holds; of gradients one ahead of one in
  /// use.
  std::vector<std::int32_t> room_forward, room_backward;
};
Places places(const schedule::RankOrder& row, std::int32_t stage, bool late);

}  // namespace penstock::replay
