#include "links/flows.hpp"

#include <algorithm>
#include <limits>

namespace penstock::replay {

void MessageFlows::start(std::size_t id, core::DeviceId from, core::DeviceId to, core::Bytes bytes,
                         core::Seconds now) {
  const cluster::Route route = cluster_.route(from, to);
  MessageFlow flow;
  flow.id = id;
  flow.links = route.links;
  flow.left = static_cast<double>(bytes.value());
  flow.due = (now + route.latency).value();
  flows_.push_back(std::move(flow));
}

std::optional<core::Seconds> MessageFlows::next() const {
  const auto first = std::min_element(
      flows_.begin(), flows_.end(), [](const MessageFlow& a, const MessageFlow& b) { return a.due < b.due; });
  return first == flows_.end() ? std::nullopt : std::optional(core::Seconds(first->due));
}

std::vector<std::size_t> MessageFlows::advance(core::Seconds now) {
  std::vector<std::size_t> ended;
  for (auto due = next(); due && *due <= now; due = next()) {
    const double time = due->value();
    std::erase_if(flows_, [&](const MessageFlow& flow) {
      const bool over = flow.flowing && flow.due <= time;
      if (over) ended.push_back(flow.id);
      return over;
    });
    for (MessageFlow& flow : flows_)
      if (!flow.flowing && flow.due <= time) flow.flowing = true, flow.since = time;
    share(time);
  }
  return ended;
}

void MessageFlows::share(double now) {
  const std::vector<double> rates = fair_rates();
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    MessageFlow& flow = flows_[f];
    if (!flow.flowing || flow.rate == rates[f]) continue;
    flow.left = std::max(0.0, flow.left - flow.rate * (now - flow.since));
    flow.since = now;
    flow.rate = rates[f];
    flow.due = now + flow.left / flow.rate;
  }
}

std::vector<double> MessageFlows::fair_rates() const {
  std::vector<double> rates(flows_.size());
  std::vector<double> room;  // [link] capacity not taken by flows with a fixed rate
  for (const cluster::Link& link : cluster_.links()) room.push_back(link.bandwidth.value());
  std::vector<int> open(room.size());
  for (const MessageFlow& flow : flows_)
    for (const std::size_t link : flow.links) open[link] += flow.flowing;
  for (;;) {
    std::size_t narrowest = room.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t link = 0; link < room.size(); ++link)
      if (open[link] > 0 && room[link] / open[link] < least)
        least = room[link] / open[link], narrowest = link;
    if (narrowest == room.size()) return rates;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      const auto& links = flows_[f].links;
      if (!flows_[f].flowing || rates[f] > 0) continue;
      if (std::find(links.begin(), links.end(), narrowest) == links.end()) continue;
      rates[f] = least;
      for (const std::size_t link : links) room[link] -= least, --open[link];
    }
  }
}

}  // namespace penstock::replay
