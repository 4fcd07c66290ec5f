#include "penstock/cost/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernel_curves.hpp"
#include "penstock/core/statistics.hpp"
#include "penstock/cost/cold_share.hpp"

namespace penstock::cost {
namespace {

using Errors = std::map<std::pair<graph::OpKind, FoldKind>, std::vector<double>>;

double error(double predicted, double measured) {
  return std::abs(predicted / measured - 1);
}

void hold_out_samples(const KernelCurves& curves, const KernelCurve& curve, Errors& errors) {
  for (std::size_t i = 0; i < curve.points.size() && curve.points.size() > 1; ++i) {
    KernelCurve others = curve;
    others.points.erase(others.points.begin() + static_cast<std::ptrdiff_t>(i));
    const KernelPrediction predicted = curves.on(others, curve.points[i].units);
    errors[{curve.key.kind, predicted.fold}].push_back(error(predicted.seconds, curve.points[i].seconds));
  }
}

void hold_out_shape(const KernelCurves& curves, const KernelCurve& curve, Errors& errors) {
  const auto way = curves.way_without(curve);
  if (!way) return;
  for (const KernelCurve::CurvePoint& point : curve.points) {
    const KernelPrediction predicted = curves.predict(*way, point.units);
    errors[{curve.key.kind, predicted.fold}].push_back(error(predicted.seconds, point.seconds));
  }
}

}  // namespace

std::vector<LeaveOneOutRow> leave_one_out(const Calibration& calibration, double cold_share) {
  const KernelCurves curves(calibration, cold_share);
  Errors errors;
  for (const KernelCurve& curve : curves.curves()) {
    hold_out_samples(curves, curve, errors);
    hold_out_shape(curves, curve, errors);
  }
  std::vector<LeaveOneOutRow> out;
  for (auto& [what, list] : errors) {
    std::sort(list.begin(), list.end());
    out.push_back({what.first, what.second, static_cast<std::int64_t>(list.size()), core::quantile(list, 0.5),
                   core::quantile(list, 0.9)});
  }
  return out;
}

std::vector<LeaveOneOutRow> leave_one_out(const Calibration& calibration) {
  return leave_one_out(calibration, cold_share(calibration.models));
}

}  // namespace penstock::cost
