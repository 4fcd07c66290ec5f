#pragma once
// The order in which each stage runs the passes of its micro-batches.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::schedule {

enum class Phase : std::uint8_t { forward, backward };

struct Task {
  Phase phase = Phase::forward;
  std::int32_t micro_batch = 0;
  friend bool operator==(const Task&, const Task&) = default;
};

/// All replicas of a stage follow the same order; indexed by StageId.
using TaskOrder = std::vector<std::vector<Task>>;

/// The order the plan's schedule prescribes. Every stage needs its in-flight count (see in_flight.hpp).
///  fill_drain: all forwards, then all backwards (GPipe, Huang et al., NeurIPS 2019).
///  1f1b: as many forwards as may be in flight, then k backwards and k forwards in turn (PipeDream-Flush,
///        Narayanan et al., ICML 2021; on a DAG of stages and with k > 1: GraphPipe, section 6).
TaskOrder task_order(const plan::Plan& plan);

/// Token form, one cell per task: "F0 F1 B0 F2 B1 B2".
std::string tokens(const std::vector<Task>& order);

/// Condition C4 of GraphPipe (section 3): forwards in order, backwards in order, each after its forward, all
/// there; and never more than the in-flight count. Faults in words, empty when there is none.
std::vector<std::string> order_faults(const plan::Plan& plan, const TaskOrder& order);

}  // namespace penstock::schedule
