#pragma once
// PipeDream's profile format, graph.txt, as written by its profiler and read by its optimizer
// (msr-fiddle/pipedream, branch pipedream, July 2021).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// One layer, measured for a whole mini-batch of the profiled size, which the file does not state.
struct PipedreamNode {
  std::string id;
  std::string description;  ///< may hold commas and parentheses
  double forward_ms = 0;
  double backward_ms = 0;
  double activation_bytes = 0;  ///< of its output; the sum of a bracketed list
  double parameter_bytes = 0;   ///< fp32 weights
  bool source = true;           ///< no edge leads to it
  int line = 0;                 ///< 1-based, in the file
};

struct PipedreamGraph {
  /// A source whose description begins with "Input": no work, and PipeDream's optimizer leaves it out.
  bool is_input(std::size_t node) const;

  std::string file;
  std::vector<PipedreamNode> nodes;                        ///< in the order of the file
  std::vector<std::pair<std::size_t, std::size_t>> edges;  ///< from, to; in the order of the file
};

/// Lines of nodes and, after a tab, of edges:
///     node1 -- Input0 -- forward_compute_time=0.0, backward_compute_time=0.0,
///     activation_size=[602112.0; 4.0], parameter_size=0.0
///             node1 -- node2
/// A fourth field `stage_id=<n>` of partitioned graphs is checked and left out. Throws BadInput with file and
/// line for anything else, and for numbers that are negative, not finite or above 10^15 (10^10 for times).
/// Also throws for ids that appear twice, edges from or to nowhere, cycles, and files of more than 2^16
/// nodes, 2^20 edges or no node.
PipedreamGraph parse_pipedream_graph(const std::string& text, const std::string& filename);
PipedreamGraph load_pipedream_graph(const std::string& path);

/// The graph without layers that do nothing and only multiply the ways to cut it. Such a layer has no time,
/// no weights and no reader: it joins the one layer it reads. With one reader it joins that reader, if what
/// it reads is no larger than what it makes. Inputs stay. Activations of joined layers count no more.
PipedreamGraph without_idle(const PipedreamGraph& graph);

/// A model of operators of kind profiled, inputs of kind input, named by their ids; sizes per sample, rounded
/// up. `samples` is the batch size of the profile. An operator keeps its output for the backward pass, as
/// PipeDream counts. Throws BadInput with file and line for weights that are no whole number of 4-byte
/// numbers.
OpGraph to_op_graph(const PipedreamGraph& graph, const std::string& name, std::int64_t samples);

}  // namespace penstock::graph
