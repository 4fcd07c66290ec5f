#pragma once
// Plans by seed, of every kind that is replayed.

#include "penstock/core/random.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/schedule/schedule.hpp"
#include "support/random_problem.hpp"

namespace penstock::replay::test {

struct ReplayCase {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::LaunchCosts costs;
  plan::Plan plan;
  schedule::Schedule order;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
};

/// Placement of a family's stages: one per rank, or two in a loop or a zigzag.
enum class StagePlacement { row, loop, zigzag };
struct PlacedFamily {
  const char* name;
  StagePlacement placement;
};
const std::vector<PlacedFamily>& families();

/// A chain with a few skips, one to three operators per stage, replicas of one to three devices by rank.
/// Links are from narrow to ample, with latency or without. Some stages recompute, some have no weights,
/// 1F1B's have micro-batches of several sizes.
ReplayCase random_case(const PlacedFamily& family, std::uint64_t seed);

/// A chain of one operator per stage on one device each, costs of a whole micro-batch. Forward and each half
/// of the backward pass take one second per sample, messages next to nothing.
ReplayCase even_chain(const char* schedule, StagePlacement placement, int ranks, std::int64_t mini_batch);

}  // namespace penstock::replay::test
