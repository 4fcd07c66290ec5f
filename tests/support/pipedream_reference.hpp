#pragma once
// Files of PipeDream's authors, the answers of their optimizer, and an independent evaluator.

#include <map>
#include <string>
#include <vector>

#include "penstock/graph/pipedream_graph.hpp"
#include "planners/pipedream/pipedream_search.hpp"

namespace penstock::support {

/// Layers at the start of PipeDream's optimizer: without inputs, then without sinks that are `__getitem__`.
/// [layer]: its node's number.
struct PipedreamLayers {
  planners::LayerGraph graph;
  std::vector<std::size_t> nodes;
};
PipedreamLayers pipedream_layers(const graph::PipedreamGraph& profile);

/// Comma separated, quotes around fields with commas; the first line names the columns.
using CsvRow = std::map<std::string, std::string>;
std::vector<CsvRow> read_csv(const std::string& path);

/// Numbers with `separator` between them.
std::vector<double> numbers(const std::string& text, char separator = ' ');

/// Levels and rules of a row of optimizer_results.csv. `states` must outlive the rules.
std::vector<planners::PipedreamLevel> reference_levels(const CsvRow& row);
planners::PipedreamRules reference_rules(const CsvRow& row, const std::vector<planners::CutState>& states);

/// Seconds of the slowest stage of a plan, by the formulas of the paper or the code written down once more,
/// from the layers in each stage. Checks on the way that stages join, and that all machines are used (or not
/// more, where some may stay idle). Also checks that straight plans replicate nothing, and the limit of
/// stashed bytes (0: none). Throws std::runtime_error otherwise.
struct PlanRecost {
  const planners::LayerGraph& graph;
  const std::vector<planners::CutState>& states;
  const std::vector<planners::PipedreamLevel>& levels;
  const planners::PipedreamRules& rules;
  double stash_limit = 0;
  double operator()(const std::vector<planners::PipedreamStage>& stages) const;
  /// Seconds of the slowest stage of one level between two cuts.
  double at(const std::vector<planners::PipedreamStage>& stages, std::size_t level, std::size_t first,
            std::size_t last) const;
};

}  // namespace penstock::support
