#include "penstock/plan/layer_row.hpp"

#include <fmt/format.h>

#include <map>

#include "penstock/plan/recomputation.hpp"

namespace penstock::plan {
namespace {

using core::OpId;

/// Position of the trailing number: splits "chain.layer12" into "chain.layer" and 12.
std::size_t digits_from(std::string_view name) {
  return name.find_last_not_of("0123456789") + 1;
}

/// Number of a layer, by its name; layers are numbered from 0 in the order in which they begin.
using Numbers = std::map<std::string, std::int32_t, std::less<>>;

std::string number_layers(const graph::OpGraph& graph, Numbers& numbers, std::string& stem) {
  std::string last;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const std::string layer(layer_of(graph.op(OpId(v)).name));
    if (layer.empty() || numbers.contains(layer)) continue;
    const std::size_t digits = digits_from(layer);
    if (numbers.empty()) stem = layer.substr(0, digits);
    const auto next = static_cast<std::int32_t>(numbers.size());
    if (layer != stem + std::to_string(next))
      return fmt::format("its layers are no single row, numbered from 0: {} comes {}", layer,
                         next == 0 ? "first" : "behind " + last);
    last = layer;
    numbers.emplace(layer, next);
  }
  return numbers.empty() ? "it has no layers" : "";
}

/// Part of an operator outside all layers: the head if it reads a layer, else part 0.
std::int32_t outside(const graph::OpGraph& graph, OpId id, const LayerRow& row) {
  for (const OpId operand : graph.operands(id))
    if (row.part_of[operand.index()] > 0) return row.head();
  return 0;
}

/// First edge that skips a part, in words; empty if each part reads only itself and the part before it.
std::string first_jump(const graph::OpGraph& graph, const LayerRow& row) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    for (const OpId operand : graph.operands(OpId(v))) {
      const std::int32_t from = row.part_of[operand.index()], to = row.part_of[v];
      if (from != to && from + 1 != to)
        return fmt::format("its layers are no single row: {} reads {}", graph.op(OpId(v)).name,
                           graph.op(operand).name);
    }
  return "";
}

}  // namespace

std::variant<LayerRow, std::string> layer_row(const graph::OpGraph& graph) {
  Numbers numbers;
  LayerRow row;
  if (std::string why = number_layers(graph, numbers, row.layer_name); !why.empty()) return why;
  row.layers = static_cast<std::int32_t>(numbers.size());
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto layer = numbers.find(layer_of(graph.op(OpId(v)).name));
    row.part_of.push_back(layer == numbers.end() ? outside(graph, OpId(v), row) : layer->second + 1);
  }
  if (std::string why = first_jump(graph, row); !why.empty()) return why;
  return row;
}

}  // namespace penstock::plan
