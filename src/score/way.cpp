#include "way.hpp"

#include <algorithm>
#include <optional>

namespace penstock::score {
namespace {

/// Producer with the largest value; nothing for a source.
std::optional<std::size_t> last_of_producers(const graph::OpGraph& graph, std::size_t op,
                                             std::span<const double> values) {
  std::optional<std::size_t> last;
  for (const graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(op)))
    if (const auto p = static_cast<std::size_t>(v); !last || values[p] > values[*last]) last = p;
  return last;
}

/// Adds `share` to `leads` of the operator where paths turn, and of all that it waits for.
void add_leading(const graph::OpGraph& graph, std::size_t turn, double share,
                 std::vector<PassCounts>& steps) {
  std::vector<char> leads(graph.size());
  leads[turn] = 1;
  for (std::size_t op = turn + 1; op-- > 0;) {
    if (!leads[op]) continue;
    steps[op].leads += share;
    for (const graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(op)))
      leads[static_cast<std::size_t>(v)] = 1;
  }
}

/// Counts steps along the longest path that turns at this operator.
void count_steps(const graph::OpGraph& graph, std::span<const PassTimes> passes, std::size_t turn,
                 SamplePath& way) {
  for (std::optional<std::size_t> op = turn; op; op = last_of_producers(graph, *op, way.down))
    ++way.steps[*op].forward;
  add_leading(graph, turn, 1, way.steps);
  way.end = turn;
  ++way.steps[turn].input_gradient;
  while (passes[way.end].weight_gradient < most_of_producers(graph, way.end, way.up)) {
    way.end = *last_of_producers(graph, way.end, way.up);
    ++way.steps[way.end].input_gradient;
  }
  way.steps[way.end].weight_gradient = 1;
}

}  // namespace

std::vector<PassCounts> mean_way(const graph::OpGraph& graph, std::span<const double> weight) {
  std::vector<PassCounts> out(graph.size());
  const auto share = [&](std::span<const graph::Vertex> among, double whole) {
    double sum = 0;
    for (const graph::Vertex v : among) sum += weight[static_cast<std::size_t>(v)];
    for (const graph::Vertex v : among) {
      const auto op = static_cast<std::size_t>(v);
      out[op].forward += sum > 0 ? whole * weight[op] / sum : whole / static_cast<double>(among.size());
    }
  };
  std::vector<graph::Vertex> sinks;
  for (std::size_t op = 0; op < graph.size(); ++op)
    if (graph.dag().successors(static_cast<graph::Vertex>(op)).empty())
      sinks.push_back(static_cast<graph::Vertex>(op));
  share(sinks, 1);
  for (const graph::Vertex v : sinks)
    add_leading(graph, static_cast<std::size_t>(v), out[static_cast<std::size_t>(v)].forward, out);
  for (std::size_t op = graph.size(); op-- > 0;) {
    share(graph.dag().predecessors(static_cast<graph::Vertex>(op)), out[op].forward);
    out[op].input_gradient = out[op].forward;
  }
  return out;
}

double most_of_producers(const graph::OpGraph& graph, std::size_t op, std::span<const double> values) {
  const auto last = last_of_producers(graph, op, values);
  return last ? values[*last] : 0;
}

SamplePath longest_way(const graph::OpGraph& graph, std::span<const PassTimes> passes) {
  SamplePath out{std::vector<double>(graph.size()), std::vector<double>(graph.size()),
                 std::vector<PassCounts>(graph.size())};
  std::size_t turn = 0;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    out.down[op] = most_of_producers(graph, op, out.down) + passes[op].forward;
    out.up[op] = passes[op].input_gradient +
                 std::max(passes[op].weight_gradient, most_of_producers(graph, op, out.up));
    if (out.down[op] + out.up[op] > out.down[turn] + out.up[turn]) turn = op;
  }
  out.length = out.down[turn] + out.up[turn];
  count_steps(graph, passes, turn, out);
  return out;
}

}  // namespace penstock::score
