#include "local/placement_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "penstock/core/varint.hpp"

namespace penstock::planners {
namespace {

/// {point, neighbour} to the links between them, in both directions, in any order.
using Cables = std::map<std::pair<std::size_t, std::size_t>, std::multiset<std::string>>;

Cables cables_of(const cluster::Cluster& cluster) {
  Cables out;
  for (const cluster::Link& link : cluster.links()) {
    const auto says = [&](const char* way) {
      return fmt::format("{}{:a},{:a}", way, link.bandwidth.value(), link.latency.value());
    };
    out[{link.from, link.to}].insert(says("up"));
    out[{link.to, link.from}].insert(says("down"));
  }
  return out;
}

}  // namespace

PlacementForm::PlacementForm(const cluster::Cluster& cluster) : devices_(cluster.size()) {
  if (!cluster.given_routes().empty()) return;
  for (const cluster::Device& device : cluster.devices()) type_.push_back(std::to_string(device.type));
  peel(cluster);
  check_nodes(cluster);
}

/// Repeatedly removes a point with one neighbour, its parent; for a tree one point remains, the root.
void PlacementForm::peel(const cluster::Cluster& cluster) {
  const Cables cables = cables_of(cluster);
  std::map<std::string, std::size_t> kinds;
  points_.resize(cluster.points().size());
  std::vector<std::set<std::size_t>> neighbours(points_.size());
  for (const auto& [pair, links] : cables) neighbours[pair.first].insert(pair.second);
  for (std::size_t p = 0; p < points_.size(); ++p)
    if (neighbours[p].size() == 1) order_.push_back(p);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::size_t p = order_[i];
    if (neighbours[p].empty()) continue;  // the root
    const std::size_t parent = *neighbours[p].begin();
    const std::string cable = fmt::format("{}", fmt::join(cables.at({p, parent}), " "));
    points_[p] = {parent, fmt::format("~{}", kinds.try_emplace(cable, kinds.size()).first->second)};
    neighbours[p].clear();
    neighbours[parent].erase(p);
    if (neighbours[parent].size() == 1) order_.push_back(parent);
  }
  tree_ = points_.size() > 1 && order_.size() == points_.size();  // points of a circle keep two neighbours
}

/// Checks nodes, which costs depend on: the devices below a point must be exactly those of one node, or each
/// must be a node.
void PlacementForm::check_nodes(const cluster::Cluster& cluster) {
  if (!tree_) return;
  std::map<std::size_t, std::multiset<int>> below;  // [point] nodes of its devices
  std::map<int, std::set<std::size_t>> above;       // [node] points
  for (std::size_t d = 0; d < devices_; ++d) {
    below[points_[d].parent].insert(cluster.devices()[d].node);
    above[cluster.devices()[d].node].insert(points_[d].parent);
  }
  for (const auto& [point, nodes] : below) {
    const std::size_t different = std::set<int>(nodes.begin(), nodes.end()).size();
    tree_ = tree_ && (different == 1 || different == nodes.size());
  }
  for (const auto& [node, points] : above) tree_ = tree_ && points.size() == 1;
}

std::optional<std::string> PlacementForm::of(const std::vector<plan::Stage>& stages) const {
  if (!tree_) return std::nullopt;
  // Name of a device: for each of its stages the number plus one and its position there; then zero, its type,
  // and the names below it.
  std::vector<std::string> name(points_.size());
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (std::size_t i = 0; i < stages[s].devices.size(); ++i) {
      std::string& of = name[stages[s].devices[i].index()];
      core::append_varint(of, s + 1);
      core::append_varint(of, i);
    }
  std::vector<std::vector<std::string>> below(points_.size());
  for (const std::size_t p : order_) {
    // Points without stages on or below them carry nothing.
    if (name[p].empty() && below[p].empty()) continue;
    std::sort(below[p].begin(), below[p].end());
    std::string& mine = name[p];
    mine += '\0';
    if (p < devices_) mine += type_[p];
    for (const std::string& part : below[p]) mine += part;
    if (p == order_.back()) return mine;
    below[points_[p].parent].push_back(points_[p].cable + '(' + mine + ')');
  }
  return std::string();  // no stages
}

}  // namespace penstock::planners
