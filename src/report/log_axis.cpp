#include "log_axis.hpp"

#include <cmath>

namespace penstock::report {
namespace {

constexpr double kSame = 1e-9;  ///< logarithms that differ by less are equal

double step_below(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value) + kSame));
  for (const double step : {5.0, 2.0})
    if (value >= step * decade * (1 - kSame)) return step * decade;
  return decade;
}

double step_after(double step) {
  const double digit = step / std::pow(10, std::floor(std::log10(step) + kSame));
  return digit < 1.5 ? step * 2 : digit < 3 ? step * 2.5 : step * 2;
}

}  // namespace

LogAxis::LogAxis(double least, double most, int pixels)
    : low_(std::log10(step_below(least))), high_(std::log10(most)), pixels_(pixels) {
  ticks_.push_back(std::pow(10, low_));
  do ticks_.push_back(step_after(ticks_.back()));
  while (std::log10(ticks_.back()) < high_ - kSame);
  high_ = std::log10(ticks_.back());
}

bool LogAxis::labelled(double tick) const {
  constexpr std::size_t kMostLabels = 9;
  const double decade = std::log10(tick);
  return ticks_.size() <= kMostLabels || std::abs(decade - std::round(decade)) < kSame;
}

Tenths LogAxis::at(double value) const {
  return LineScale{high_ - low_, pixels_ * kPixel}.at(std::log10(value) - low_);
}

}  // namespace penstock::report
