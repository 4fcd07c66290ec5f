#include <algorithm>
#include <cmath>
#include <limits>

#include "evidence.hpp"

namespace penstock::check {
namespace {

std::string in_words(const Span& span) {
  return fmt::format("device {} to {}, {} bytes from {} ps", span.device.index(), span.peer.index(),
                     span.bytes.value(), span.start.value());
}

/// A message holds all links of its route from start to end, for the time of the route.
void check_fifo(TraceEvidence& evidence) {
  std::vector<std::vector<const Span*>> on(evidence.problem.cluster.links().size());
  const bool whole = evidence.perfect() || evidence.options.perturbation->link_faults.empty();
  for (const Span* span : evidence.moved) {
    const cluster::Route route = evidence.problem.cluster.route(span->device, span->peer);
    for (const std::size_t link : route.links) on[link].push_back(span);
    const std::int64_t late =
        (span->end - span->start).value() - core::to_picoseconds(route.time(span->bytes)).value();
    if (whole && evidence.steady_messages() && std::abs(late) > 1)
      evidence.violation("{}: takes {} ps more than its route", in_words(*span), late);
  }
  for (std::size_t l = 0; l < on.size(); ++l) {
    std::stable_sort(on[l].begin(), on[l].end(), [](const Span* a, const Span* b) {
      return std::tie(a->start, a->end) < std::tie(b->start, b->end);
    });
    for (std::size_t i = 1; i < on[l].size(); ++i)
      if (on[l][i]->start < on[l][i - 1]->end)
        evidence.violation("link {} carries two messages at once: {}, and {}", l, in_words(*on[l][i - 1]),
                           in_words(*on[l][i]));
  }
}

/// Adds up every message's bytes over time, at max-min fair rates of the messages under way (Bertsekas and
/// Gallager, Data Networks, 1992, section 6.5.2). No rate can grow unless a smaller one shrinks. The trace
/// gives the messages under way, so that an error of one does not spread to others.
class FairnessChecker {
 public:
  explicit FairnessChecker(TraceEvidence& evidence) : evidence_(evidence) {
    for (const cluster::Link& link : evidence.problem.cluster.links())
      capacity_.push_back(per_ps(link.bandwidth));
    whole_ = capacity_;
    left_.resize(capacity_.size());
    open_.resize(capacity_.size());
    for (const Span* span : evidence.moved) add(*span);
    if (!evidence.perfect()) add_faults();
    std::stable_sort(events_.begin(), events_.end(),
                     [](const FlowEvent& a, const FlowEvent& b) { return a.time < b.time; });
  }

  void check() {
    for (std::size_t e = 0; e < events_.size();) {
      const std::int64_t now = events_[e].time;
      for (; e < events_.size() && events_[e].time == now; ++e) happen(events_[e]);
      if (e < events_.size() && !active_.empty()) flow(static_cast<double>(events_[e].time - now));
    }
    for (const MessageFlow& flow : flows_) judge(flow);
  }

 private:
  struct MessageFlow {
    const Span* span;
    std::vector<std::size_t> links;
    double delivered = 0, rate = -1;
  };
  struct FlowEvent {
    std::int64_t time;
    enum { start, end, capacity } what;
    std::size_t index;  ///< of a flow or a link
    double capacity_then = 0;
  };

  static double per_ps(core::Bandwidth bandwidth) { return bandwidth.value() * 1e-12; }

  void add(const Span& span) {
    const cluster::Route route = evidence_.problem.cluster.route(span.device, span.peer);
    const std::int64_t flows_from = span.start.value() + core::to_picoseconds(route.latency).value();
    if (span.bytes.value() == 0) {
      if (flows_from != span.end.value())
        evidence_.violation("{}: nothing takes more than the latency", in_words(span));
      return;
    }
    if (flows_from >= span.end.value()) return evidence_.violation("{}: faster than latency", in_words(span));
    events_.push_back({flows_from, FlowEvent::start, flows_.size()});
    events_.push_back({span.end.value(), FlowEvent::end, flows_.size()});
    flows_.push_back({&span, route.links});
  }

  void add_faults() {
    for (const auto& fault : evidence_.options.perturbation->link_faults)
      for (const auto& left : fault.links) {
        events_.push_back({fault.at.value(), FlowEvent::capacity, left.link, per_ps(left.bandwidth)});
        if (fault.restored != sim::Perturbation::kNever)
          events_.push_back({fault.restored.value(), FlowEvent::capacity, left.link, whole_[left.link]});
      }
  }

  void happen(const FlowEvent& event) {
    if (event.what == FlowEvent::capacity) capacity_[event.index] = event.capacity_then;
    if (event.what == FlowEvent::start) active_.push_back(event.index);
    if (event.what == FlowEvent::end) std::erase(active_, event.index);
  }

  void flow(double time) {
    share_out();
    for (const std::size_t f : active_) flows_[f].delivered += flows_[f].rate * time;
  }

  /// Settles repeatedly the flows of the link that allows its flows the least.
  void share_out() {
    std::vector<std::size_t> links;
    for (const std::size_t f : active_) {
      flows_[f].rate = -1;
      for (const std::size_t l : flows_[f].links)
        if (open_[l]++ == 0) links.push_back(l), left_[l] = capacity_[l];
    }
    for (std::size_t settled = 0; settled < active_.size();) {
      std::size_t least = links.front();
      double rate = std::numeric_limits<double>::max();
      for (const std::size_t l : links)
        if (open_[l] > 0 && left_[l] / open_[l] < rate) rate = left_[l] / open_[l], least = l;
      for (const std::size_t f : active_) {
        MessageFlow& flow = flows_[f];
        if (flow.rate >= 0 || std::find(flow.links.begin(), flow.links.end(), least) == flow.links.end())
          continue;
        flow.rate = std::max(rate, 0.0);
        ++settled;
        for (const std::size_t l : flow.links) left_[l] -= flow.rate, --open_[l];
      }
    }
  }

  /// A message ends with the first whole picosecond by which its bytes have arrived.
  void judge(const MessageFlow& flow) {
    double most = std::numeric_limits<double>::max();
    for (const std::size_t l : flow.links) most = std::min(most, whole_[l]);
    const auto bytes = static_cast<double>(flow.span->bytes.value());
    const double rounding = 1e-9 * bytes + 1e-6;
    if (flow.delivered < bytes - 0.002 * most - rounding)
      evidence_.violation("{}: arrives when its links have carried {:.1f} bytes", in_words(*flow.span),
                          flow.delivered);
    if (flow.delivered > bytes + most + rounding)
      evidence_.violation("{}: ends late, its links could have carried {:.1f} bytes", in_words(*flow.span),
                          flow.delivered);
  }

  TraceEvidence& evidence_;
  std::vector<double> capacity_, whole_;  ///< [link], bytes per ps: now, and without link faults
  std::vector<double> left_;              ///< [link] not given to settled flows
  std::vector<int> open_;                 ///< [link] flows not settled
  std::vector<MessageFlow> flows_;
  std::vector<FlowEvent> events_;
  std::vector<std::size_t> active_;
};

}  // namespace

void check_network(TraceEvidence& evidence) {
  if (evidence.options.network == sim::NetworkModel::fifo)
    check_fifo(evidence);
  else if (evidence.steady_messages())
    FairnessChecker(evidence).check();
}

}  // namespace penstock::check
