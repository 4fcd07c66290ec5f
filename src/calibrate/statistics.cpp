#include "penstock/calibrate/statistics.hpp"

#include <algorithm>

namespace penstock::calibrate {

cost::Timing summarise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) { return core::Seconds(quantile(times, share)); };
  const Ranks ranks = median_ranks(times.size());
  return {at(0.5),
          at(0.1),
          at(0.9),
          std::ssize(times),
          core::Seconds(times[ranks.low]),
          core::Seconds(times[ranks.high])};
}

}  // namespace penstock::calibrate
