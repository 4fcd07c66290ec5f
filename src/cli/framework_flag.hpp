#pragma once
// --for: a search among the plans that a training framework can run.

#include <CLI/CLI.hpp>
#include <string>

#include "penstock/graph/op_graph.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::cli {

class FrameworkFlag {
 public:
  void add(CLI::App& command);
  /// Sets options of joint that leave out what the framework lacks, unless the user states them. `hybrid`: the
  /// search begins at a plan that shares state among some replicas. Throws BadInput for another planner. Does
  /// nothing without the flag.
  void limit(planners::PlannerChoice& planner, bool hybrid = false) const;
  /// Sets `options.runnable` for a model of this graph, which must outlive the search. Throws BadInput for a
  /// model that is no row of layers. Does nothing without the flag.
  void limit(planners::SearchOptions& options, const plan::ModelRef& model,
             const graph::OpGraph& graph) const;

  /// Attention of models that do not state theirs: "flash", or "" without the flag.
  std::string attention() const { return name_.empty() ? "" : "flash"; }

 private:
  std::string name_;
};

}  // namespace penstock::cli
