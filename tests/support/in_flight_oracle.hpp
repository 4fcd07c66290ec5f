#pragma once
// How many samples each stage must hold, found by simulating every choice.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::support {

/// Stages of one operator and one device each; transfers take no time.
struct OraclePipeline {
  graph::OpGraph graph;
  std::vector<double> seconds;  ///< [stage] forward, per sample
  double backward = 1;          ///< times the forward time
  plan::Plan plan;              ///< without in-flight counts
};

/// `micro_batches` per stage, `seconds` as above; edges lead between stages.
OraclePipeline pipeline(const std::vector<std::pair<int, int>>& edges,
                        const std::vector<std::int64_t>& micro_batches, const std::vector<double>& seconds,
                        double backward, std::int64_t mini_batch);

using Held = std::vector<std::int64_t>;  ///< [stage] samples in flight

/// Simulated iteration, ps; the largest number when the order deadlocks.
std::int64_t iteration(const OraclePipeline& pipeline, const Held& held);
Held held_by_rule(const OraclePipeline& pipeline);

/// Iteration times of every in-flight vector: multiples of each stage's micro-batch up to the mini-batch.
struct InFlightTruth {
  std::int64_t shortest = 0;   ///< over all vectors
  std::int64_t unlimited = 0;  ///< with the whole mini-batch in flight everywhere
  std::int64_t ruled = 0;      ///< with the rule's counts
  Held rule;
  Held floor;                ///< component-wise least of all vectors that reach `shortest`
  bool floor_holds = false;  ///< `floor` itself reaches it
  bool rule_tight = false;   ///< no other vector below the rule's reaches it

  bool sufficient() const { return ruled == shortest; }
  bool exact() const { return floor_holds && rule == floor; }
};
InFlightTruth in_flight_truth(const OraclePipeline& pipeline);

}  // namespace penstock::support
