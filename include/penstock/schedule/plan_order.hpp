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

/// Returns a family's schedule: make_schedule, or a cache of it.
using ScheduleSource =
    std::function<std::shared_ptr<const Schedule>(const std::string& family, const ScheduleShape& shape)>;

/// Returns the order that the plan's schedule prescribes: one row per device set (plan::rank_of_stage), which
/// all its replicas follow. A stage that recomputes has an R before each backward pass. After its last
/// backward pass of a mini-batch, a stage has a REDUCE_GRAD if it has replicas, and a STEP. Precondition:
/// every stage has its in-flight count (see in_flight.hpp).
///  gpipe: all forwards, then all backwards (Huang et al., NeurIPS 2019).
///  1f1b: as many forwards as may be in flight, then k backwards and k forwards in turn (PipeDream-Flush,
///        Narayanan et al., ICML 2021; on a DAG of stages and with k > 1: GraphPipe, ASPLOS 2025, section 6).
///  pipedream, pipedream_vsync, pipedream_2bw, pipemare, xpipe: 1f1b over several mini-batches without a
///        flush. Micro-batches are numbered through. A row counts those of one replica: its n-th is
///        micro-batch n * replicas + replica. An update whose gradients must be reduced comes before the
///        first pass of the mini-batch after the next, so that the reduction overlaps with one mini-batch,
///        as in 2BW (Narayanan et al., ICML 2021, section 3.1).
///  any other family of families(): its schedule, for stages with one micro-batch size on as many device
///        sets as the family has ranks. The stages need not be a chain of the model: an order for a chain
///        suits every DAG whose stages are listed producers first. Heuristics use `costs`.
/// a file (*.csv): the user's own schedule; explicit messages in it are dropped, the simulator adds them.
/// Colocated stages (plan/colocated.hpp) are added around that order. Each rank runs all forward passes of
/// its parts before it, and all their backward passes after it, as in Megatron-LM's colocated MIMO. Throws
/// BadInput naming what the family does not support. A plan cannot express activations moved to another rank,
/// recomputation that it does not state, or recomputation of layers with split backward passes.
Schedule plan_order(const plan::Plan& plan, const PassCosts& costs = {}, const ScheduleSource& source = {});

/// Throws BadInput naming two stages that share devices, for orders with one stage per device.
void demand_own_devices(const plan::Plan& plan);

/// Adds REDUCE_GRAD, STEP and, for stages that recompute, R to rows of computations made elsewhere. Drops
/// messages, UNSHARD and RESHARD.
Schedule with_updates(const plan::Plan& plan, Schedule computations);

/// True if the schedule orders every stage by its in-flight count (gpipe, 1f1b, schedules without a flush):
/// any stage graph, one stage per device set.
bool per_stage(const plan::Plan& plan);

/// True if the plan's schedule is a heuristic that uses costs.
bool by_cost(const plan::Plan& plan);

/// Mini-batches that plan_order covers: 1 with a flush, else enough to show a steady state.
std::int64_t mini_batches(const plan::Plan& plan);

/// Mini-batches between which the iteration time is measured: from the end of the backward passes of the first
/// `begin` to that of the first `end`. With a flush, all of the one mini-batch. Without one, the pipeline
/// neither fills nor drains there.
struct SteadyPart {
  std::int64_t begin = 0, end = 0;
};
SteadyPart steady_part(const plan::Plan& plan);

/// Checks condition C4 of GraphPipe (section 3), for several stages per device. Every stage runs every
/// micro-batch once forward, then backward, and never holds more than its in-flight count. Returns violations
/// in words; empty if there are none.
std::vector<std::string> order_violations(const plan::Plan& plan, const Schedule& order);

/// [stage] maximum number of micro-batches held at once, from the start of their forward to the end of their
/// backward pass or weight gradient.
std::vector<std::int32_t> most_held(const Schedule& order);
/// [stage] maximum number of recomputed micro-batches held at once, from their R on.
std::vector<std::int32_t> most_recomputed(const Schedule& order);
/// [stage] maximum number of micro-batches between the halves of their split backward pass; 0 if none is
/// split.
std::vector<std::int32_t> most_deferred(const Schedule& order);

/// Weight policy of the plan's schedule; with a flush, updates follow all micro-batches.
const WeightPolicy& weight_policy(const plan::Plan& plan);

/// [stage] maximum number of weight-sized buffers beside the weights and their gradients. They are: older
/// versions that later passes use; gradients of the next mini-batch while the last one's are reduced over
/// replicas; and the buffers of the weight policy. An update puts a new version, tensor by tensor, into the
/// memory of the gradients. Zero with a flush. Throws BadInput like weights_used.
std::vector<int> weight_copies(const plan::Plan& plan);

}  // namespace penstock::schedule
