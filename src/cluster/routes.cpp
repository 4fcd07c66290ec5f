#include "routes.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "penstock/core/error.hpp"

namespace penstock::cluster {

RouteFinder::RouteFinder(std::size_t points, const std::vector<Link>& links) : holds_(points) {
  for (const Link& link : links) links_.push_back({link.from, link.to});
  hang_trees();
  number_core();
}

void RouteFinder::hang_trees() {
  // [point] neighbours that are left, each with the first listed link to it.
  std::vector<std::map<std::size_t, std::size_t>> next(holds_.size());
  for (std::size_t l = 0; l < links_.size(); ++l) next[links_[l].from].emplace(links_[l].to, l);
  const auto back = [&](std::size_t from, std::size_t to) { return next[to].contains(from); };
  // Points that more neighbours lead to than they lead to stay in the core.
  std::vector<std::size_t> one_way(holds_.size(), 0);
  for (std::size_t p = 0; p < next.size(); ++p)
    for (const auto& [q, link] : next[p])
      if (!back(p, q)) ++one_way[p], ++one_way[q];
  std::deque<std::size_t> leaves;
  std::vector<bool> hung(holds_.size(), false);
  const auto look = [&](std::size_t p) {
    if (next[p].size() == 1 && one_way[p] == 0) leaves.push_back(p);
  };
  for (std::size_t p = 0; p < holds_.size(); ++p) {
    holds_[p].parent = p;
    look(p);
  }
  std::vector<std::size_t> order;
  while (!leaves.empty()) {
    const std::size_t p = leaves.front();
    leaves.pop_front();
    if (next[p].empty()) continue;  // the last point of a tree becomes its core
    const auto [parent, up] = *next[p].begin();
    holds_[p] = {parent, up, next[parent].at(p), 0, 0, 0};
    hung[p] = true;
    order.push_back(p);
    next[parent].erase(p);
    look(parent);
  }
  for (std::size_t p = 0; p < holds_.size(); ++p)
    if (!hung[p]) holds_[p].root = p;
  // Parents were attached after their children, so go backward.
  for (auto p = order.rbegin(); p != order.rend(); ++p) {
    holds_[*p].depth = holds_[holds_[*p].parent].depth + 1;
    holds_[*p].root = holds_[holds_[*p].parent].root;
  }
}

void RouteFinder::number_core() {
  std::size_t count = 0;
  for (std::size_t p = 0; p < holds_.size(); ++p)
    if (holds_[p].depth == 0) holds_[p].core_index = count++;
  outgoing_.resize(count);
  incoming_.resize(count);
  place_.resize(links_.size());
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const TreePosition &from = holds_[links_[l].from], &to = holds_[links_[l].to];
    if (from.depth > 0 || to.depth > 0) continue;
    outgoing_[from.core_index].push_back(l);
    place_[l] = static_cast<std::uint32_t>(incoming_[to.core_index].size());
    incoming_[to.core_index].push_back(l);
  }
  wide_of_.assign(count, -1);
  for (std::size_t p = 0; p < count; ++p) {
    if (incoming_[p].size() < kNone) continue;
    wide_of_[p] = static_cast<std::int32_t>(wide_.size());
    wide_.push_back(p);
  }
  rows_.resize(count);
  made_ = std::make_unique<std::once_flag[]>(count);  // NOLINT(modernize-avoid-c-arrays)
}

RouteFinder::LastLinks RouteFinder::search(std::size_t root, bool backward) const {
  LastLinks last(outgoing_.size(), -1);
  std::deque<std::size_t> frontier{root};
  while (!frontier.empty()) {
    const std::size_t at = holds_[frontier.front()].core_index;
    frontier.pop_front();
    for (const std::size_t l : backward ? incoming_[at] : outgoing_[at]) {
      const std::size_t next = backward ? links_[l].from : links_[l].to;
      std::int32_t& link = last[holds_[next].core_index];
      if (next == root || link >= 0) continue;
      link = static_cast<std::int32_t>(l);
      frontier.push_back(next);
    }
  }
  return last;
}

const RouteFinder::RouteRow& RouteFinder::row(std::size_t root) const {
  const std::size_t index = holds_[root].core_index;
  std::call_once(made_[index], [&] { rows_[index] = packed(search(root, false)); });
  return rows_[index];
}

RouteFinder::RouteRow RouteFinder::packed(const LastLinks& last) const {
  Places places;
  places.reserve(last.size());
  for (std::size_t p = 0; p < last.size(); ++p)
    places.push_back(last[p] < 0 || wide_of_[p] >= 0
                         ? kNone
                         : static_cast<std::uint8_t>(place_[static_cast<std::size_t>(last[p])]));
  RouteRow out = shared(std::move(places));
  out.many.reserve(wide_.size());
  for (const std::size_t p : wide_) out.many.push_back(last[p]);
  return out;
}

RouteFinder::RouteRow RouteFinder::shared(Places places) const {
  // Number of shared lists to compare with; a similar list differs in at most one of kAlike points.
  constexpr std::size_t kMostLooked = 64, kAlike = 32;
  const std::lock_guard lock(mutex_);
  RouteRow out;
  for (std::size_t i = 0; i < std::min(kMostLooked, places_.size()); ++i) {
    out.shared = &places_[i];
    out.other.clear();
    for (std::size_t p = 0; p < places.size() && out.other.size() <= places.size() / kAlike; ++p)
      if (places[p] != places_[i][p]) out.other.emplace_back(static_cast<std::uint32_t>(p), places[p]);
    if (out.other.size() <= places.size() / kAlike) return out;
  }
  return {&places_.emplace_back(std::move(places)), {}, {}};
}

std::int32_t RouteFinder::last_link(const RouteRow& row, std::size_t point) const {
  const std::size_t index = holds_[point].core_index;
  if (wide_of_[index] >= 0) return row.many[static_cast<std::size_t>(wide_of_[index])];
  const auto other = std::ranges::lower_bound(row.other, static_cast<std::uint32_t>(index), {},
                                              [](const auto& entry) { return entry.first; });
  const bool differs = other != row.other.end() && other->first == index;
  const std::uint8_t place = differs ? other->second : (*row.shared)[index];
  return place == kNone ? -1 : static_cast<std::int32_t>(incoming_[index][place]);
}

std::vector<std::size_t> RouteFinder::between(std::size_t from, std::size_t to) const {
  std::vector<std::size_t> links, down;
  // The deeper end climbs until both ends meet or both are in the core.
  while (from != to && holds_[from].depth + holds_[to].depth > 0) {
    if (holds_[from].depth >= holds_[to].depth) {
      links.push_back(holds_[from].up);
      from = holds_[from].parent;
    } else {
      down.push_back(holds_[to].down);
      to = holds_[to].parent;
    }
  }
  if (from != to) {
    const RouteRow& last = row(from);
    for (std::size_t point = to; point != from; point = links_[down.back()].from) {
      const std::int32_t link = last_link(last, point);
      core::require(link >= 0, "a way leads between two devices");
      down.push_back(static_cast<std::size_t>(link));
    }
  }
  links.insert(links.end(), down.rbegin(), down.rend());
  return links;
}

bool RouteFinder::reaches(std::size_t from, std::size_t to) const {
  const std::size_t a = holds_[from].root, b = holds_[to].root;
  return a == b || last_link(row(a), b) >= 0;
}

std::optional<std::pair<std::size_t, std::size_t>> RouteFinder::gap(std::size_t count) const {
  // All points reach each other if the first reaches all and all reach the first.
  const std::size_t first = holds_[0].root;
  const LastLinks to = search(first, false), from = search(first, true);
  const auto both_ways = [&](std::size_t p) {
    const TreePosition& root = holds_[holds_[p].root];
    return holds_[p].root == first || (to[root.core_index] >= 0 && from[root.core_index] >= 0);
  };
  std::size_t p = 0;
  while (p < count && both_ways(p)) ++p;
  if (p == count) return std::nullopt;
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b)
      if (a != b && !reaches(a, b)) return std::pair{a, b};
  return std::nullopt;
}

}  // namespace penstock::cluster
