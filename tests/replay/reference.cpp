#include "reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "penstock/kernels/graph_run.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/kernels/wiring.hpp"
#include "replay/worker/draw.hpp"

namespace penstock::replay::test {

using core::OpId;
using kernels::GraphRun;

namespace {

double length(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

bool nobody_reads(const graph::OpGraph& graph, OpId id) {
  return graph.dag().successors(static_cast<graph::Vertex>(id.index())).empty();
}

/// Zeros in the shape of `like`, where there is nothing yet.
void shape(Weights& weights, const Weights& like) {
  for (const auto& [id, tensors] : like)
    if (weights[id].empty())
      for (const Values& values : tensors) weights[id].emplace_back(values.size());
}

struct ReferencePass {
  kernels::Backend& host;
  const graph::OpGraph& graph;
  const TrainingSetup& setup;
  std::vector<kernels::OperatorWiring> wires;
  std::unique_ptr<kernels::Stream> stream;

  void add(Weights& sums, const Weights& weights, SampleRange samples) {
    GraphRun run(host, graph, samples.count, setup.precision, 1);
    for (const auto& [id, tensors] : weights)
      for (std::size_t i = 0; i < tensors.size(); ++i) write_values(host, *run.parameters(id)[i], tensors[i]);
    for (std::size_t v = 0; v < graph.size(); ++v)
      if (graph.op(OpId(v)).kind == graph::OpKind::input)
        write_values(host, run.output(OpId(v)), input_values(setup, OpId(v), wires[v], samples).values());
    run.zero_tables(*stream);
    run.forward(*stream);
    for (std::size_t v = 0; v < graph.size(); ++v)
      if (nobody_reads(graph, OpId(v))) start(run, OpId(v), samples);
    run.backward(*stream);
    for (auto& [id, tensors] : sums) collect(run, id, tensors);
  }

  void start(GraphRun& run, OpId id, SampleRange samples) {
    Values difference = read_values(host, run.output(id));
    const Values target = target_values(setup, id, wires[id.index()], samples).values();
    for (std::size_t i = 0; i < target.size(); ++i) difference[i] -= target[i];
    write_values(host, *run.output_gradient(id), difference);
  }

  void collect(const GraphRun& run, OpId id, std::vector<Values>& sums) {
    const auto found = run.parameter_gradients(id);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Values term = read_values(host, *found[i]);
      for (std::size_t k = 0; k < term.size(); ++k) sums[i][k] += term[k];
    }
  }
};

}  // namespace

Weights first_weights(const graph::OpGraph& graph, const TrainingSetup& setup) {
  Weights out;
  const auto wires = kernels::wire(graph, setup.precision);
  for (std::size_t v = 0; v < graph.size(); ++v)
    for (const kernels::ParameterSlot& parameter : wires[v].parameters)
      if (parameter.owner.op == OpId(v))
        out[OpId(v)].push_back(replay::first_weights(setup, parameter.owner, parameter.slot).values());
  return out;
}

Weights gradients(kernels::Backend& host, const graph::OpGraph& graph, const TrainingSetup& setup,
                  const Weights& weights, SampleRange samples, std::int64_t at_once) {
  Weights sums;
  shape(sums, weights);
  std::erase_if(sums, [&](const auto& of) { return graph.op(of.first).frozen_parameters > 0; });
  ReferencePass pass{host, graph, setup, kernels::wire(graph, setup.precision), host.make_stream()};
  for (std::int64_t first = samples.first; first < samples.end(); first += at_once)
    pass.add(sums, weights, {first, at_once});
  return sums;
}

void ReferenceOptimizer::step(Weights& weights, const Weights& gradients) {
  using Kind = kernels::UpdateRule::RuleKind;
  shape(moment_, weights);
  shape(variance_, weights);
  ++steps_;
  const bool adam = rule_.kind == Kind::adam;
  const double beta = adam ? rule_.beta1 : rule_.kind == Kind::momentum ? rule_.momentum : 0;
  const double first = 1 - std::pow(rule_.beta1, steps_), second = 1 - std::pow(rule_.beta2, steps_);
  for (auto& [id, tensors] : weights)
    for (std::size_t t = 0; gradients.contains(id) && t < tensors.size(); ++t)
      for (std::size_t i = 0; i < tensors[t].size(); ++i) {
        const double g = gradients.at(id)[t][i];
        double &m = moment_[id][t][i], &v = variance_[id][t][i];
        m = beta * m + (adam ? 1 - beta : 1) * g;
        v = rule_.beta2 * v + (1 - rule_.beta2) * g * g;
        tensors[t][i] -= rule_.rate * (adam ? m / first / (std::sqrt(v / second) + rule_.epsilon) : m);
      }
}

double length(const Weights& weights) {
  double sum = 0;
  for (const auto& [id, tensors] : weights)
    for (const Values& values : tensors) sum += length(values) * length(values);
  return std::sqrt(sum);
}

double distance(const Weights& found, const Weights& expected) {
  REQUIRE(found.size() == expected.size());
  double longest = 0, most = 0;
  for (const auto& [id, tensors] : expected)
    for (const Values& values : tensors) longest = std::max(longest, length(values));
  for (const auto& [id, tensors] : expected) {
    REQUIRE(found.at(id).size() == tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      Values difference = found.at(id)[t];
      for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= tensors[t][i];
      const double relative = length(difference) / std::max(length(tensors[t]), 1e-3 * longest);
      if (!(relative <= most)) most = relative;  // NaN too
    }
  }
  return most;
}

}  // namespace penstock::replay::test
