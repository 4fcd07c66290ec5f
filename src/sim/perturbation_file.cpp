#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>
#include <unordered_map>

#include "lengths_file.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/sim/perturbation.hpp"

namespace penstock::sim {
namespace {

using cluster::Cluster;
using core::Picoseconds;
using core::Yaml;
using trace::TaskKind;

constexpr std::array kDistributions = {JitterDistribution::lognormal, JitterDistribution::normal,
                                       JitterDistribution::uniform};
constexpr std::array kKinds = {TaskKind::forward,         TaskKind::backward,   TaskKind::input_gradient,
                               TaskKind::weight_gradient, TaskKind::recompute,  TaskKind::step,
                               TaskKind::transfer,        TaskKind::all_reduce, TaskKind::collective};

/// Time spans of one device or link, which must not overlap.
class TimeWindows {
 public:
  bool take(Picoseconds from, Picoseconds to) {
    const auto after = windows_.lower_bound(from);
    if (after != windows_.end() && after->first < to) return false;
    if (after != windows_.begin() && std::prev(after)->second > from) return false;
    windows_.emplace(from, to);
    return true;
  }

 private:
  std::map<Picoseconds, Picoseconds> windows_;
};

class PerturbationReader {
 public:
  explicit PerturbationReader(const Cluster& cluster) : cluster_(cluster) {
    for (std::size_t p = 0; p < cluster.points().size(); ++p) points_.emplace(cluster.points()[p], p);
    for (std::size_t l = 0; l < cluster.links().size(); ++l)
      links_[{cluster.links()[l].from, cluster.links()[l].to}].push_back(l);
  }

  Perturbation read(const Yaml& root) {
    root.only({"devices", "stragglers", "jitter", "links", "lengths"});
    for (const Yaml& node : list(root, "devices")) slow_device(node);
    for (const Yaml& node : list(root, "stragglers")) straggler(node);
    if (const auto jitter = root.find("jitter"))
      for (const auto& [kind, node] : jitter->entries()) this->jitter(kind, node);
    for (const Yaml& node : list(root, "links")) link_fault(node);
    if (const auto lengths = root.find("lengths")) out_.lengths = read_lengths(*lengths);
    return std::move(out_);
  }

 private:
  static std::vector<Yaml> list(const Yaml& root, const char* key) {
    constexpr std::size_t kMost = 10000;
    const auto node = root.find(key);
    if (!node) return {};
    auto items = node->items();
    if (items.size() > kMost) node->fail(fmt::format("more than {} entries", kMost));
    return items;
  }

  std::size_t point(const Yaml& node) const {
    const auto found = points_.find(node.text());
    if (found == points_.end()) node.fail(fmt::format("no device or switch is named '{}'", node.text()));
    return found->second;
  }

  /// Finds a device by name or by number.
  std::size_t device(const Yaml& node) const {
    if (points_.contains(node.text())) {
      const std::size_t p = point(node);
      if (p >= cluster_.listed()) node.fail("this is a switch, not a device");
      return p;
    }
    if (node.text().find_first_not_of("0123456789") != std::string::npos)
      node.fail(fmt::format("no device is named '{}'", node.text()));
    return static_cast<std::size_t>(node.integer(0, static_cast<std::int64_t>(cluster_.listed()) - 1));
  }

  static double speed(const Yaml& node) {
    constexpr double kMost = 1000;
    const double value = node.number();
    if (!(value > 0) || value > kMost) node.fail(fmt::format("expected a speed above 0, at most {}", kMost));
    return value;
  }

  static Picoseconds moment(const Yaml& node) {
    constexpr double kClock = 9e6;  // seconds, a little below 2^63 ps
    const core::Seconds time = node.seconds();
    if (time.value() > kClock)
      node.fail(fmt::format("the simulator's clock ends at {:.0f} days", kClock / 86400));
    return to_picoseconds(time);
  }

  void slow_device(const Yaml& node) {
    node.only({"device", "speed"});
    Perturbation::SlowDevice slow{device(node.at("device")), speed(node.at("speed")), node.place()};
    if (!seen_.insert(slow.device).second) node.at("device").fail("the device appears twice");
    out_.slow_devices.push_back(std::move(slow));
  }

  void straggler(const Yaml& node) {
    node.only({"device", "from", "to", "speed"});
    Perturbation::StragglerWindow straggler{device(node.at("device")), moment(node.at("from")),
                                            moment(node.at("to")), speed(node.at("speed")), node.place()};
    if (straggler.to <= straggler.from) node.at("to").fail("expected a time after 'from'");
    if (!device_windows_[straggler.device].take(straggler.from, straggler.to))
      node.fail("overlaps another window of the device");
    out_.stragglers.push_back(std::move(straggler));
  }

  void jitter(const std::string& kind, const Yaml& node) {
    std::vector<std::string> known;
    for (const TaskKind k : kKinds) {
      known.emplace_back(trace::name(k));
      if (kind == known.back()) out_.jitter.emplace(k, read_jitter(node));
    }
    if (std::find(known.begin(), known.end(), kind) == known.end())
      node.fail(fmt::format("unknown kind of task; {}", core::did_you_mean(kind, known)));
  }

  static Perturbation::TaskJitter read_jitter(const Yaml& node) {
    node.only({"lognormal", "normal", "uniform"});
    if (node.entries().size() != 1)
      node.fail("expected one distribution with its width, such as {lognormal: 5%}");
    Perturbation::TaskJitter jitter;
    for (const JitterDistribution d : kDistributions)
      if (const auto width = node.find(name(d))) jitter = {d, width->share(), node.place()};
    if (!(jitter.width > 0) || jitter.width > 1) node.fail("expected a width above 0%, at most 100%");
    return jitter;
  }

  void link_fault(const Yaml& node) {
    node.only({"from", "to", "at", "bandwidth", "restored", "both_ways"});
    const std::size_t from = point(node.at("from")), to = point(node.at("to"));
    if (!links_.contains({from, to})) node.fail(fmt::format("no link leads {}", way(from, to)));
    Perturbation::LinkFault fault;
    fault.name = fmt::format("{} to {}", cluster_.points()[from], cluster_.points()[to]);
    fault.at = moment(node.at("at"));
    fault.place = node.place();
    if (const auto restored = node.find("restored")) fault.restored = moment(*restored);
    if (fault.restored <= fault.at) node.at("restored").fail("expected a time after 'at'");
    add_links(fault, from, to, node);
    const auto both = node.find("both_ways");
    if (!both || both->flag()) add_links(fault, to, from, node);
    out_.link_faults.push_back(std::move(fault));
  }

  std::string way(std::size_t from, std::size_t to) const {
    return fmt::format("from '{}' to '{}'", cluster_.points()[from], cluster_.points()[to]);
  }

  /// Adds all links from one point to the other, if any.
  void add_links(Perturbation::LinkFault& fault, std::size_t from, std::size_t to, const Yaml& node) {
    const auto found = links_.find({from, to});
    if (found == links_.end()) return;
    for (const std::size_t link : found->second) {
      if (!link_windows_[link].take(fault.at, fault.restored))
        node.fail(fmt::format("overlaps another fault of the link {}", way(from, to)));
      fault.links.push_back({link, bandwidth_left(node.at("bandwidth"), cluster_.links()[link].bandwidth)});
    }
  }

  static core::Bandwidth bandwidth_left(const Yaml& node, core::Bandwidth whole) {
    if (node.text() == "down") return core::Bandwidth(0);
    const core::Bandwidth left = node.text().ends_with('%') ? whole * node.share() : node.bandwidth();
    if (left.value() > 0 && left <= whole) return left;
    node.fail("expected down, or something above zero and not above what the cluster file says");
  }

  const Cluster& cluster_;
  std::unordered_map<std::string, std::size_t> points_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> links_;  ///< {from, to}
  std::set<std::size_t> seen_;
  std::map<std::size_t, TimeWindows> device_windows_, link_windows_;
  Perturbation out_;
};

}  // namespace

Perturbation load_perturbation(const std::string& path, const Cluster& cluster) {
  return PerturbationReader(cluster).read(Yaml::load(path));
}

Perturbation parse_perturbation(const std::string& text, const std::string& file, const Cluster& cluster) {
  return PerturbationReader(cluster).read(Yaml::parse(text, file));
}

}  // namespace penstock::sim
