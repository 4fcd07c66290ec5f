#include <fmt/format.h>

#include <map>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/core/yaml.hpp"

namespace penstock::cluster {
namespace {

using core::Yaml;

constexpr std::int64_t kMostDevices = 4096;

/// Collects what the file lists; points are named while reading and numbered at the end.
struct Draft {
  std::vector<DeviceType> types;
  std::map<std::string, std::size_t> type_index;
  std::vector<Device> devices;
  std::map<std::string, std::size_t> device_index;
  std::map<std::string, std::size_t> switch_index;
  struct NamedLink {
    std::string from, to;
    core::Bandwidth bandwidth;
    core::Seconds latency;
  };
  std::vector<NamedLink> links;
};

/// Not below one byte per second, so that no transfer takes forever.
core::Bandwidth positive_bandwidth(const Yaml& node) {
  const core::Bandwidth value = node.bandwidth();
  if (value.value() < 1) node.fail("expected a bandwidth of at least 1B/s");
  return value;
}

DeviceType read_type(const std::string& type_name, const Yaml& node) {
  node.only({"memory", "memory_bandwidth", "multiprocessors", "launch_overhead", "peak"});
  DeviceType type{type_name, node.at("memory").bytes(), positive_bandwidth(node.at("memory_bandwidth")), {},
                  static_cast<int>(node.at("multiprocessors").integer(1, 100000)),
                  node.at("launch_overhead").seconds()};
  node.at("peak").only({"fp32", "tf32", "bf16", "fp16"});
  for (const auto& [precision, rate] : node.at("peak").entries())
    for (std::size_t p = 0; p < kPrecisions; ++p)
      if (precision == name(static_cast<Precision>(p))) type.peak[p] = rate.flop_rate();
  if (type.peak[0].value() < 1) node.at("peak").fail("the fp32 rate is needed and must be at least 1FLOP/s");
  return type;
}

std::size_t type_named(const Draft& draft, const Yaml& node) {
  const auto found = draft.type_index.find(node.text());
  if (found != draft.type_index.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : draft.type_index) known.push_back(entry.first);
  node.fail(fmt::format("no such device type; {}", core::did_you_mean(node.text(), known)));
}

void add_cable(Draft& draft, const std::string& a, const std::string& b, const Yaml& node) {
  node.only({"bandwidth", "latency"});
  const auto bandwidth = positive_bandwidth(node.at("bandwidth"));
  const auto latency = node.at("latency").seconds();
  draft.links.push_back({a, b, bandwidth, latency});
  draft.links.push_back({b, a, bandwidth, latency});
}

void add_device(Draft& draft, const std::string& device, std::size_t type, int node, const Yaml& place) {
  if (draft.switch_index.contains(device) || !draft.device_index.emplace(device, draft.devices.size()).second)
    place.fail(fmt::format("the name '{}' is taken twice", device));
  draft.devices.push_back({type, node});
}

/// A node: its devices hang on one switch, the switch hangs on the network.
void read_nodes(Draft& draft, const Yaml& node, int& node_count) {
  node.only({"count", "device", "devices", "link", "uplink"});
  const auto count = node.at("count").integer(1, kMostDevices);
  const auto devices = node.at("devices").integer(1, kMostDevices);
  const auto type = type_named(draft, node.at("device"));
  if (static_cast<std::int64_t>(draft.devices.size()) + count * devices > kMostDevices)
    node.fail(fmt::format("more than {} devices", kMostDevices));
  for (std::int64_t n = 0; n < count; ++n, ++node_count) {
    const std::string hub = fmt::format("node{}", node_count);
    draft.switch_index.emplace(hub, draft.switch_index.size());
    for (std::int64_t d = 0; d < devices; ++d) {
      const std::string device = fmt::format("{}.{}", hub, d);
      add_device(draft, device, type, node_count, node);
      add_cable(draft, device, hub, node.at("link"));
    }
    draft.switch_index.emplace("network", draft.switch_index.size());
    add_cable(draft, hub, "network", node.at("uplink"));
  }
}

void read_machine(Draft& draft, const Yaml& node, int& node_count) {
  node.only({"name", "device", "node"});
  const auto host = node.find("node");
  add_device(draft, node.at("name").text(), type_named(draft, node.at("device")),
             host ? static_cast<int>(host->integer(0, kMostDevices)) : node_count++, node);
  if (draft.devices.size() > kMostDevices) node.fail(fmt::format("more than {} devices", kMostDevices));
}

void read_link(Draft& draft, const Yaml& node) {
  node.only({"from", "to", "bandwidth", "latency", "both_ways"});
  for (const char* end : {"from", "to"}) {
    const std::string point = node.at(end).text();
    if (!draft.device_index.contains(point) && !draft.switch_index.contains(point))
      node.at(end).fail(fmt::format("no device or switch is named '{}'", point));
  }
  const std::string from = node.at("from").text(), to = node.at("to").text();
  if (from == to) node.fail("a link joins two different points");
  const auto bandwidth = positive_bandwidth(node.at("bandwidth"));
  const auto latency = node.at("latency").seconds();
  draft.links.push_back({from, to, bandwidth, latency});
  const auto both = node.find("both_ways");
  if (!both || both->flag()) draft.links.push_back({to, from, bandwidth, latency});
}

Cluster finish(const std::string& cluster_name, const Draft& draft) {
  const auto point = [&](const std::string& p) {
    const auto device = draft.device_index.find(p);
    return device != draft.device_index.end() ? device->second : draft.devices.size() + draft.switch_index.at(p);
  };
  std::vector<Link> links;
  for (const auto& link : draft.links) links.push_back({point(link.from), point(link.to), link.bandwidth, link.latency});
  return Cluster(cluster_name, draft.types, draft.devices, draft.switch_index.size(), links);
}

Cluster read(const Yaml& root) {
  root.only({"name", "device_types", "nodes", "machines", "switches", "links"});
  Draft draft;
  int node_count = 0;
  for (const auto& [type_name, node] : root.at("device_types").entries()) {
    draft.type_index.emplace(type_name, draft.types.size());
    draft.types.push_back(read_type(type_name, node));
  }
  if (const auto switches = root.find("switches"))
    for (const Yaml& node : switches->items())
      if (!draft.switch_index.emplace(node.text(), draft.switch_index.size()).second)
        node.fail("the name is taken twice");
  if (const auto nodes = root.find("nodes"))
    for (const Yaml& node : nodes->items()) read_nodes(draft, node, node_count);
  if (const auto machines = root.find("machines"))
    for (const Yaml& node : machines->items()) read_machine(draft, node, node_count);
  if (const auto links = root.find("links"))
    for (const Yaml& node : links->items()) read_link(draft, node);
  try {
    return finish(root.at("name").text(), draft);
  } catch (const core::BadInput& e) {
    root.fail(e.what());
  }
}

}  // namespace

Cluster load_cluster(const std::string& path) { return read(Yaml::load(path)); }
Cluster parse_cluster(const std::string& text, const std::string& file) { return read(Yaml::parse(text, file)); }

}  // namespace penstock::cluster
