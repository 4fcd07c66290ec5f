#include "penstock/calibrate/verify.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/calibrate/kernel_timing.hpp"

namespace penstock::calibrate {
namespace {

constexpr double kFar = 0.1, kLongest = 1;  // share; s

graph::Operator operator_of(const cost::KernelKey& key) {
  graph::Operator op;
  op.name = graph::name(key.kind);
  op.kind = key.kind;
  op.attributes = graph::attributes_of(key.kind, key.shape);
  return op;
}

}  // namespace

bool KernelRecheck::off() const {
  return std::abs(change()) > kFar && (now.high < before.p10 || now.low > before.p90);
}

std::vector<KernelRecheck> choose_points(const cost::Calibration& calibration, std::size_t count) {
  std::vector<KernelRecheck> all, chosen;
  for (const cost::MeasuredKernel& kernel : calibration.kernels)
    for (const cost::KernelPoint& point : kernel.points)
      if (point.back_to_back.median.value() < kLongest)
        all.push_back({kernel.key, point.pass, point.samples, point.back_to_back, {}});
  std::ranges::stable_sort(all, {}, [](const KernelRecheck& r) { return r.before.median; });
  count = std::min(count, all.size());
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  return chosen;
}

void recheck(std::vector<KernelRecheck>& points, kernels::Backend& backend, kernels::Stream& stream,
             Stopwatch& stopwatch) {
  for (KernelRecheck& point : points) {
    TimedKernel kernel(backend, stream, operator_of(point.key), point.samples, point.key.precision);
    point.now = stopwatch.back_to_back([&] { kernel.run(point.pass); });
  }
}

bool drifted(const std::vector<KernelRecheck>& points) {
  return std::ranges::count_if(points, &KernelRecheck::off) * 4 > std::ssize(points);
}

}  // namespace penstock::calibrate
