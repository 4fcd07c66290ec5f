#include "support/water_filling.hpp"

#include <algorithm>
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

std::vector<Real> fair_ends(const FlowSet& set) {
  constexpr Real kNever = std::numeric_limits<Real>::max();
  const std::size_t count = set.flows.size();
  std::vector<Real> left, end(count, -1);
  for (const Flow& flow : set.flows) left.push_back(static_cast<Real>(flow.bytes));
  for (Real now = 0;;) {
    std::vector<std::size_t> moving;
    std::vector<std::vector<std::uint32_t>> routes;
    Real next = kNever;
    for (std::size_t f = 0; f < count; ++f) {
      if (end[f] >= 0) continue;
      const Real joins = static_cast<Real>(set.flows[f].start + set.flows[f].latency);
      if (joins > now) {
        next = std::min(next, joins);
      } else if (left[f] <= 1e-9L) {
        end[f] = now;
      } else {
        moving.push_back(f);
        routes.push_back(set.flows[f].route);
      }
    }
    const auto rates = fair_rates(set.capacity, routes);
    for (std::size_t i = 0; i < moving.size(); ++i) next = std::min(next, now + left[moving[i]] / rates[i]);
    if (next == kNever) return end;
    for (std::size_t i = 0; i < moving.size(); ++i) left[moving[i]] -= rates[i] * (next - now);
    now = next;
  }
}

}  // namespace penstock::support
