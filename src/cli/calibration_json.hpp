#pragma once
// JSON form of `penstock calibrate report`, for programs.

#include <string>

#include "penstock/cost/calibration.hpp"

namespace penstock::cli {

/// One object, in the order of the tables. Every key is always there; lists may be empty. Names end in their
/// unit (s, bytes, bytes_per_s, flop_per_s; errors are shares). `bytes_per_s` of a link is null where its
/// time does not grow. The keys are listed in the command's --help.
std::string calibration_json(const cost::Calibration& calibration);

}  // namespace penstock::cli
