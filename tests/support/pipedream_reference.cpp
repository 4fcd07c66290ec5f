#include "support/pipedream_reference.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace penstock::support {
namespace {

using planners::LayerGraph;
using planners::PipedreamForm;
using planners::PipedreamStage;

std::vector<bool> dropped(const graph::PipedreamGraph& profile) {
  std::vector<bool> out(profile.nodes.size()), read(out);
  for (std::size_t v = 0; v < out.size(); ++v) out[v] = profile.is_input(v);
  for (const auto& [from, to] : profile.edges)
    if (!out[from]) read[from] = true;
  for (std::size_t v = 0; v < out.size(); ++v)
    if (!read[v] && profile.nodes[v].description.starts_with("__getitem__")) out[v] = true;
  return out;
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  return out;
}

void demand(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

}  // namespace

PipedreamLayers pipedream_layers(const graph::PipedreamGraph& profile) {
  PipedreamLayers out;
  const std::vector<bool> skip = dropped(profile);
  std::vector<std::size_t> layer(skip.size());
  for (std::size_t v = 0; v < skip.size(); ++v) {
    if (skip[v]) continue;
    const auto& node = profile.nodes[v];
    layer[v] = out.nodes.size();
    out.nodes.push_back(v);
    out.graph.layers.push_back(
        {(node.forward_ms + node.backward_ms) / 1000, node.activation_bytes, node.parameter_bytes});
  }
  out.graph.next.resize(out.nodes.size());
  for (const auto& [from, to] : profile.edges)
    if (!skip[from] && !skip[to]) out.graph.next[layer[from]].push_back(layer[to]);
  return out;
}

std::vector<CsvRow> read_csv(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  const auto names = fields(line);
  std::vector<CsvRow> rows;
  while (std::getline(in, line)) {
    const auto values = fields(line);
    demand(values.size() == names.size(), "a row has as many fields as the header");
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = values[i];
  }
  return rows;
}

std::vector<double> numbers(const std::string& text, char separator) {
  std::vector<double> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) out.push_back(std::stod(part));
  return out;
}

std::vector<planners::PipedreamLevel> reference_levels(const CsvRow& row) {
  const auto machines = numbers(row.at("levels_innermost_first"));
  const auto bandwidths = numbers(row.at("bandwidths_Bps_innermost_first"));
  std::vector<planners::PipedreamLevel> levels;
  for (std::size_t l = 0; l < machines.size(); ++l)
    levels.push_back({static_cast<int>(machines[l]), bandwidths[l], {}});
  return levels;
}

planners::PipedreamRules reference_rules(const CsvRow& row, const std::vector<planners::CutState>& states) {
  planners::PipedreamRules rules;
  rules.compression.reset();
  std::istringstream flags(row.at("flags") == "(none)" ? "" : row.at("flags"));
  for (std::string flag; flags >> flag;) {
    if (flag == "--activation_compression_ratio")
      flags >> rules.compression.emplace();
    else if (flag == "--straight_pipeline")
      rules.straight = true;
    else if (flag == "--use_fewer_machines")
      rules.fewer_machines = true;
    else if (flag == "--use_memory_constraint")
      rules.fits = planners::stash_rule(states, std::stod(row.at("memory_size")));
    else
      throw std::runtime_error("unknown flag " + flag);
  }
  return rules;
}

namespace {

class PlanEvaluation {
 public:
  explicit PlanEvaluation(const PlanRecost& recost) : in_(recost) {}

  /// Stages of `level` between two cuts (-1: the beginning).
  double slowest(const std::vector<PipedreamStage>& stages, std::size_t level, std::size_t first,
                 std::size_t last) const {
    demand(!stages.empty() && stages.front().first == first && stages.back().last == last,
           "stages cover the row");
    int left = in_.levels[level].machines;
    double slowest = -1e300;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (s > 0) demand(stages[s].first == stages[s - 1].last + 1, "stages join");
      if (in_.rules.straight) demand(stages[s].replicas == 1, "a straight pipeline");
      left -= stages[s].replicas;
      slowest = std::max(slowest, seconds(stages[s], level, s == 0));
    }
    demand(in_.rules.fewer_machines ? left >= 0 : left == 0, "machines used");
    int behind = 0;
    for (std::size_t s = stages.size(); s-- > 0; behind += stages[s].replicas)
      if (in_.stash_limit > 0)
        demand(stash(stages[s]) * std::ceil(static_cast<double>(behind + left) / stages[s].replicas) <=
                   in_.stash_limit,
               "the stash fits");
    return slowest;
  }

 private:
  /// Sums over layers, not differences of prefix sums; but an interval between cuts that are not nested takes
  /// away the layers done before it only.
  double sum(const PipedreamStage& stage, double planners::PipedreamLayer::*what) const {
    double out = 0;
    const auto& layers = in_.graph.layers;
    for (std::size_t v = 0; v < layers.size(); ++v) {
      if (in_.states[stage.last].done.test(v)) out += layers[v].*what;
      if (stage.first > 0 && in_.states[stage.first - 1].done.test(v)) out -= layers[v].*what;
    }
    return out;
  }
  double stash(const PipedreamStage& stage) const {
    return sum(stage, &planners::PipedreamLayer::activation) +
           sum(stage, &planners::PipedreamLayer::parameters);
  }
  double crossing(std::size_t state) const {
    double bytes = 0;
    for (std::size_t v = 0; v < in_.graph.layers.size(); ++v)
      if (in_.states[state].frontier.test(v)) bytes += in_.graph.layers[v].activation;
    return bytes;
  }

  double seconds(const PipedreamStage& stage, std::size_t level, bool head) const {
    const double c = level == 0 ? sum(stage, &planners::PipedreamLayer::compute)
                                : slowest(stage.inside, level - 1, stage.first, stage.last);
    const double w = sum(stage, &planners::PipedreamLayer::parameters), m = stage.replicas,
                 bw = in_.levels[level].bandwidth;
    const bool code = in_.rules.form == PipedreamForm::code;
    double out;
    if (code) {
      const double inner = level > 0 && head ? in_.levels[level - 1].machines : 1;
      out = c / m + 4 * (m - 1) * w / bw / m / m / inner;
    } else {
      out = std::max(c, 2 * (m - 1) * w / bw) / m;
    }
    if (!in_.rules.compression) return out;
    const double ratio = *in_.rules.compression;
    if (!head) out = std::max(out, 2 * crossing(stage.first - 1) / bw / ratio / (code ? m : 1));
    if (code && !head && stage.last + 1 < in_.states.size())
      out = std::max(out, 2 * crossing(stage.last) / bw / ratio / m);
    return out;
  }

  const PlanRecost& in_;
};

}  // namespace

double PlanRecost::operator()(const std::vector<PipedreamStage>& stages) const {
  return at(stages, levels.size() - 1, 0, states.size() - 1);
}

double PlanRecost::at(const std::vector<PipedreamStage>& stages, std::size_t level, std::size_t first,
                      std::size_t last) const {
  return PlanEvaluation(*this).slowest(stages, level, first, last);
}

}  // namespace penstock::support
