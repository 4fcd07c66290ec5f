#pragma once
// Small random workloads for Piper's planner, and its problem solved slowly from only the paper's
// definitions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/graph/piper_graph.hpp"
#include "planners/piper/piper_search.hpp"

namespace penstock::support {

/// Two to five layers in a chain or a random DAG, with tensor-parallel degrees 1 and sometimes 2. One or two
/// configurations, 1 to 6 devices, memory from tight to ample. All costs are small whole numbers.
graph::PiperWorkload random_piper_workload(std::uint64_t seed);

/// Independently computed cost of a plan: seconds per micro-batch of the slowest stage. Faults as sentences,
/// empty if valid.
struct PiperVerdict {
  double time_per_micro_batch = 0;
  std::string fault;
};
PiperVerdict judge(const graph::PiperWorkload& workload, const std::vector<planners::PiperStage>& stages);

/// The least objective over all plans, all choices of configurations enumerated; none when no plan is valid.
std::optional<double> slow_piper(const graph::PiperWorkload& workload, bool flush, bool all_devices);

/// A row of the reference results.
struct PiperRow {
  std::string workload, planner;
  graph::PiperSetting setting;
  double time_per_micro_batch = 0;  ///< 1e30: infeasible
  double wall_s = 0;                ///< of the reference program
};
std::vector<PiperRow> piper_rows(const std::string& path);

}  // namespace penstock::support
