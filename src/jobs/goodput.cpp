#include "penstock/jobs/goodput.hpp"

#include <cmath>

namespace penstock::jobs {

core::Seconds young_interval(const FailureCosts& costs) {
  return core::Seconds(std::sqrt(2 * costs.checkpoint.value() * costs.mtbf.value()));
}

core::Seconds daly_interval(const FailureCosts& costs) {
  const double mtbf = costs.mtbf.value(), checkpoint = costs.checkpoint.value();
  if (checkpoint >= 2 * mtbf) return costs.mtbf;
  const double share = checkpoint / (2 * mtbf);
  return core::Seconds(young_interval(costs).value() * (1 + std::sqrt(share) / 3 + share / 9) - checkpoint);
}

double goodput(const FailureCosts& costs, core::Seconds interval) {
  const double mtbf = costs.mtbf.value(), work = interval.value();
  const double segment = (work + costs.checkpoint.value()) / mtbf;
  return work / (mtbf * std::exp(costs.restart.value() / mtbf) * std::expm1(segment));
}

double waiting_share(core::Seconds mtbf, int spares, core::Seconds repair) {
  const double load = repair.value() / mtbf.value();
  double blocked = 1;  // with no line at all
  for (int lines = 1; lines <= spares + 1; ++lines) blocked = load * blocked / (lines + load * blocked);
  return blocked;
}

}  // namespace penstock::jobs
