#include "pipedream/pipedream_cuts.hpp"

#include <algorithm>

namespace penstock::planners {
namespace {

double slowest_compute(const cost::Problem& problem, const std::vector<core::OpId>& unit,
                       std::int64_t samples) {
  double seconds = 0;
  for (const cluster::DeviceType& type : problem.cluster.types())
    seconds = std::max(seconds, cost::compute_time(problem, unit, type, samples).total().value());
  return seconds;
}

/// Adds a last layer that all sources read.
LayerGraph one_source(LayerGraph graph) {
  std::vector<bool> reads(graph.layers.size());
  for (const auto& readers : graph.next)
    for (std::size_t v : readers) reads[v] = true;
  graph.layers.emplace_back();
  auto& sources = graph.next.emplace_back();
  for (std::size_t v = 0; v < reads.size(); ++v)
    if (!reads[v]) sources.push_back(v);
  return graph;
}

/// Removes that layer, and the first cut, in which only it is done.
std::vector<CutState> without_source(std::vector<CutState> states) {
  states.erase(states.begin());
  for (CutState& state : states) {
    state.done.resize(state.done.size() - 1);
    state.frontier.resize(state.frontier.size() - 1);
    for (std::size_t& next : state.next) --next;
  }
  return states;
}

}  // namespace

ProblemCuts::ProblemCuts(const cost::Problem& problem, core::StopToken stop)
    : problem_(problem), units_(planning_units(problem.graph)) {
  const LayerGraph graph = layers(1);
  auto states = antichain_states(one_source(graph), kMostCuts + 1, stop);
  states_ = states ? without_source(std::move(*states)) : row_states(graph);
}

LayerGraph ProblemCuts::layers(std::int64_t samples) const {
  LayerGraph out;
  for (std::size_t u = 0; u < units_.operators.size(); ++u) {
    const auto& unit = units_.operators[u];
    core::Bytes weights;
    for (core::OpId op : unit) weights += problem_.graph.parameter_bytes(op);
    const core::Bytes output = problem_.graph.op(unit.back()).output_bytes * samples;
    const plan::Compression& compression = problem_.training.compression;
    out.layers.push_back({slowest_compute(problem_, unit, samples),
                          static_cast<double>(compression.activation_bytes(output).value()),
                          static_cast<double>(problem_.training.sent_gradients(weights).value())});
    const auto next = units_.dag.successors(static_cast<graph::Vertex>(u));
    out.next.emplace_back(next.begin(), next.end());
  }
  return out;
}

std::vector<CutState> ProblemCuts::weighed(std::int64_t samples) const {
  auto out = states_;
  weigh(layers(samples), out);
  return out;
}

std::vector<core::OpId> ProblemCuts::operators(std::size_t first, std::size_t last) const {
  const LayerSet set = first == 0 ? states_[last].done : states_[last].done - states_[first - 1].done;
  std::vector<core::OpId> out;
  for (std::size_t u = set.find_first(); u != LayerSet::npos; u = set.find_next(u))
    out.insert(out.end(), units_.operators[u].begin(), units_.operators[u].end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace penstock::planners
