#include "profile_workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace penstock::cost {
namespace {

using core::quoted;
using core::Yaml;
using graph::PiperDegree;
using graph::PiperEdge;
using graph::PiperLayer;
using graph::Vertex;

constexpr double kMostBytes = 1e15;
constexpr std::size_t kMostWays = 2;

double bytes(const Yaml& node) {
  const double value = node.number();
  if (value < 0 || value > kMostBytes) node.fail(fmt::format("expected bytes from 0 to {:g}", kMostBytes));
  return value;
}

PiperDegree read_degree(const std::string& key, const Yaml& node) {
  node.only({"weights", "ways"});
  PiperDegree out;
  if (key.empty() || key.size() > 5 || key.find_first_not_of("0123456789") != std::string::npos ||
      (out.degree = std::stoi(key)) < 1)
    node.fail("expected a number of devices as key, found '" + key + "'");
  out.weights = bytes(node.at("weights"));
  for (const Yaml& way : node.at("ways").items()) {
    way.only({"name", "time", "each", "fixed"});
    out.configurations.push_back({way.at("name").text(), way.at("time").seconds().value(),
                                  bytes(way.at("each")), bytes(way.at("fixed"))});
  }
  if (out.configurations.empty() || out.configurations.size() > kMostWays)
    node.at("ways").fail("expected one or two ways");
  return out;
}

PiperLayer read_layer(const std::string& name, const Yaml& node) {
  PiperLayer out{name, {}};
  for (const auto& [key, degree] : node.entries()) {
    out.degrees.push_back(read_degree(key, degree));
    if (out.degrees.size() > 1 && out.degrees[out.degrees.size() - 2].degree >= out.degrees.back().degree)
      degree.fail("numbers of devices do not ascend");
  }
  if (out.degrees.empty()) node.fail("expected at least one number of devices");
  return out;
}

/// One number per degree of the layer at that end.
std::vector<double> read_sync(const Yaml& node, const PiperLayer& layer) {
  std::vector<double> out;
  for (const Yaml& item : node.items()) out.push_back(bytes(item));
  if (out.size() != layer.degrees.size())
    node.fail(fmt::format("expected {} numbers, one for each number of devices", layer.degrees.size()));
  return out;
}

PiperEdge read_message(const Yaml& node, const std::map<std::string, std::size_t>& number,
                       const std::vector<PiperLayer>& layers) {
  node.only({"from", "to", "bytes", "leaving", "entering"});
  const auto end = [&](const char* key) {
    const auto found = number.find(node.at(key).text());
    if (found == number.end()) node.at(key).fail("no layer has this name");
    return found->second;
  };
  const std::size_t from = end("from"), to = end("to");
  if (from >= to) node.fail("expected a message to a later layer");
  return {static_cast<Vertex>(from), static_cast<Vertex>(to), bytes(node.at("bytes")),
          read_sync(node.at("leaving"), layers[from]), read_sync(node.at("entering"), layers[to])};
}

std::string degree_yaml(const PiperDegree& degree) {
  std::string ways;
  for (const auto& way : degree.configurations)
    ways += fmt::format("{}{{name: {}, time: {}s, each: {}, fixed: {}}}", ways.empty() ? "" : ", ",
                        quoted(way.name), way.time, way.per_micro_batch, way.fixed);
  return fmt::format("      {}: {{weights: {}, ways: [{}]}}\n", degree.degree, degree.weights, ways);
}

}  // namespace

graph::PiperWorkload read_workload(const Yaml& node) {
  node.only({"layers", "messages"});
  graph::PiperWorkload out;
  std::map<std::string, std::size_t> number;
  for (const auto& [name, layer] : node.at("layers").entries()) {
    if (!number.emplace(name, out.layers.size()).second) layer.fail("the layer appears twice");
    out.layers.push_back(read_layer(name, layer));
  }
  for (const Yaml& message : node.at("messages").items())
    out.edges.push_back(read_message(message, number, out.layers));
  return out;
}

std::string workload_yaml(const graph::PiperWorkload& workload) {
  std::string out = "workload:\n  layers:\n";
  for (const PiperLayer& layer : workload.layers) {
    out += fmt::format("    {}:\n", quoted(layer.name));
    for (const PiperDegree& degree : layer.degrees) out += degree_yaml(degree);
  }
  out += fmt::format("  messages:{}\n", workload.edges.empty() ? " []" : "");
  for (const PiperEdge& edge : workload.edges)
    out += fmt::format("  - {{from: {}, to: {}, bytes: {}, leaving: [{}], entering: [{}]}}\n",
                       quoted(workload.layers[static_cast<std::size_t>(edge.from)].name),
                       quoted(workload.layers[static_cast<std::size_t>(edge.to)].name), edge.bytes,
                       fmt::join(edge.leaving, ", "), fmt::join(edge.entering, ", "));
  return out;
}

}  // namespace penstock::cost
