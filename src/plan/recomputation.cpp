#include "penstock/plan/recomputation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "penstock/core/error.hpp"
#include "penstock/graph/attention_core.hpp"

namespace penstock::plan {
namespace {

using core::OpId;
using SegmentScope = Recomputation::SegmentScope;
using Segments = std::vector<std::vector<OpId>>;

bool ends_in_number(std::string_view part) {
  return !part.empty() && part.back() >= '0' && part.back() <= '9';
}

/// Parses "4 layers" or "1 layer".
std::int64_t first_layers(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  const bool read = fault == std::errc() && (rest == " layers" || rest == " layer");
  return read && count >= 1 && count <= kMostRecomputedLayers ? count : 0;
}

/// Groups operators by layer. An operator that is the only one of its layer belongs to the enclosing layer:
/// "block0.conv1.relu" to "block0".
Segments named(const graph::OpGraph& graph, std::span<const OpId> operators) {
  std::map<std::string_view, std::vector<OpId>, std::greater<>>
      by_name;  // inner layers before enclosing ones
  for (const OpId id : operators)
    if (const auto layer = layer_of(graph.op(id).name); !layer.empty()) by_name[layer].push_back(id);
  Segments out;
  for (auto& [name, members] : by_name) {
    std::sort(members.begin(), members.end());
    if (members.size() > 1)
      out.push_back(std::move(members));
    else if (const auto around = layer_of(name); !around.empty())
      by_name[around].push_back(members.front());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Merges interleaved and nested layers, so that segments follow each other.
Segments layers(const graph::OpGraph& graph, std::span<const OpId> operators) {
  Segments out;
  for (auto& members : named(graph, operators)) {
    if (out.empty() || out.back().back() < members.front()) {
      out.push_back(std::move(members));
      continue;
    }
    std::vector<OpId>& one = out.back();
    one.insert(one.end(), members.begin(), members.end());
    std::sort(one.begin(), one.end());
  }
  return out;
}

}  // namespace

std::string written(const Recomputation& recomputation) {
  if (!recomputation) return "none";
  if (recomputation.of == SegmentScope::stage) return recomputation.early ? "early" : "stage";
  if (recomputation.of == SegmentScope::core) return "selective";
  if (recomputation.first == 0) return "layers";
  return fmt::format("{} layer{}", recomputation.first, recomputation.first == 1 ? "" : "s");
}

Recomputation recomputation(std::string_view text) {
  if (text == "none" || text == "false") return {};
  if (text == "stage" || text == "true" || text == "late") return kRecomputeStage;
  if (text == "early") return kRecomputeEarly;
  if (text == "layers") return kRecomputeLayers;
  if (text == "selective") return kRecomputeCore;
  if (const std::int64_t first = first_layers(text); first > 0) return {SegmentScope::layers, false, first};
  throw core::BadInput(
      fmt::format("'{}' is no recomputation: none, stage, early, layers, a number of layers as in "
                  "'4 layers', or selective",
                  text));
}

std::string_view layer_of(std::string_view name) {
  for (std::size_t dot = name.rfind('.'); dot != name.npos && dot > 0; dot = name.rfind('.', dot - 1)) {
    const std::string_view leading = name.substr(0, dot);
    if (ends_in_number(leading)) return leading;
  }
  return "";
}

Segments segments(const graph::OpGraph& graph, std::span<const OpId> operators,
                  const Recomputation& recomputation) {
  if (!recomputation) return {};
  std::vector<OpId> ordered(operators.begin(), operators.end());
  std::sort(ordered.begin(), ordered.end());
  if (recomputation.of == SegmentScope::stage) return {std::move(ordered)};
  if (recomputation.of == SegmentScope::core) return graph::split_cores(graph, ordered);
  Segments out = layers(graph, ordered);
  const auto first = static_cast<std::size_t>(recomputation.first);
  if (first > 0 && first < out.size()) out.resize(first);
  return out;
}

std::vector<OpId> inner_cores(const graph::OpGraph& graph, std::span<const OpId> operators,
                              const Recomputation& recomputation) {
  std::vector<OpId> out;
  if (recomputation.of != SegmentScope::core) return out;
  for (const OpId id : operators)
    if (graph::has_core(graph.op(id))) out.push_back(id);
  std::sort(out.begin(), out.end());
  return out;
}

bool applies(const graph::OpGraph& graph, std::span<const OpId> operators,
             const Recomputation& recomputation) {
  return !segments(graph, operators, recomputation).empty() ||
         !inner_cores(graph, operators, recomputation).empty();
}

}  // namespace penstock::plan
