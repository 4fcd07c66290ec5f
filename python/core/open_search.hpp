#pragma once
// Inputs of searches that run, as values that a planner written in Python may keep.

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "penstock/cost/cost_model.hpp"
#include "penstock/graph/op_graph.hpp"

namespace penstock::python {

/// Owners of what a cost::Problem refers to, except for its cluster, which is copied.
struct SearchInputs {
  std::shared_ptr<const graph::OpGraph> graph;
  std::shared_ptr<const cost::CostModel> costs;
  std::optional<std::string> costs_path;
};

/// While it lives, inputs_of() has the inputs of one search, or of one experiment. For any thread.
class OpenSearch {
 public:
  /// Nothing for a graph of another search.
  using Inputs = std::function<std::optional<SearchInputs>(const graph::OpGraph&)>;
  explicit OpenSearch(Inputs inputs);
  ~OpenSearch();
  OpenSearch(const OpenSearch&) = delete;
  OpenSearch& operator=(const OpenSearch&) = delete;

 private:
  std::list<Inputs>::iterator place_;
};

/// Throws an internal error where no open search is about the graph.
SearchInputs inputs_of(const graph::OpGraph& graph);

}  // namespace penstock::python
