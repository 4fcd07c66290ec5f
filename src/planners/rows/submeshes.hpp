#pragma once
// Alpa's inter-operator dynamic programme on plain numbers.

#include <cstdint>
#include <optional>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// Costs of every run of layers on every submesh in every configuration (a way to run it inside the submesh).
struct SubmeshCosts {
  int layers = 0;
  int devices = 0;
  int micro_batches = 1;
  int configs = 1;
  std::vector<int> sizes;    ///< [submesh] devices, ascending
  std::vector<double> cost;  ///< [index] seconds per micro-batch; infinite: impossible
  /// [index] maximum number of following stages, by memory; empty: any number.
  std::vector<int> most_following;
  /// Index for layers [begin, last], as in Alpa's tables.
  std::size_t index(int begin, int last, std::size_t submesh, int config) const {
    return ((static_cast<std::size_t>(begin * layers + last)) * sizes.size() + submesh) *
               static_cast<std::size_t>(configs) +
           static_cast<std::size_t>(config);
  }
};

struct SubmeshStage {
  int begin = 0, end = 0;
  std::size_t submesh = 0;
  int config = 0;
  double cost = 0;
};

struct SubmeshPlan {
  std::vector<SubmeshStage> stages;  ///< front to back
  double sum = 0;                    ///< sum of stage costs
  double slowest = 0;
  double total = 0;          ///< sum + (B - 1) slowest
  std::uint64_t states = 0;  ///< cells computed
};

/// Minimises sum + (B - 1) slowest over all partitions whose submeshes use exactly all devices (Zheng et al.,
/// "Alpa", OSDI 2022, section 5.2, Eq. 2 to 4); nothing if there is none. The paper tries every stage cost as
/// a limit t on the slowest stage and skips those within 1e-6 of each other. Ours is exact. Let f(t) be the
/// minimum sum under the limit. Any plan whose slowest stage lies in (a, t] costs at least f(t) + (B - 1)
/// times the next cost above a. So intervals of t that cannot win are dropped whole and others are halved.
/// Following stages are counted, for memory, only after a plan breaks that limit.
std::optional<SubmeshPlan> least_sum_and_slowest(const SubmeshCosts& costs, core::StopToken stop);

}  // namespace penstock::planners
