#pragma once
// A precision under the names of two rooms.

#include "penstock/cost/calibration.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::calibrate {

inline kernels::Number number_of(cluster::Precision precision) {
  return kernels::number(cluster::name(precision));
}

}  // namespace penstock::calibrate
