#pragma once
// Conversion of a precision between two rooms.

#include "penstock/cost/calibration.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::calibrate {

inline kernels::Precision precision_of(cluster::Precision precision) {
  return kernels::precision(cluster::name(precision));
}

}  // namespace penstock::calibrate
