#include "penstock/cost/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernel_curves.hpp"

namespace penstock::cost {
namespace {

using Errors = std::map<std::pair<graph::OpKind, Fold>, std::vector<double>>;

double quantile(const std::vector<double>& ascending, double share) {
  const double at = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (at - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

double error(double predicted, double measured) {
  return std::abs(predicted / measured - 1);
}

void hold_out_samples(const KernelCurves& curves, const KernelCurve& curve, Errors& errors) {
  for (std::size_t i = 0; i < curve.points.size() && curve.points.size() > 1; ++i) {
    KernelCurve others = curve;
    others.points.erase(others.points.begin() + static_cast<std::ptrdiff_t>(i));
    const Predicted predicted = curves.on(others, curve.points[i].units);
    errors[{curve.key.kind, predicted.fold}].push_back(error(predicted.seconds, curve.points[i].seconds));
  }
}

void hold_out_shape(const KernelCurves& curves, const KernelCurve& curve, Errors& errors) {
  KernelQuery query{curve.key, {}, curve.pass};
  query.work.flops[static_cast<std::size_t>(curve.pass)] = core::Flops(curve.flops);
  query.work.weights = core::Bytes(static_cast<std::int64_t>(curve.weights));
  auto way = curves.way(query, &curve.key);
  if (!way) return;
  way->moved = curve.moved;  // per unit it may be a fraction
  for (const KernelCurve::Point& point : curve.points) {
    const Predicted predicted = curves.predict(*way, point.units);
    errors[{curve.key.kind, predicted.fold}].push_back(error(predicted.seconds, point.seconds));
  }
}

}  // namespace

std::vector<LeaveOneOutRow> leave_one_out(const Calibration& calibration, Caches caches) {
  const KernelCurves curves(calibration, caches);
  Errors errors;
  for (const KernelCurve& curve : curves.curves()) {
    hold_out_samples(curves, curve, errors);
    hold_out_shape(curves, curve, errors);
  }
  std::vector<LeaveOneOutRow> out;
  for (auto& [what, list] : errors) {
    std::sort(list.begin(), list.end());
    out.push_back({what.first, what.second, static_cast<std::int64_t>(list.size()), quantile(list, 0.5),
                   quantile(list, 0.9)});
  }
  return out;
}

std::vector<LeaveOneOutRow> leave_one_out(const Calibration& calibration) {
  return leave_one_out(calibration, better_caches(calibration));
}

}  // namespace penstock::cost
