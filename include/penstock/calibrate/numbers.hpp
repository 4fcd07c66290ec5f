#pragma once
// The same things under the names of two rooms.

#include "penstock/cost/calibration.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::calibrate {

inline kernels::Number number_of(cluster::Precision precision) {
  return kernels::number(cluster::name(precision));
}

inline kernels::Pass kernel_pass(cost::Pass pass) {
  switch (pass) {
    case cost::Pass::forward:
      return kernels::Pass::forward;
    case cost::Pass::input_gradient:
      return kernels::Pass::input_gradient;
    case cost::Pass::weight_gradient:
      break;
  }
  return kernels::Pass::weight_gradient;
}

inline constexpr std::array kAllPasses = {cost::Pass::forward, cost::Pass::input_gradient,
                                          cost::Pass::weight_gradient};

}  // namespace penstock::calibrate
