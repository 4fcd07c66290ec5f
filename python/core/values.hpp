#pragma once
// Values of Python objects; they keep alive what they refer to. None changes after it is made.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/experiment/plan_report.hpp"

namespace penstock::python {

struct Model {
  std::shared_ptr<const graph::OpGraph> graph;
  plan::ModelRef ref;              ///< the model's entry in a plan file
  std::vector<std::string> notes;  ///< what reading it left out, in words
  std::string precision{};         ///< that its file states; "": none
  bool tokens_stated = true;       ///< false: tokens of a sample are a default
  bool released = false;           ///< a language model by its released name, or from a config
  frameworks::NamedModel named() const { return {ref, precision, tokens_stated}; }
};

struct Cluster {
  std::shared_ptr<const cluster::Cluster> cluster;
  plan::ClusterRef ref;
};

/// A cost::Problem with all that it refers to.
struct Problem {
  Model model;
  Cluster cluster;  ///< as the costs have measured it
  std::shared_ptr<const cost::CostModel> costs;
  plan::Training training;
  std::optional<std::string> costs_path{};  ///< none: built-in efficiency curves
  cost::MemoryRule memory{};                ///< an experiment may count it otherwise
  experiment::StatedParts stated{};
  std::optional<experiment::ProblemAssumption> limit{};  ///< of the search whose result this belongs to

  cost::Problem problem() const { return {*model.graph, *cluster.cluster, *costs, training, memory}; }
  experiment::Assumptions assumptions() const {
    auto out = experiment::assumptions(problem(), model.ref, stated);
    if (limit) out.push_back(*limit);
    return out;
  }
  /// All of an experiment's cell but the planner.
  experiment::Cell cell() const { return {model.ref, cluster.ref, {}, training, {}}; }
};

/// One simulated iteration of a plan.
struct Simulation {
  Problem about;
  experiment::CellOutcome outcome;  ///< with a trace
  sim::SimulationOptions options;   ///< without a stop
  std::optional<experiment::ExplainedRun> explained;
  std::optional<experiment::AimResult> reached{};  ///< by the search, of another aim than time
  std::vector<experiment::WhatIfRow> what_if{};
  std::optional<std::vector<sim::RankTraffic>> traffic{};
  std::optional<core::Seconds> free_order{};  ///< iteration time in free order, of a simulation in order
};

struct Plan {
  Problem about;
  plan::Plan plan;
  std::string file;                        ///< names it in messages; "plan" of one that was searched
  std::shared_ptr<Simulation> simulation;  ///< that judged it; none of one that was read
};

}  // namespace penstock::python
