#pragma once
// Waits of a schedule file: torch.distributed.pipelining (2.15) ends every SEND and REDUCE_GRAD by one.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Cells of a rank, each SEND and REDUCE_GRAD with its wait, in PyTorch's places. The wait of a REDUCE_GRAD
/// follows it directly. The wait of a SEND_F follows the stage's backward of the micro-batch, which proves that
/// the activation has arrived. All other waits are at the end, in the order of the sends. These are the rules
/// of _add_reduce_grad and _add_wait_send.
std::vector<std::string> cells_with_waits(const RankOrder& row);

/// Reads the waits of a rank. They take no time here, where a send holds nothing back, and are no actions.
class WaitReader {
 public:
  /// Call for every action, in order.
  void pass(const Action& action);
  /// Reads a cell. Returns "" for a wait of an action that has passed and has no wait yet. Returns the fault of
  /// any other wait, and nothing for a cell that is no wait.
  std::optional<std::string> read(std::string_view cell);

 private:
  std::multiset<std::string, std::less<>> open_;  ///< waits that may come
};

}  // namespace penstock::schedule
