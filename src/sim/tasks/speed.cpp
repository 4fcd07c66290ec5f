#include "tasks/speed.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::sim {

namespace {
constexpr double kForgiven = 1e-3;  // tolerance in ps of work, against rounding
}

void SpeedProfile::change(std::int64_t at, double speed) {
  if (!steps_.empty() && steps_.back().from == at) steps_.pop_back();
  steps_.push_back({at, speed});
}

std::int64_t SpeedProfile::finish(std::int64_t start, std::int64_t work) const {
  auto next = std::upper_bound(steps_.begin(), steps_.end(), start,
                               [](std::int64_t time, const SpeedStep& step) { return time < step.from; });
  double speed = next == steps_.begin() ? 1 : std::prev(next)->speed;
  if (speed == 1 && (next == steps_.end() || work <= next->from - start)) return start + work;
  auto left = static_cast<double>(work);
  for (; next != steps_.end(); ++next) {
    const double possible = speed * static_cast<double>(next->from - start);
    if (left <= possible + kForgiven) break;
    left -= possible;
    start = next->from;
    speed = next->speed;
  }
  if (speed > 0) return start + std::llround(left / speed);
  return left > kForgiven ? kNever : start;
}

double SpeedProfile::done(std::int64_t start, std::int64_t end) const {
  double speed = 1, sum = 0;
  for (const SpeedStep& step : steps_) {
    if (step.from >= end) break;
    if (step.from > start) {
      sum += speed * static_cast<double>(step.from - start);
      start = step.from;
    }
    speed = step.speed;
  }
  return sum + speed * static_cast<double>(end - start);
}

}  // namespace penstock::sim
