#include "flow_order.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "sweep.hpp"

namespace penstock::planners {

std::vector<std::vector<std::size_t>> rounds(const std::vector<PipelineFlow>& flows) {
  const std::size_t last = flows.size() - 1;
  std::vector<std::vector<std::size_t>> out = {{last}};
  std::map<int, std::vector<std::size_t>, std::greater<>> by_replicas;
  for (std::size_t i = last; i-- > 0;) {
    const int replicas = flows[i].replicas;
    by_replicas[replicas == 0 ? std::numeric_limits<int>::max() : replicas].push_back(i);
  }
  for (auto& [replicas, indices] : by_replicas) out.push_back(std::move(indices));
  return out;
}

bool hopeless(const cost::Problem& problem, const SearchOptions& options, const PipelineFlow& flow,
              core::Seconds fastest) {
  // Without a bound on simulation, devices may be faster than their type.
  const bool bounded = by_evaluation(options) && options.at_least && std::isfinite(fastest.value());
  if (flow.replicas == 0 || (!bounded && !std::isfinite(options.give_up.value()))) return false;
  const core::Seconds least = least_compute(problem, flow.samples / flow.replicas);
  return (bounded && least > fastest) || least >= options.give_up;
}

}  // namespace penstock::planners
