#pragma once
// What speaks against a calibration, in numbers and in words.

#include <string>
#include <vector>

#include "penstock/cost/calibration.hpp"

namespace penstock::calibrate {

/// How well a median is known, as share of it: half its interval. Of a point with several visits, the median
/// of how far these are from their median, cold or back to back, whichever is more.
double noise(const cost::KernelPoint& point);
double noise(const cost::LinkPoint& point);
/// True where the median is known no better than to a twentieth.
bool noisy(const cost::KernelPoint& point);
bool noisy(const cost::LinkPoint& point);

/// Sentences, none when all is well: the machine was loaded; timings are noisy; predictions of shapes that
/// were not measured are worse than a guess.
std::vector<std::string> doubts(const cost::Calibration& calibration);

/// Links whose lines have a negative latency or slope, as older files do, are fitted anew from their points;
/// how many.
std::size_t refit_impossible(cost::Calibration& calibration);

}  // namespace penstock::calibrate
