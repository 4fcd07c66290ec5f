#include "support/water_filling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::support {

using Real = long double;

std::vector<Real> fair_rates(const std::vector<double>& capacity,
                             const std::vector<std::vector<std::uint32_t>>& routes) {
  std::vector<Real> rate(routes.size(), 0);
  std::vector<bool> stopped(routes.size(), false);
  const auto crosses = [&](std::size_t f, std::size_t l) {
    return std::find(routes[f].begin(), routes[f].end(), l) != routes[f].end();
  };
  for (;;) {
    Real step = std::numeric_limits<Real>::max();
    std::vector<Real> step_of(capacity.size(), step);
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      Real left = capacity[l];
      int rising = 0;
      for (std::size_t f = 0; f < routes.size(); ++f)
        if (crosses(f, l)) left -= rate[f], rising += stopped[f] ? 0 : 1;
      if (rising > 0) step_of[l] = std::max<Real>(left, 0) / rising;
      step = std::min(step, step_of[l]);
    }
    if (step == std::numeric_limits<Real>::max()) return rate;
    for (std::size_t f = 0; f < routes.size(); ++f)
      if (!stopped[f]) rate[f] += step;
    for (std::size_t l = 0; l < capacity.size(); ++l)
      if (step_of[l] <= step + 1e-15L)
        for (std::size_t f = 0; f < routes.size(); ++f)
          if (crosses(f, l)) stopped[f] = true;
  }
}

namespace {

constexpr Real kNever = std::numeric_limits<Real>::max();

/// Flows on their way, and how time passes: left to right in steps in which no rate changes.
class FlowRace {
 public:
  FlowRace(const FlowSet& set, bool clock) : set_(set), clock_(clock), capacity_(set.capacity) {
    end_.assign(set.flows.size(), -1);
    for (const TimedFlow& flow : set.flows) left_.push_back(static_cast<Real>(flow.bytes));
  }

  std::vector<Real> run() {
    while (now_ != kNever) step();
    return end_;
  }

 private:
  void step() {
    Real next = change_capacities();
    std::vector<std::size_t> moving;
    std::vector<std::vector<std::uint32_t>> routes;
    for (std::size_t f = 0; f < left_.size(); ++f) {
      if (end_[f] >= 0) continue;
      const auto joins = static_cast<Real>(set_.flows[f].start + set_.flows[f].latency);
      if (joins > now_) {
        next = std::min(next, joins);
      } else if (left_[f] <= 1e-9L) {
        end_[f] = now_;
      } else {
        moving.push_back(f);
        routes.push_back(set_.flows[f].route);
      }
    }
    const auto rates = fair_rates(capacity_, routes);
    for (std::size_t i = 0; i < moving.size(); ++i)
      next = std::min(next, now_ + wait(left_[moving[i]], rates[i]));
    if (next != kNever)
      for (std::size_t i = 0; i < moving.size(); ++i) move(left_[moving[i]], rates[i], next - now_);
    now_ = next;
  }

  /// Makes the changes that are due; returns the time of the next one.
  Real change_capacities() {
    for (; change_ < set_.changes.size(); ++change_) {
      const auto& change = set_.changes[change_];
      if (static_cast<Real>(change.time) > now_) return static_cast<Real>(change.time);
      capacity_[change.link] = change.capacity;
    }
    return kNever;
  }

  Real wait(Real left, Real rate) const {
    if (rate <= 0) return kNever;
    return clock_ ? std::max<Real>(1, std::ceil(left / rate - kForgiven)) : left / rate;
  }

  void move(Real& left, Real rate, Real time) const {
    left -= rate * time;
    if (clock_ && left <= kForgiven * rate) left = 0;
  }

  static constexpr Real kForgiven = 1e-3L;  // ps
  const FlowSet& set_;
  bool clock_;
  std::vector<double> capacity_;
  std::vector<Real> left_, end_;
  std::size_t change_ = 0;
  Real now_ = 0;
};

}  // namespace

std::vector<Real> fair_ends(const FlowSet& set) {
  return FlowRace(set, false).run();
}

std::vector<std::int64_t> fair_ends_by_clock(const FlowSet& set) {
  std::vector<std::int64_t> out;
  for (const Real end : FlowRace(set, true).run()) out.push_back(static_cast<std::int64_t>(end));
  return out;
}

}  // namespace penstock::support
