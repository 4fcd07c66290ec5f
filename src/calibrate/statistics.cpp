#include "penstock/calibrate/statistics.hpp"

#include <algorithm>

namespace penstock::calibrate {

cost::TimingSummary summarise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) { return core::Seconds(quantile(times, share)); };
  const MedianRanks ranks = median_ranks(times.size());
  return {at(0.5),
          at(0.1),
          at(0.9),
          std::ssize(times),
          core::Seconds(times[ranks.low]),
          core::Seconds(times[ranks.high])};
}

namespace {

std::vector<cost::TimingRound> visits(const cost::KernelPoint& point) {
  if (!point.visits.empty()) return point.visits;
  return {{point.cold.median, point.back_to_back.median}};
}

cost::TimingSummary over(const std::vector<cost::TimingRound>& visits,
                         core::Seconds cost::TimingRound::*which, std::int64_t count) {
  std::vector<double> medians;
  for (const cost::TimingRound& visit : visits) medians.push_back((visit.*which).value());
  cost::TimingSummary out = summarise(std::move(medians));
  out.count = count;
  return out;
}

}  // namespace

cost::KernelPoint joined(const cost::KernelPoint& earlier, const cost::KernelPoint& later) {
  cost::KernelPoint out = later;
  out.visits = visits(earlier);
  for (const cost::TimingRound& visit : visits(later)) out.visits.push_back(visit);
  out.cold = over(out.visits, &cost::TimingRound::cold, earlier.cold.count + later.cold.count);
  out.back_to_back = over(out.visits, &cost::TimingRound::back_to_back,
                          earlier.back_to_back.count + later.back_to_back.count);
  return out;
}

}  // namespace penstock::calibrate
