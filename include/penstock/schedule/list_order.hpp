#pragma once
// Orders for a pipeline whose links take time: by list scheduling, with a proven bound.

#include <string_view>

#include "penstock/schedule/pipeline.hpp"

namespace penstock::schedule {

/// How an order comes about. All keep micro-batches in order on every machine, and every stage within its
/// room.
enum class ListRule : std::uint8_t {
  /// In cycles: every machine runs at most one forward and one backward per cycle, each as soon as its inputs
  /// were there a cycle before; a stage that nothing follows runs both passes as one task. Backward first, so
  /// that a stage without room has it again. The list ordering ("PE") of SPP (Luo et al., INFOCOM 2022) as
  /// reconstructed from its abstract; DynaPipe's cyclic scheduler (Jiang et al., EuroSys 2024) is akin, but
  /// may fail under a memory limit; ours, for micro-batches all alike, cannot: see `list_order`.
  cyclic,
  /// In time: an idle machine runs a backward if one is ready, else a forward (if there is room).
  eager,
  /// As many forwards as stages from here to the farthest sink (fewer where room is less), then one backward
  /// and one forward in turn (PipeDream-Flush, Narayanan et al., ICML 2021); shared links by the eager rule.
  one_f_one_b,
};
inline constexpr ListRule kListRules[] = {ListRule::one_f_one_b, ListRule::cyclic, ListRule::eager};
std::string_view name(ListRule rule);

/// Throws BadInput for a pipeline with a violation, a limit error for one with too many tasks.
MachineOrder order_by(ListRule rule, const Pipeline& pipeline);

struct ListOrder {
  ListRule rule;  ///< the first of kListRules among equals: it holds least
  MachineOrder order;
  core::Picoseconds makespan;  ///< of executing it (`execute`)
};

/// The best of the rules: never worse than 1F1B, never above `list_order_bound`. No order deadlocks, however
/// little room there is: of all unfinished micro-batches let m be the first. Forwards run in order, so a
/// stage that has not begun m holds only earlier ones, which are finished: it has room. So the next task of m
/// can always start.
ListOrder list_order(const Pipeline& pipeline);

/// The cyclic order ends within (p (M - 1) + 4D - 3) W + max A, for D stages on the longest path, W the most
/// that any machine works per micro-batch (latency added), A the all-reduces. p = 1 without limits: SPP's
/// bound, (M + 4D - 4) W, with depth for the number of stages. With room K_s < M, p = max ceil(d_s / K_s),
/// d_s the cycles from F to B of a micro-batch that never waits, 4 (S - 1 - s) on a chain. Proof. One
/// micro-batch takes 4D - 3 cycles. Starting one every p cycles keeps every rule of the cyclic order: F_s of
/// micro-batch m falls p K_s >= d_s cycles after that of m - K_s, whose B is thus over. All rules are of the
/// form "not before", and the cyclic order is their earliest solution, so no task comes in a later cycle. A
/// cycle with its tasks done by each machine one after the other lasts at most W, and eager execution ends no
/// later.
core::Picoseconds list_order_bound(const Pipeline& pipeline);

}  // namespace penstock::schedule
