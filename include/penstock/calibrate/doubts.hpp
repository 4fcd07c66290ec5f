#pragma once
// Problems of a calibration, as numbers and as sentences.

#include <string>
#include <vector>

#include "penstock/cost/calibration.hpp"

namespace penstock::calibrate {

/// Uncertainty of a median as share of it: half its interval. For a point with several visits, the median
/// distance of these from their median, the larger of cold and back to back.
double noise(const cost::KernelPoint& point);
double noise(const cost::LinkPoint& point);
/// True if the uncertainty of the median is above a twentieth.
bool noisy(const cost::KernelPoint& point);
bool noisy(const cost::LinkPoint& point);

/// Sentences, none for a sound calibration: the machine was loaded; timings are noisy; predictions of shapes
/// that were not measured are worse than a guess.
std::vector<std::string> doubts(const cost::Calibration& calibration);

/// Fits links again from their points if a line has a negative latency or slope, as in older files. Returns
/// the number of these links.
std::size_t refit_impossible(cost::Calibration& calibration);

}  // namespace penstock::calibrate
