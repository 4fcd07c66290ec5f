#pragma once
// List scheduling for a pipeline whose links take time, with a proven bound.

#include <string_view>

#include "penstock/schedule/pipeline.hpp"

namespace penstock::schedule {

/// Rule that determines an order. All rules keep micro-batches in order on every machine, and every stage
/// within its room.
enum class ListRule : std::uint8_t {
  /// In cycles: every machine runs at most one forward and one backward per cycle, each once its inputs
  /// arrived a cycle earlier. A stage without successors runs both passes as one task. Backward comes first,
  /// so that a full stage has room again. This is the list ordering ("PE") of SPP (Luo et al., INFOCOM 2022),
  /// reconstructed from its abstract. DynaPipe's cyclic scheduler (Jiang et al., EuroSys 2024) is similar but
  /// may fail under a memory limit. Ours, for equal micro-batches, cannot fail: see `list_order`.
  cyclic,
  /// In time: an idle machine runs a backward if one is ready, else a forward if there is room.
  eager,
  /// Warm-up with as many forwards as there are stages from here to the farthest sink (fewer if room is
  /// less), then one backward and one forward in turn (PipeDream-Flush, Narayanan et al., ICML 2021). Shared
  /// links follow the eager rule.
  one_f_one_b,
};
inline constexpr ListRule kListRules[] = {ListRule::one_f_one_b, ListRule::cyclic, ListRule::eager};
std::string_view name(ListRule rule);

/// Returns the order by a rule. Throws BadInput for a pipeline with a violation, a limit error for one with
/// too many tasks.
MachineOrder order_by(ListRule rule, const Pipeline& pipeline);

struct ListOrder {
  ListRule rule;  ///< the first of kListRules among equals, which holds the fewest micro-batches
  MachineOrder order;
  core::Picoseconds makespan;  ///< makespan of executing the order (`execute`)
};

/// Returns the best order of all rules: never worse than 1F1B, never above `list_order_bound`. No order
/// deadlocks, however little room there is. Proof: let m be the first unfinished micro-batch. Forwards run in
/// order, so a stage that has not begun m holds only earlier micro-batches, which are finished: it has room.
/// So the next task of m can always start.
ListOrder list_order(const Pipeline& pipeline);

/// Upper bound of the cyclic order: (p (M - 1) + 4D - 3) W + max A. D is the number of stages on the longest
/// path. W is the maximum time of a machine per micro-batch, latency added. A are the all-reduces. Without
/// room limits p = 1: SPP's bound (M + 4D - 4) W, with depth instead of the number of stages. With room K_s <
/// M, p = max ceil(d_s / K_s). Here d_s counts the cycles from F to B of a micro-batch that never waits, 4 (S
/// - 1
/// - s) on a chain.
/// Proof. One micro-batch takes 4D - 3 cycles. Starting one every p cycles satisfies every rule of the cyclic
/// order. F_s of micro-batch m is p K_s >= d_s cycles after that of m - K_s, whose B is thus done. All rules
/// have the form "not before", and the cyclic order is their earliest solution, so no task comes in a later
/// cycle. A cycle whose tasks each machine executes one after the other lasts at most W, and eager execution
/// ends no later.
core::Picoseconds list_order_bound(const Pipeline& pipeline);

}  // namespace penstock::schedule
