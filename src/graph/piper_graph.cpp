#include "penstock/graph/piper_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "json_reader.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/json_text.hpp"
#include "penstock/graph/graph_builder.hpp"

namespace penstock::graph {
namespace {

constexpr std::size_t kMostLayers = 2'000, kMostPiperEdges = 20'000, kMostDegrees = 16, kLongestName = 128;
constexpr double kMostBytes = 1e15, kMostSeconds = 1e7;

constexpr std::int64_t kLargestId = 1'000'000'000;

struct RawEdge {
  std::size_t from, to;  ///< positions in the file
  double bytes;
};

struct RawFile {
  std::vector<JsonReader> nodes;
  std::map<std::int64_t, std::size_t> position;  ///< by id
  std::vector<RawEdge> edges;
};

void read_nodes(const JsonReader& root, RawFile& raw) {
  raw.nodes = root.at("nodes").items(kMostLayers);
  for (std::size_t i = 0; i < raw.nodes.size(); ++i) {
    const JsonReader id = raw.nodes[i].at("id");
    if (!raw.position.emplace(id.integer(0, kLargestId), i).second) id.fail("a second node has this id");
  }
}

std::size_t end_of(const JsonReader& edge, const char* key, const RawFile& raw) {
  const JsonReader id = edge.at(key);
  const auto found = raw.position.find(id.integer(0, kLargestId));
  if (found == raw.position.end()) id.fail("no node has this id");
  return found->second;
}

void read_edges(const JsonReader& root, RawFile& raw) {
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const JsonReader& edge : root.at("edges").items(kMostPiperEdges)) {
    const std::size_t from = end_of(edge, "sourceId", raw), to = end_of(edge, "destId", raw);
    if (from == to) edge.fail("the edge joins a node with itself");
    if (!seen.emplace(from, to).second) edge.fail("the edge appears twice");
    raw.edges.push_back({from, to, edge.at("communicationCost").number(kMostBytes)});
  }
}

using Sync = std::map<std::size_t, double>;  ///< bytes by position of the other end

Sync read_sync(const JsonReader& reader, const RawFile& raw, const std::set<std::size_t>& expected) {
  Sync sync;
  for (const auto& [key, value] : reader.entries(kMostLayers)) {
    const auto other = raw.position.find(value.whole_key(key, 0, kLargestId));
    if (other == raw.position.end() || !expected.contains(other->second))
      value.fail("no edge joins these nodes");
    if (!sync.emplace(other->second, value.number(kMostBytes)).second) value.fail("the edge appears twice");
  }
  if (sync.size() != expected.size()) reader.fail("expected one entry per edge");
  return sync;
}

struct NodeNeighbours {
  std::set<std::size_t> before, after;
};

struct RawDegree {
  PiperDegree degree;
  Sync entering, leaving;
};

PiperConfiguration read_configuration(const JsonReader& reader, PiperTime unit) {
  const double scale = unit == PiperTime::seconds ? 1 : 1e-3;
  return {reader.at("id").text(), reader.at("timePerSample").number(kMostSeconds / scale) * scale,
          reader.at("memoryUsageA").number(kMostBytes), reader.at("memoryUsageB").number(kMostBytes)};
}

RawDegree read_degree(const JsonReader& list, std::int64_t t, const RawFile& raw,
                      const NodeNeighbours& joined, PiperTime unit) {
  RawDegree out;
  out.degree.degree = static_cast<int>(t);
  for (const JsonReader& reader : list.items(2)) {
    const bool first = out.degree.configurations.empty();
    out.degree.configurations.push_back(read_configuration(reader, unit));
    if (!first && out.degree.configurations[0].name == out.degree.configurations[1].name)
      reader.at("id").fail("a second configuration has this id");
    const double weights = reader.at("parameterSize").number(kMostBytes);
    Sync entering = read_sync(reader.at("syncTimeFw"), raw, joined.before);
    Sync leaving = read_sync(reader.at("syncTimeBw"), raw, joined.after);
    if (!first && (weights != out.degree.weights || entering != out.entering || leaving != out.leaving))
      reader.fail("the configurations of a degree differ in weights or sync bytes");
    out.degree.weights = weights;
    out.entering = std::move(entering);
    out.leaving = std::move(leaving);
  }
  return out;
}

std::vector<RawDegree> read_degrees(const JsonReader& node, const RawFile& raw, const NodeNeighbours& joined,
                                    PiperTime unit) {
  std::map<std::int64_t, RawDegree> sorted;
  const JsonReader all = node.at("TMPCs");
  for (const auto& [key, list] : all.entries(kMostDegrees)) {
    const std::int64_t t = list.whole_key(key, 1, 10'000);
    if (!sorted.emplace(t, read_degree(list, t, raw, joined, unit)).second)
      list.fail("the degree appears twice");
  }
  if (sorted.empty()) all.fail("expected at least one degree");
  std::vector<RawDegree> out;
  for (auto& [t, degree] : sorted) out.push_back(std::move(degree));
  return out;
}

std::vector<NodeNeighbours> neighbours(const RawFile& raw) {
  std::vector<NodeNeighbours> out(raw.nodes.size());
  for (const RawEdge& edge : raw.edges) {
    out[edge.from].after.insert(edge.to);
    out[edge.to].before.insert(edge.from);
  }
  return out;
}

/// Names are optional and may repeat in the file.
std::vector<std::string> unique_names(const RawFile& raw) {
  std::vector<std::string> names;
  std::map<std::string, int> count;
  for (const JsonReader& node : raw.nodes) {
    names.push_back(node.has("name") ? node.at("name").text() : "node");
    if (names.back().empty() || names.back().size() > kLongestName)
      node.at("name").fail(fmt::format("expected a name of 1 to {} bytes", kLongestName));
    ++count[names.back()];
  }
  std::set<std::string> taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (count[names[i]] > 1) names[i] += fmt::format("_{}", raw.nodes[i].at("id").integer(0, kLargestId));
    if (!taken.insert(names[i]).second) raw.nodes[i].fail("a second node is named '" + names[i] + "'");
  }
  return names;
}

/// [position in the file]: number in topological order.
std::vector<std::size_t> topological_numbers(const JsonReader& root, const RawFile& raw,
                                             const std::vector<std::string>& names) {
  GraphBuilder builder("piper");
  for (const std::string& name : names) {
    Operator op;
    op.name = name;
    builder.add(std::move(op));
  }
  for (const RawEdge& edge : raw.edges) builder.add_edge(core::OpId(edge.from), core::OpId(edge.to));
  std::map<std::string, std::size_t> number;
  try {
    const OpGraph graph = builder.build();
    for (std::size_t v = 0; v < graph.size(); ++v) number[graph.op(core::OpId(v)).name] = v;
  } catch (const core::BadInput& e) {
    root.at("edges").fail(e.what());
  }
  std::vector<std::size_t> out;
  for (const std::string& name : names) out.push_back(number[name]);
  return out;
}

PiperSetting read_setting(const JsonReader& root) {
  PiperSetting setting;
  setting.devices = static_cast<int>(root.at("maxDevices").integer(1, 10'000));
  setting.memory = root.at("maxMemoryPerDevice").number(kMostBytes);
  setting.bandwidth = root.at("bandwidth").number(kMostBytes);
  if (setting.bandwidth < 1) root.at("bandwidth").fail("expected at least one byte per second");
  setting.micro_batches = static_cast<int>(root.at("mbsInBatch").integer(1, 1 << 24));
  return setting;
}

PiperWorkload read(const JsonReader& root, PiperTime unit) {
  RawFile raw;
  read_nodes(root, raw);
  read_edges(root, raw);
  const auto names = unique_names(raw);
  const auto number = topological_numbers(root, raw, names);
  const auto joined = neighbours(raw);
  std::vector<std::vector<RawDegree>> degrees;
  PiperWorkload out;
  out.setting = read_setting(root);
  out.layers.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    degrees.push_back(read_degrees(raw.nodes[i], raw, joined[i], unit));
    PiperLayer& layer = out.layers[number[i]];
    layer.name = names[i];
    for (const RawDegree& d : degrees.back()) layer.degrees.push_back(d.degree);
  }
  for (const RawEdge& edge : raw.edges) {
    PiperEdge& made = out.edges.emplace_back();
    made.from = static_cast<Vertex>(number[edge.from]);
    made.to = static_cast<Vertex>(number[edge.to]);
    made.bytes = edge.bytes;
    for (const RawDegree& d : degrees[edge.from]) made.leaving.push_back(d.leaving.at(edge.to));
    for (const RawDegree& d : degrees[edge.to]) made.entering.push_back(d.entering.at(edge.from));
  }
  return out;
}

}  // namespace

Dag dag_of(const PiperWorkload& workload) {
  std::vector<Edge> edges;
  for (const PiperEdge& edge : workload.edges) edges.emplace_back(edge.from, edge.to);
  return Dag(workload.layers.size(), std::move(edges));
}

PiperWorkload parse_piper(const std::string& text, const std::string& file, PiperTime unit) {
  const auto json = core::parse_json<nlohmann::json>(text, file);
  return read(JsonReader(json, file, ""), unit);
}

PiperWorkload load_piper(const std::string& path, PiperTime unit) {
  return parse_piper(core::read_file(path), path, unit);
}

OpGraph op_graph_of(const PiperWorkload& workload, const std::string& name) {
  std::vector<double> output(workload.layers.size());
  for (const PiperEdge& edge : workload.edges) {
    double& bytes = output[static_cast<std::size_t>(edge.from)];
    bytes = std::max(bytes, edge.bytes);
  }
  GraphBuilder builder(name, 4);
  for (std::size_t v = 0; v < workload.layers.size(); ++v) {
    const PiperDegree& least = workload.layers[v].degrees.front();
    Operator op;
    op.name = workload.layers[v].name;
    op.kind = OpKind::profiled;
    op.parameters = std::llround(least.weights / 4);
    op.output_bytes = core::Bytes(std::llround(output[v]));
    op.saved_bytes = core::Bytes(std::llround(least.configurations.front().per_micro_batch));
    builder.add(std::move(op));
  }
  for (const PiperEdge& edge : workload.edges)
    builder.add_edge(core::OpId(static_cast<std::size_t>(edge.from)),
                     core::OpId(static_cast<std::size_t>(edge.to)));
  return builder.build();
}

}  // namespace penstock::graph
