#pragma once
// Model files as we write them, read in one pass.

#include <optional>
#include <string>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

inline constexpr std::int64_t kMostCount =
    1'000'000'000'000'000;  ///< sums over thousands of operators stay exact
inline constexpr double kMostFlops = 1e30;
inline constexpr std::int64_t kNewestVersion = 2;

/// Content of a model file, before the graph is checked.
struct ModelDraft {
  std::int64_t version = 0;
  std::string name;
  int element_bytes = 0;
  std::vector<Operator> operators;               ///< without attributes
  std::vector<Shape> shapes;                     ///< [operator]
  std::vector<std::vector<std::string>> inputs;  ///< [operator] names
};

/// Nothing for text that is no JSON, and for any fault inside: then use the reader of YAML. That one tracks
/// lines and keys, takes all of JSON and reports what is wrong. It is some fifty times larger in memory and
/// slower.
std::optional<ModelDraft> read_model_json(const std::string& text);

}  // namespace penstock::graph
