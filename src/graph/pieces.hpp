#pragma once
// Taking an order apart: convex pieces, their components and series cuts. Inside the room only.

#include <vector>

#include "penstock/graph/dag.hpp"

namespace penstock::graph {

/// A convex part of a reduced graph, with its own numbering 0..size-1 that keeps the order of numbers.
struct GraphPiece {
  std::vector<Vertex> names;  ///< number in the whole graph, per own number; rising
  Dag dag;                    ///< without transitive edges
  std::vector<double> weights;
};

GraphPiece whole_piece(const Dag& reduced, std::vector<double> weights);

/// Splits by label 0..k-1 per own number; the parts of a series or parallel split are convex.
std::vector<GraphPiece> split(const GraphPiece& piece, const std::vector<int>& labels);

/// Weakly connected components, labelled in order of their smallest vertex.
std::vector<int> component_labels(const Dag& dag);

/// The series parts, labelled in order: all of one part precedes all of the next. All 0 where there is no
/// cut.
std::vector<int> series_labels(const Dag& reduced);

/// Heaviest path that ends in each vertex, and that begins there; its own weight included.
struct PathLengths {
  std::vector<double> to, from;
};
PathLengths path_lengths(const Dag& dag, const std::vector<double>& weights);

}  // namespace penstock::graph
