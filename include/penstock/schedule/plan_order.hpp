#pragma once
// The order in which the devices of a plan run their passes.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/plan/plan.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule.hpp"
#include "penstock/schedule/weight_versions.hpp"

namespace penstock::schedule {

/// Where a family's schedule comes from: make_schedule, or what remembers it.
using ScheduleSource =
    std::function<std::shared_ptr<const Schedule>(const std::string& family, const ScheduleShape& shape)>;

/// The order that the plan's schedule prescribes: one row per device set (plan::rank_of_stage), followed by
/// all its replicas. Before each backward pass of a stage that recomputes stands its R. After a stage's last
/// backward pass of a mini-batch stands its REDUCE_GRAD, where it has replicas, and its STEP. Every stage
/// needs its in-flight count (see in_flight.hpp).
///  gpipe: all forwards, then all backwards (Huang et al., NeurIPS 2019).
///  1f1b: as many forwards as may be in flight, then k backwards and k forwards in turn (PipeDream-Flush,
///  Narayanan et
///        al., ICML 2021; on a DAG of stages and with k > 1: GraphPipe, ASPLOS 2025, section 6).
///  pipedream, pipedream_vsync, pipedream_2bw, pipemare, xpipe: 1f1b over several mini-batches without a
///  flush. Micro-batch numbers run on;
///        those of a row are a replica's own: its n-th is micro-batch n * replicas + replica. An update whose
///        gradients must be reduced stands before the first pass of the mini-batch after the next, so that it
///        hides behind one mini-batch, as in 2BW (Narayanan et al., ICML 2021, section 3.1).
///  any other family of families(): its schedule, for stages with one micro-batch size on as many device
///  sets as the family
///        has ranks. The row of stages need not be a chain of the model: an order for a chain suits every DAG
///        whose stages are listed producers first. Heuristics look at `costs`.
///  a file (*.csv): the user's own schedule; explicit messages in it are left to the simulator.
/// Colocated stages (plan/colocated.hpp) are no part of that order: each rank runs all forward passes of its
/// parts before it, and all their backward passes behind it, as Megatron-LM's colocated MIMO does.
/// Throws BadInput naming what the family cannot do, or what of the file a plan has no place for: activations
/// parked elsewhere, recomputation of a stage whose plan has none, and that of layers where backward passes
/// are split.
Schedule plan_order(const plan::Plan& plan, const PassCosts& costs = {}, const ScheduleSource& source = {});

/// Throws BadInput naming two stages that share devices, for orders of one stage per device.
void demand_own_devices(const plan::Plan& plan);

/// Adds REDUCE_GRAD, STEP and, where stages recompute, R to rows of computations made elsewhere; drops
/// messages and what sharded weights need.
Schedule with_updates(const plan::Plan& plan, Schedule computations);

/// Whether the schedule orders every stage by its in-flight count alone (gpipe, 1f1b, those without a flush):
/// any stage graph, one stage per device set.
bool per_stage(const plan::Plan& plan);

/// Whether the plan's schedule is one of the heuristics.
bool by_cost(const plan::Plan& plan);

/// Mini-batches that plan_order covers: 1 with a flush, else enough for a steady state to show.
std::int64_t mini_batches(const plan::Plan& plan);

/// Condition C4 of GraphPipe (section 3), for several stages per device: every stage runs every micro-batch
/// once forward, then backward, and never holds more than its in-flight count. Violations in words, empty
/// when there is none.
std::vector<std::string> order_violations(const plan::Plan& plan, const Schedule& order);

/// The most micro-batches each stage holds at once, from the start of their forward to the end of their
/// backward pass or weight gradient.
std::vector<std::int32_t> most_held(const Schedule& order);
/// The most recomputed micro-batches each stage holds at once, from their R on.
std::vector<std::int32_t> most_recomputed(const Schedule& order);
/// The most micro-batches of each stage between the halves of their split backward pass: 0 where none is
/// split.
std::vector<std::int32_t> most_deferred(const Schedule& order);

/// Weight policy of the plan's schedule; one with a flush waits for all.
const WeightPolicy& weight_policy(const plan::Plan& plan);

/// Weight-sized buffers each stage holds at most beside its weights and their gradients: older versions,
/// while a pass to come uses them; gradients of the next mini-batch, while the sum of the last one's over
/// replicas is on its way (they hide behind each other: plan_order); and what the weight policy adds. An
/// update that makes a new version puts it, tensor by tensor, where gradients were. Zero with a flush. Throws
/// BadInput as weights_used does.
std::vector<int> weight_copies(const plan::Plan& plan);

}  // namespace penstock::schedule
