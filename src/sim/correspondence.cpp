#include "correspondence.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "penstock/core/digest.hpp"
#include "penstock/core/varint.hpp"
#include "penstock/cost/stage_memo.hpp"

namespace penstock::sim {

using cluster::Link;

LinksAt::LinksAt(const cluster::Cluster& cluster, std::size_t Link::*end)
    : begin_(cluster.points().size() + 1), links_(cluster.links().size()) {
  for (const Link& link : cluster.links()) ++begin_[link.*end + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (const Link& link : cluster.links()) links_[next[link.*end]++] = &link;
}

PointCorrespondence::PointCorrespondence(const cost::Problem& problem)
    : problem_(problem),
      cluster_(problem.cluster),
      leaving_(cluster_, &Link::from),
      entering_(cluster_, &Link::to) {}

bool PointCorrespondence::holds(const plan::Plan& plan, std::size_t parts) {
  for (std::vector<std::size_t>* of : {&owner_, &origin_, &image_})
    of->assign(cluster_.points().size(), kNobody);
  hubs_.clear();
  mapped_.clear();
  for (std::size_t part = 1; part < parts; ++part)
    if (!matches(plan, parts, part)) return false;
  if (!std::ranges::all_of(hubs_, [&](std::size_t hub) { return same_order(hub, parts); })) return false;
  return hubs_.size() <= 1 || known_to_stay_within();
}

bool PointCorrespondence::matches(const plan::Plan& plan, std::size_t parts, std::size_t part) {
  part_ = part;
  for (const std::size_t p : mapped_) image_[p] = kNobody;
  mapped_.clear();
  open_.clear();
  for (const plan::Stage& stage : plan.stages) {
    const std::size_t width = stage.devices.size() / parts;
    for (std::size_t d = 0; d < width; ++d)
      if (!match(stage.devices[d].index(), stage.devices[part * width + d].index())) return false;
  }
  while (!open_.empty()) {
    const std::size_t p = open_.back();
    open_.pop_back();
    if (!match_ends(leaving_, p, &Link::to) || !match_ends(entering_, p, &Link::from)) return false;
  }
  return true;
}

/// Among paths of equal length the first listed counts (cluster::Cluster::route), so every part's links from
/// a hub must be listed in the same order.
bool PointCorrespondence::same_order(std::size_t hub, std::size_t parts) const {
  std::vector<std::size_t> first;
  for (const Link* link : leaving_.of(hub))
    if (owner_[link->to] == 0) first.push_back(link->to);
  std::vector<std::size_t> met(parts);
  for (const Link* link : leaving_.of(hub)) {
    const std::size_t part = owner_[link->to];
    if (part == 0 || part >= parts) continue;
    if (met[part] == first.size() || origin_[link->to] != first[met[part]]) return false;
    ++met[part];
  }
  return std::all_of(met.begin() + 1, met.end(), [&](std::size_t n) { return n == first.size(); });
}

bool PointCorrespondence::match_ends(const LinksAt& at, std::size_t p, std::size_t Link::*end) {
  const auto ours = at.of(p), theirs = at.of(image_[p]);
  if (ours.size() != theirs.size()) return false;
  for (std::size_t k = 0; k < ours.size(); ++k)
    if (ours[k]->bandwidth != theirs[k]->bandwidth || ours[k]->latency != theirs[k]->latency ||
        !match(ours[k]->*end, theirs[k]->*end))
      return false;
  return true;
}

/// True if point `q` can serve this part as `p` serves the first.
bool PointCorrespondence::match(std::size_t p, std::size_t q) {
  if (p == q) return may_be_hub(p);
  if (image_[p] != kNobody) return image_[p] == q;
  if (owner_[q] != kNobody || !alike(p, q) || !is_first(p)) return false;
  owner_[q] = part_;
  origin_[q] = p;
  image_[p] = q;
  mapped_.push_back(p);
  open_.push_back(p);
  return true;
}

bool PointCorrespondence::may_be_hub(std::size_t p) {
  if (p < cluster_.listed()) return false;
  if (owner_[p] == kNobody) {
    owner_[p] = kHub;
    hubs_.push_back(p);
  }
  return owner_[p] == kHub;
}

/// True if the point belongs to the first part; assigns it if it belongs to none.
bool PointCorrespondence::is_first(std::size_t point) {
  if (owner_[point] == kNobody) owner_[point] = 0;
  return owner_[point] == 0;
}

bool PointCorrespondence::alike(std::size_t p, std::size_t q) const {
  if (p >= cluster_.listed() || q >= cluster_.listed())
    return p >= cluster_.listed() && q >= cluster_.listed();
  if (p >= cluster_.size() || q >= cluster_.size()) return p >= cluster_.size() && q >= cluster_.size();
  return cluster_.devices()[p].type == cluster_.devices()[q].type;
}

/// Cached in the problem: many plans divide a network into the same parts.
bool PointCorrespondence::known_to_stay_within() {
  std::string owners;
  for (const std::size_t owner : owner_) core::append_varint(owners, owner);
  cost::StageKey key((core::digest(owners) + " ways").c_str(), plan::Stage{});
  return *cost::StageMemo::recall(problem_, key, [&] { return ways_stay_within(); });
}

/// True if the shortest path between two devices of a part uses no other part's points. It passes a hub at
/// most once, so one hub cannot lead to another part and back. With several hubs, one may lead there and
/// another back, unless a part's own path from the point before the first hub to the second is shorter. All
/// parts are equal, so the first is checked, and points that no part reaches.
bool PointCorrespondence::ways_stay_within() {
  for (const std::size_t to : hubs_) {
    find_distances(to);
    for (const std::size_t by : hubs_) {
      if (by == to) continue;
      const std::size_t beyond = least_distance(leaving_.of(by), &Link::to);
      for (const Link* link : entering_.of(by)) {
        if (owner_[link->from] == kHub) return false;  // all parts share the link
        if (owner_[link->from] == 0 && beyond != kNoWay && distance_[link->from] >= beyond + 2) return false;
      }
    }
  }
  return true;
}

std::size_t PointCorrespondence::least_distance(std::span<const Link* const> links,
                                                std::size_t Link::*end) const {
  std::size_t least = kNoWay;
  for (const Link* link : links) least = std::min(least, distance_[link->*end]);
  return least;
}

/// Computes the number of links to a hub, through no other hub, from each point of the first part and of no
/// part.
void PointCorrespondence::find_distances(std::size_t hub) {
  distance_.assign(cluster_.points().size(), kNoWay);
  distance_[hub] = 0;
  std::vector<std::size_t> queue{hub};
  for (std::size_t next = 0; next < queue.size(); ++next)
    for (const Link* link : entering_.of(queue[next]))
      if (const std::size_t owner = owner_[link->from];
          (owner == 0 || owner == kNobody) && distance_[link->from] == kNoWay) {
        distance_[link->from] = distance_[queue[next]] + 1;
        queue.push_back(link->from);
      }
}

}  // namespace penstock::sim
