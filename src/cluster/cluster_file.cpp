#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "penstock/cluster/catalogue.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/core/yaml.hpp"

namespace penstock::cluster {
namespace {

using core::Yaml;

constexpr std::int64_t kMostDevices = 16384;

/// Content of the file: points are named while reading and numbered at the end.
struct ClusterDraft {
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

/// Reads a bandwidth of at least one byte per second, so that every transfer ends.
core::Bandwidth positive_bandwidth(const Yaml& node) {
  const core::Bandwidth value = node.bandwidth();
  if (value.value() < 1) node.fail("expected a bandwidth of at least 1B/s");
  return value;
}

/// Reads a device's memory, limited so that sums over all devices do not overflow.
core::Bytes device_memory(const Yaml& node) {
  constexpr core::Bytes kMost(std::int64_t{1} << 50);
  const core::Bytes value = node.bytes();
  if (value > kMost) node.fail("expected at most 1024TiB");
  return value;
}

FrameworkRuntime read_runtime(const Yaml& named, const Yaml& type) {
  if (type.find("host_launch")) named.fail("host_launch says the same thing: give one of them");
  try {
    return runtime(named.text());
  } catch (const core::BadInput& fault) {
    named.fail(fault.what());
  }
}

DeviceType read_type(const std::string& type_name, const Yaml& node) {
  node.only({"memory", "memory_bandwidth", "multiprocessors", "launch_overhead", "overlap_slowdown",
             "host_launch", "runtime", "kernel_slowdown", "reserved", "price", "peak"});
  DeviceType type{type_name,
                  device_memory(node.at("memory")),
                  positive_bandwidth(node.at("memory_bandwidth")),
                  {},
                  static_cast<int>(node.at("multiprocessors").integer(1, 100000)),
                  node.at("launch_overhead").seconds()};
  if (const auto slower = node.find("overlap_slowdown")) {
    type.overlap_slowdown = slower->number();
    if (!(type.overlap_slowdown >= 1 && type.overlap_slowdown <= 1000))
      slower->fail("expected a factor from 1 to 1000");
  }
  if (const auto launch = node.find("host_launch"))
    type.runtime = FrameworkRuntime{.per_kernel = launch->seconds()};
  if (const auto named = node.find("runtime")) type.runtime = read_runtime(*named, node);
  if (const auto slower = node.find("kernel_slowdown")) {
    type.kernel_slowdown = slower->number();
    if (!(*type.kernel_slowdown >= 0.1 && *type.kernel_slowdown <= 100))
      slower->fail("expected a factor from 0.1 to 100");
  }
  if (const auto held = node.find("reserved")) {
    type.reserved = held->bytes();
    if (type.reserved >= type.memory) held->fail("expected less than the device's memory");
    type.memory -= type.reserved;
  }
  if (const auto asked = node.find("price")) {
    type.price = asked->number();
    if (!(*type.price > 0 && *type.price <= 1e6)) asked->fail("expected dollars above 0, at most 1000000");
  }
  node.at("peak").only({"fp32", "tf32", "bf16", "fp16", "fp8", "fp4"});
  for (const auto& [precision, rate] : node.at("peak").entries())
    for (std::size_t p = 0; p < kPrecisions; ++p)
      if (precision == name(static_cast<Precision>(p))) type.peak[p] = rate.flop_rate();
  if (type.peak[0].value() < 1) node.at("peak").fail("the fp32 rate is needed and must be at least 1FLOP/s");
  return type;
}

std::size_t type_named(const ClusterDraft& draft, const Yaml& node) {
  const auto found = draft.type_index.find(node.text());
  if (found != draft.type_index.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : draft.type_index) known.push_back(entry.first);
  node.fail(fmt::format("no such device type; {}", core::did_you_mean(node.text(), known)));
}

void add_cable(ClusterDraft& draft, const std::string& a, const std::string& b, const Yaml& node) {
  node.only({"bandwidth", "latency"});
  const auto bandwidth = positive_bandwidth(node.at("bandwidth"));
  const auto latency = node.at("latency").seconds();
  draft.links.push_back({a, b, bandwidth, latency});
  draft.links.push_back({b, a, bandwidth, latency});
}

void add_device(ClusterDraft& draft, const std::string& device, std::size_t type, int node,
                const Yaml& place) {
  if (draft.switch_index.contains(device) || !draft.device_index.emplace(device, draft.devices.size()).second)
    place.fail(fmt::format("the name '{}' is taken twice", device));
  draft.devices.push_back({type, node});
}

void add_rails(ClusterDraft& draft, const std::string& hub, std::int64_t devices, const Yaml& cable) {
  for (std::int64_t d = 0; d < devices; ++d) {
    const std::string rail = fmt::format("rail{}", d);
    draft.switch_index.emplace(rail, draft.switch_index.size());
    add_cable(draft, fmt::format("{}.{}", hub, d), rail, cable);
  }
}

/// Reads a node. Its devices connect to one switch, and that switch to the network. With rails, each device
/// also connects to the network's switch of its number.
void read_nodes(ClusterDraft& draft, const Yaml& node, int& node_count) {
  node.only({"count", "device", "devices", "link", "uplink", "rails"});
  const auto rails = node.find("rails");
  const bool on_rails = rails && rails->flag();
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
    if (on_rails) {
      add_rails(draft, hub, devices, node.at("uplink"));
      continue;
    }
    draft.switch_index.emplace("network", draft.switch_index.size());
    add_cable(draft, hub, "network", node.at("uplink"));
  }
}

void read_machine(ClusterDraft& draft, const Yaml& node, int& node_count) {
  node.only({"name", "device", "node"});
  const auto host = node.find("node");
  add_device(draft, node.at("name").text(), type_named(draft, node.at("device")),
             host ? static_cast<int>(host->integer(0, kMostDevices)) : node_count++, node);
  if (draft.devices.size() > kMostDevices) node.fail(fmt::format("more than {} devices", kMostDevices));
}

void read_link(ClusterDraft& draft, const Yaml& node) {
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

/// ClusterDraft::links with numbered points, and look-ups by name.
struct NumberedLinks {
  explicit NumberedLinks(const ClusterDraft& draft)
      : points(draft.devices.size() + draft.switch_index.size()) {
    for (const auto& [point, index] : draft.device_index) number(point, index);
    for (const auto& [point, index] : draft.switch_index) number(point, draft.devices.size() + index);
    for (const auto& link : draft.links) {
      links.push_back({numbers.at(link.from), numbers.at(link.to), link.bandwidth, link.latency});
      first_link.emplace(std::pair{links.back().from, links.back().to}, links.size() - 1);
    }
  }
  void number(const std::string& point, std::size_t index) {
    numbers.emplace(point, index);
    points[index] = point;
  }

  std::vector<std::string> points;
  std::map<std::string, std::size_t> numbers;
  std::vector<Link> links;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t>
      first_link;  ///< {from, to}: the link listed first
};

std::size_t point_at(const NumberedLinks& numbered, const Yaml& node) {
  const auto found = numbered.numbers.find(node.text());
  if (found == numbered.numbers.end())
    node.fail(fmt::format("no device or switch is named '{}'", node.text()));
  return found->second;
}

/// Returns the links along a sequence of points; errors refer to `node`.
GivenRoute along(const NumberedLinks& numbered, const std::vector<std::size_t>& points, const Yaml& node) {
  GivenRoute route{points.front(), points.back(), {}};
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto link = numbered.first_link.find({points[i - 1], points[i]});
    if (link == numbered.first_link.end())
      node.fail(fmt::format("no link leads from '{}' to '{}'", numbered.points[points[i - 1]],
                            numbered.points[points[i]]));
    route.links.push_back(link->second);
  }
  return route;
}

/// Points of a route in order of travel: two devices, and the points between them.
std::vector<std::size_t> row_of_points(const NumberedLinks& numbered, std::size_t devices, const Yaml& node) {
  node.only({"from", "to", "via", "both_ways"});
  std::vector<std::size_t> points{point_at(numbered, node.at("from"))};
  for (const Yaml& via : node.at("via").items()) points.push_back(point_at(numbered, via));
  points.push_back(point_at(numbered, node.at("to")));
  for (const auto& [end, point] : {std::pair{"from", points.front()}, std::pair{"to", points.back()}})
    if (point >= devices) node.at(end).fail("a route leads from device to device; this is a switch");
  if (std::set<std::size_t>(points.begin(), points.end()).size() < points.size())
    node.fail("a route passes no point twice");
  return points;
}

void read_route(std::map<std::pair<std::size_t, std::size_t>, GivenRoute>& routes,
                const NumberedLinks& numbered, std::size_t devices, const Yaml& node) {
  std::vector<std::size_t> points = row_of_points(numbered, devices, node);
  const auto add = [&] {
    if (!routes.emplace(std::pair{points.front(), points.back()}, along(numbered, points, node)).second)
      node.fail(fmt::format("the route from '{}' to '{}' is given twice", numbered.points[points.front()],
                            numbered.points[points.back()]));
  };
  add();
  const auto both = node.find("both_ways");
  if (both && !both->flag()) return;
  std::reverse(points.begin(), points.end());
  add();
}

std::vector<GivenRoute> read_routes(const NumberedLinks& numbered, std::size_t devices, const Yaml& root) {
  std::map<std::pair<std::size_t, std::size_t>, GivenRoute> routes;
  if (const auto list = root.find("routes"))
    for (const Yaml& node : list->items()) read_route(routes, numbered, devices, node);
  std::vector<GivenRoute> out;
  for (auto& [ends, route] : routes) out.push_back(std::move(route));
  return out;
}

Cluster finish(const Yaml& root, const ClusterDraft& draft) {
  NumberedLinks numbered(draft);
  const auto routes = read_routes(numbered, draft.devices.size(), root);
  const std::string cluster_name = root.at("name").text();
  try {
    return Cluster(cluster_name, draft.types, draft.devices, draft.switch_index.size(),
                   std::move(numbered.links), std::move(numbered.points), routes);
  } catch (const core::BadInput& e) {
    root.fail(e.what());
  }
}

Cluster read(const Yaml& root) {
  root.only({"name", "device_types", "nodes", "machines", "switches", "links", "routes"});
  ClusterDraft draft;
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
  return finish(root, draft);
}

}  // namespace

Cluster load_cluster(const std::string& path) {
  return is_file_name(path) ? read(Yaml::load(path)) : read(Yaml::parse(cluster_text(path), path));
}
Cluster parse_cluster(const std::string& text, const std::string& file) {
  return read(Yaml::parse(text, file));
}

}  // namespace penstock::cluster
