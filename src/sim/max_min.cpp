#include "max_min.hpp"

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
  flows_[id] = {route, 0, 0, false};
  for (const LinkId l : route) links_[l].flows.push_back(id);
  touched_.push_back(route.front());  // reaches the others
  return id;
}

void MaxMin::remove(FlowId id) {
  for (const LinkId l : flows_[id].route) {
    auto& flows = links_[l].flows;
    *std::find(flows.begin(), flows.end(), id) = flows.back();
    flows.pop_back();
    touched_.push_back(l);
  }
  free_.push_back(id);
}

/// The component of a link that this round has not reached yet; false when there is none or no flow in it.
bool MaxMin::collect(LinkId seed) {
  reached_links_.clear();
  reached_flows_.clear();
  reach(seed);
  for (std::size_t i = 0; i < reached_links_.size(); ++i)
    for (const FlowId f : links_[reached_links_[i]].flows) {
      Flow& flow = flows_[f];
      if (flow.reached == round_) continue;
      flow.reached = round_;
      flow.open = true;
      reached_flows_.push_back(f);
      for (const LinkId l : flow.route) reach(l);
    }
  return !reached_flows_.empty();
}

void MaxMin::reach(LinkId id) {
  Link& link = links_[id];
  if (link.reached == round_) return;
  link.reached = round_;
  link.left = link.capacity;
  link.open = static_cast<std::uint32_t>(link.flows.size());
  reached_links_.push_back(id);
}

/// A link's level only rises while other links stop its flows, so a level is looked at again when it comes up.
void MaxMin::fill() {
  levels_.clear();
  for (const LinkId l : reached_links_)
    if (links_[l].open > 0) levels_.push_back({links_[l].left / links_[l].open, l});
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    Level& level = levels_.back();
    const Link& link = links_[level.link];
    const double now = link.open > 0 ? link.left / link.open : 0;
    if (now > level.rate) {
      level.rate = now;
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
      continue;
    }
    if (link.open > 0) stop_flows(link, level.rate);
    levels_.pop_back();
  }
}

void MaxMin::stop_flows(const Link& full, double rate) {
  for (const FlowId f : full.flows) {
    Flow& flow = flows_[f];
    if (!flow.open) continue;
    flow.open = false;
    flow.rate = rate;
    for (const LinkId l : flow.route) {
      links_[l].left -= rate;
      --links_[l].open;
    }
  }
}

}  // namespace penstock::sim
