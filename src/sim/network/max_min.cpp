#include "network/max_min.hpp"

#include <algorithm>
#include <functional>

namespace penstock::sim {

MaxMin::MaxMin(const std::vector<double>& capacity) : links_(capacity.size()) {
  for (std::size_t l = 0; l < capacity.size(); ++l) links_[l].capacity = capacity[l];
}

MaxMin::FlowId MaxMin::add(std::span<const LinkId> route) {
  if (free_.empty()) {
    free_.push_back(static_cast<FlowId>(flows_.size()));
    flows_.emplace_back();
  }
  const FlowId id = free_.back();
  free_.pop_back();
  FlowState& flow = flows_[id];
  flow.route = route;
  flow.tight.clear();
  flow.rate = 0;
  flow.reached = 0;
  widen(flow);
  for (const LinkId l : route) {
    LinkState& link = links_[l];
    if (link.tight) flow.tight.push_back(l);
    link.flows.push_back(id);
    tighten_or_slacken(l);
  }
  touched_.push_back(route.front());  // its flows, including this one, reach the others
  return id;
}

void MaxMin::remove(FlowId id) {
  for (const LinkId l : flows_[id].route) {
    auto& flows = links_[l].flows;
    *std::find(flows.begin(), flows.end(), id) = flows.back();
    flows.pop_back();
    tighten_or_slacken(l);
    touched_.push_back(l);
  }
  free_.push_back(id);
}

/// The flows of the link may be able to take more than before, and then fill other links.
void MaxMin::set_capacity(LinkId id, double capacity) {
  LinkState& changed = links_[id];
  changed.capacity = capacity;
  for (const FlowId f : changed.flows) {
    widen(flows_[f]);
    for (const LinkId l : flows_[f].route) tighten_or_slacken(l);
  }
  tighten_or_slacken(id);
  touched_.push_back(id);
}

void MaxMin::widen(const FlowState& flow) {
  double most = links_[flow.route.front()].capacity;
  for (const LinkId l : flow.route) most = std::min(most, links_[l].capacity);
  for (const LinkId l : flow.route) links_[l].widest = std::max(links_[l].widest, most);
}

/// A link that can carry the maximum of every flow, with a margin for rounding, never fills. No rate depends
/// on it, and flows that share it do not interact.
void MaxMin::tighten_or_slacken(LinkId id) {
  constexpr double kMargin = 1 + 1e-9;
  LinkState& link = links_[id];
  const bool tight = link.capacity <= link.widest * static_cast<double>(link.flows.size()) * kMargin;
  if (tight == link.tight) return;
  link.tight = tight;
  for (const FlowId f : link.flows) {
    auto& links = flows_[f].tight;
    tight ? links.push_back(id) : static_cast<void>(links.erase(std::find(links.begin(), links.end(), id)));
  }
}

/// Collects the component of a flow not yet reached in this round.
void MaxMin::collect(FlowId seed) {
  reached_links_.clear();
  reached_flows_.clear();
  reach_flow(seed);
  for (std::size_t i = 0; i < reached_links_.size(); ++i)
    for (const FlowId f : links_[reached_links_[i]].flows) reach_flow(f);
  open_ = reached_flows_.size();
}

void MaxMin::reach_flow(FlowId id) {
  FlowState& flow = flows_[id];
  if (flow.reached == round_) return;
  flow.reached = round_;
  flow.open = true;
  reached_flows_.push_back(id);
  for (const LinkId l : flow.tight) reach_link(l);
}

void MaxMin::reach_link(LinkId id) {
  LinkState& link = links_[id];
  if (link.reached == round_) return;
  link.reached = round_;
  link.left = link.capacity;
  link.open = static_cast<std::uint32_t>(link.flows.size());
  reached_links_.push_back(id);
}

/// A link's level only rises while other links stop its flows, so a level is checked again when it comes up.
void MaxMin::fill() {
  levels_.clear();
  for (const LinkId l : reached_links_) levels_.push_back({links_[l].capacity / links_[l].open, l});
  // 1. The level of a link is its capacity divided by its open flows.
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  while (open_ > 0) {
    // 2. The link of the lowest level fills first.
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    LinkLevel& level = levels_.back();
    const LinkState& link = links_[level.link];
    const double now = link.open > 0 ? link.left / link.open : 0;
    // 3. Its level may have risen since flows were stopped elsewhere: put it back with the new level.
    if (now > level.rate) {
      level.rate = now;
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
      continue;
    }
    // 4. The flows of a full link stop at its level; the rest of their links is left to other flows.
    if (link.open > 0) stop_flows(link, level.rate);
    levels_.pop_back();
  }
}

void MaxMin::stop_flows(const LinkState& full, double rate) {
  for (const FlowId f : full.flows) {
    FlowState& flow = flows_[f];
    if (!flow.open) continue;
    flow.open = false;
    flow.rate = rate;
    --open_;
    for (const LinkId l : flow.tight) {
      links_[l].left -= rate;
      --links_[l].open;
    }
  }
}

}  // namespace penstock::sim
