#pragma once
// Plans by seed of every kind that is simulated: schedules x networks x collectives x buckets, and shards.

#include "penstock/sim/simulate.hpp"
#include "support/random_problem.hpp"

namespace penstock::support {

struct RandomPlan {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  LaunchCosts costs;
  plan::Plan plan;
  sim::SimulationOptions options{};
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
};

/// A chain with a few skips, one to three operators per stage, of the schedule that the seed chooses; links
/// from narrow to ample, with latency or without. Replicas of up to `most_group` devices; above one, stages
/// are sharded in every way and recompute, and messages are compressed.
RandomPlan random_plan(std::uint64_t seed, int most_group = 1);

}  // namespace penstock::support
