#pragma once
// A model cut into stages in the order of its operators.

#include <map>
#include <string>

#include "penstock/cost/problem.hpp"
#include "support/random_problem.hpp"

namespace penstock::replay::test {

struct CutModel {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::LaunchCosts costs;
  plan::Plan plan;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
};

struct CutSetting {
  std::string schedule = "1f1b";
  std::vector<std::int32_t> rank = {0, 1, 2};  ///< [stage]
  std::int64_t mini_batch = 4, micro_batch = 2;
  std::size_t replicas = 1;
  int tensor_parallel = 1;          ///< devices of each replica
  plan::Recomputation recompute{};  ///< every stage
  bool sequential = false;          ///< stages in a row, though the model has branches
  plan::Optimizer optimizer = plan::Optimizer::momentum;
  int context_parallel = 1;  ///< tensor-parallel groups of each replica
  plan::ContextExchange exchange = plan::ContextExchange::all_gather;
  int expert_parallel = 1;
};

/// Stages of as many operators each, or one less; stage s on the replicas of rank[s]. Every pass of an
/// operator takes 1 ms and 0.1 ms per sample.
CutModel cut_model(graph::OpGraph graph, const CutSetting& cut);

/// Parameters of the zoo's families at a size that trains in milliseconds; those of one size are left out.
const std::map<std::string, std::map<std::string, std::string>>& small_zoo();

}  // namespace penstock::replay::test
