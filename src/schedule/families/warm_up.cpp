#include "warm_up.hpp"

#include <algorithm>

namespace penstock::schedule {
namespace {

Action weight_gradient_of(const Action& gradient) {
  return weight_gradient(gradient.stage, gradient.micro_batch);
}

}  // namespace

RankOrder warm_up_order(const WarmUp& order) {
  RankOrder row;
  const std::size_t passes = order.forwards.size();
  std::size_t f = std::min(passes, static_cast<std::size_t>(order.warm_up)), w = 0;
  row.assign(order.forwards.begin(), order.forwards.begin() + static_cast<std::ptrdiff_t>(f));
  for (std::size_t g = 0; g < passes; ++g) {
    if (f < passes) row.push_back(order.forwards[f++]);
    row.push_back(order.gradients[g]);
    if (order.lag && g >= static_cast<std::size_t>(*order.lag))
      row.push_back(weight_gradient_of(order.gradients[w++]));
  }
  while (order.lag && w < passes) row.push_back(weight_gradient_of(order.gradients[w++]));
  return row;
}

}  // namespace penstock::schedule
