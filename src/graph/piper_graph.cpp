#include "penstock/graph/piper_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/graph/graph_builder.hpp"

namespace penstock::graph {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLayers = 2'000, kMostEdges = 20'000, kMostDegrees = 16, kLongestName = 128;
constexpr double kMostBytes = 1e15, kMostSeconds = 1e7;

/// A value with the way that leads to it.
class Reader {
 public:
  Reader(const Json& json, const std::string& file, std::string key)
      : json_(json), file_(file), key_(std::move(key)) {}

  [[noreturn]] void fail(const std::string& message) const {
    throw core::BadInput({file_, 0, key_}, message);
  }

  Reader at(const std::string& key) const {
    if (!json_.is_object()) fail("expected an object");
    const auto found = json_.find(key);
    if (found == json_.end()) fail("the key '" + key + "' is missing");
    return {*found, file_, key_.empty() ? key : key_ + "." + key};
  }
  bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }

  std::vector<Reader> items(std::size_t most) const {
    if (!json_.is_array() || json_.empty()) fail("expected a list that is not empty");
    if (json_.size() > most) fail(fmt::format("expected at most {} entries, found {}", most, json_.size()));
    std::vector<Reader> out;
    for (std::size_t i = 0; i < json_.size(); ++i)
      out.emplace_back(json_[i], file_, fmt::format("{}[{}]", key_, i));
    return out;
  }
  std::vector<std::pair<std::string, Reader>> entries(std::size_t most) const {
    if (!json_.is_object()) fail("expected an object");
    if (json_.size() > most) fail(fmt::format("expected at most {} entries, found {}", most, json_.size()));
    std::vector<std::pair<std::string, Reader>> out;
    for (const auto& [key, value] : json_.items())
      out.emplace_back(key, Reader(value, file_, key_ + "." + key));
    return out;
  }

  std::string text() const {
    if (!json_.is_string()) fail("expected text");
    return json_.get<std::string>();
  }
  double number(double most) const {
    if (!json_.is_number()) fail("expected a number");
    const double value = json_.get<double>();
    if (!(value >= 0 && value <= most))
      fail(fmt::format("expected a number from 0 to {:g}, found {:g}", most, value));
    return value;
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) const {
    const double value = json_.is_number() ? json_.get<double>() : std::nan("");
    if (!(value >= static_cast<double>(low) && value <= static_cast<double>(high)) ||
        value != std::floor(value))
      fail(fmt::format("expected a whole number from {} to {}", low, high));
    return static_cast<std::int64_t>(value);
  }

 private:
  const Json& json_;
  const std::string& file_;
  std::string key_;
};

constexpr std::int64_t kLargestId = 1'000'000'000;

std::int64_t whole_key(const std::string& key, const Reader& value, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const auto [rest, fault] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (fault != std::errc() || rest != key.data() + key.size() || number < low || number > high)
    value.fail(fmt::format("expected a whole number from {} to {} as key", low, high));
  return number;
}

struct RawEdge {
  std::size_t from, to;  ///< positions in the file
  double bytes;
};

struct RawFile {
  std::vector<Reader> nodes;
  std::map<std::int64_t, std::size_t> position;  ///< by id
  std::vector<RawEdge> edges;
};

void read_nodes(const Reader& root, RawFile& raw) {
  raw.nodes = root.at("nodes").items(kMostLayers);
  for (std::size_t i = 0; i < raw.nodes.size(); ++i) {
    const Reader id = raw.nodes[i].at("id");
    if (!raw.position.emplace(id.integer(0, kLargestId), i).second) id.fail("a second node has this id");
  }
}

std::size_t end_of(const Reader& edge, const char* key, const RawFile& raw) {
  const Reader id = edge.at(key);
  const auto found = raw.position.find(id.integer(0, kLargestId));
  if (found == raw.position.end()) id.fail("no node has this id");
  return found->second;
}

void read_edges(const Reader& root, RawFile& raw) {
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const Reader& edge : root.at("edges").items(kMostEdges)) {
    const std::size_t from = end_of(edge, "sourceId", raw), to = end_of(edge, "destId", raw);
    if (from == to) edge.fail("the edge joins a node with itself");
    if (!seen.emplace(from, to).second) edge.fail("the edge stands twice");
    raw.edges.push_back({from, to, edge.at("communicationCost").number(kMostBytes)});
  }
}

using Sync = std::map<std::size_t, double>;  ///< bytes by position of the other end

Sync read_sync(const Reader& reader, const RawFile& raw, const std::set<std::size_t>& expected) {
  Sync sync;
  for (const auto& [key, value] : reader.entries(kMostLayers)) {
    const auto other = raw.position.find(whole_key(key, value, 0, kLargestId));
    if (other == raw.position.end() || !expected.contains(other->second))
      value.fail("no edge joins these nodes");
    if (!sync.emplace(other->second, value.number(kMostBytes)).second) value.fail("the edge stands twice");
  }
  if (sync.size() != expected.size()) reader.fail("expected one entry per edge");
  return sync;
}

struct Neighbours {
  std::set<std::size_t> before, after;
};

struct RawDegree {
  PiperDegree degree;
  Sync entering, leaving;
};

PiperConfiguration read_configuration(const Reader& reader, PiperTime unit) {
  const double scale = unit == PiperTime::seconds ? 1 : 1e-3;
  return {reader.at("id").text(), reader.at("timePerSample").number(kMostSeconds / scale) * scale,
          reader.at("memoryUsageA").number(kMostBytes), reader.at("memoryUsageB").number(kMostBytes)};
}

RawDegree read_degree(const Reader& list, std::int64_t t, const RawFile& raw, const Neighbours& joined,
                      PiperTime unit) {
  RawDegree out;
  out.degree.degree = static_cast<int>(t);
  for (const Reader& reader : list.items(2)) {
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

std::vector<RawDegree> read_degrees(const Reader& node, const RawFile& raw, const Neighbours& joined,
                                    PiperTime unit) {
  std::map<std::int64_t, RawDegree> sorted;
  const Reader all = node.at("TMPCs");
  for (const auto& [key, list] : all.entries(kMostDegrees)) {
    const std::int64_t t = whole_key(key, list, 1, 10'000);
    if (!sorted.emplace(t, read_degree(list, t, raw, joined, unit)).second)
      list.fail("the degree stands twice");
  }
  if (sorted.empty()) all.fail("expected at least one degree");
  std::vector<RawDegree> out;
  for (auto& [t, degree] : sorted) out.push_back(std::move(degree));
  return out;
}

std::vector<Neighbours> neighbours(const RawFile& raw) {
  std::vector<Neighbours> out(raw.nodes.size());
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
  for (const Reader& node : raw.nodes) {
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
std::vector<std::size_t> topological_numbers(const Reader& root, const RawFile& raw,
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

PiperSetting read_setting(const Reader& root) {
  PiperSetting setting;
  setting.devices = static_cast<int>(root.at("maxDevices").integer(1, 10'000));
  setting.memory = root.at("maxMemoryPerDevice").number(kMostBytes);
  setting.bandwidth = root.at("bandwidth").number(kMostBytes);
  if (setting.bandwidth < 1) root.at("bandwidth").fail("expected at least one byte per second");
  setting.micro_batches = static_cast<int>(root.at("mbsInBatch").integer(1, 1 << 24));
  return setting;
}

PiperWorkload read(const Reader& root, PiperTime unit) {
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

int line_of(const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

}  // namespace

Dag dag_of(const PiperWorkload& workload) {
  std::vector<Edge> edges;
  for (const PiperEdge& edge : workload.edges) edges.emplace_back(edge.from, edge.to);
  return Dag(workload.layers.size(), std::move(edges));
}

PiperWorkload parse_piper(const std::string& text, const std::string& file, PiperTime unit) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw core::BadInput({file, line_of(text, e.byte), ""}, "not valid JSON");
  } catch (const Json::out_of_range&) {
    throw core::BadInput({file, 0, ""}, "not valid JSON: a number is too large");
  }
  return read(Reader(json, file, ""), unit);
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
    op.kept_bytes = core::Bytes(std::llround(least.configurations.front().per_micro_batch));
    builder.add(std::move(op));
  }
  for (const PiperEdge& edge : workload.edges)
    builder.add_edge(core::OpId(static_cast<std::size_t>(edge.from)),
                     core::OpId(static_cast<std::size_t>(edge.to)));
  return builder.build();
}

}  // namespace penstock::graph
