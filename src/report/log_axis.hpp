#pragma once
// A logarithmic axis of a picture. Private to the room.

#include <vector>

#include "svg.hpp"

namespace penstock::report {

/// From the largest step of 1, 2, 5, 10, ... at or below `least`, which is above zero, to the smallest at or
/// above `most`.
class LogAxis {
 public:
  LogAxis(double least, double most, int pixels);
  const std::vector<double>& ticks() const { return ticks_; }
  /// True if a tick has room for its number; with many ticks only whole decades have.
  bool labelled(double tick) const;
  /// Distance from the origin.
  Tenths at(double value) const;

 private:
  double low_, high_;  ///< logarithms
  int pixels_;
  std::vector<double> ticks_;
};

}  // namespace penstock::report
