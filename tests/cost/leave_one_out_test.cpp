#include "penstock/cost/leave_one_out.hpp"

#include <doctest/doctest.h>

#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using namespace penstock::cost;
using graph::OpKind;
constexpr auto of = support::bare_calibration;
constexpr auto point = support::cold_point;

namespace {

MeasuredKernel layer(std::int64_t out, double flops, std::vector<KernelPoint> points) {
  return {{OpKind::linear, {{"in", 64}, {"out", out}}, cluster::Precision::fp32},
          {{core::Flops(flops)}, {}, {}},
          std::move(points)};
}

const LeaveOneOutRow* row(const std::vector<LeaveOneOutRow>& rows, FoldKind fold) {
  for (const LeaveOneOutRow& one : rows)
    if (one.fold == fold) return &one;
  return nullptr;
}

}  // namespace

TEST_CASE("points of one shape, each predicted from the others") {
  // 1 GFLOP per sample at 1 TFLOP/s. 1, 2 and 4 samples take 2, 3 and 8 ms.
  // Without 2: 2 + (8 - 2) / 3 = 4 ms, a third too much.
  // Without 1: 2 samples use 2 of 3 ms, so 1.5 ms, a quarter too little. Without 4: 4 / (2/3) = 6 ms, a
  // quarter too little.
  const auto rows =
      leave_one_out(of({layer(32, 1e9,
                              {point(graph::Pass::forward, 1, 2e-3), point(graph::Pass::forward, 2, 3e-3),
                               point(graph::Pass::forward, 4, 8e-3)})}));
  REQUIRE(rows.size() == 2);  // no second shape, so no shape can do without its own
  const auto *inside = row(rows, FoldKind::samples_inside), *frontier = row(rows, FoldKind::samples_frontier);
  REQUIRE(inside);
  REQUIRE(frontier);
  CHECK(inside->count == 1);
  CHECK(inside->median == support::near(1.0 / 3));
  CHECK(inside->p90 == support::near(1.0 / 3));
  CHECK(frontier->count == 2);
  CHECK(frontier->median == support::near(0.25));
}

TEST_CASE("whole shapes, each predicted from the others") {
  // Utilisation 50, 25 and 50 % at 16, 32 and 64 outputs. The middle one has both others one octave off:
  // predicted 50 %, half the time. The outer ones have neighbours at one octave (25 %) and two (50 %),
  // weights 4/5 and 1/5: utilisation 0.25^0.8 * 0.5^0.2 of 0.5, so 2^0.8 = 1.741 times the time.
  const auto rows = leave_one_out(of({layer(16, 1e9, {point(graph::Pass::forward, 1, 2e-3)}),
                                      layer(32, 2e9, {point(graph::Pass::forward, 1, 8e-3)}),
                                      layer(64, 4e9, {point(graph::Pass::forward, 1, 8e-3)})}));
  REQUIRE(rows.size() == 2);  // single points have no batch size to spare
  CHECK(row(rows, FoldKind::shape_inside)->count == 1);
  CHECK(row(rows, FoldKind::shape_inside)->median == support::near(0.5));
  CHECK(row(rows, FoldKind::shape_frontier)->count == 2);
  CHECK(row(rows, FoldKind::shape_frontier)->median == support::near(0.741, 1e-3));
}

TEST_CASE("kernels of one utilisation are predicted without error") {
  std::vector<MeasuredKernel> kernels;
  for (std::int64_t out = 1; out <= 30; ++out) {
    MeasuredKernel kernel = layer(out, 1e9 * static_cast<double>(out), {});
    for (std::int64_t n = 1; n <= 64; n *= 2)
      kernel.points.push_back(point(graph::Pass::forward, n, 2.5e-3 * static_cast<double>(n * out)));
    kernels.push_back(kernel);
  }
  const auto rows = leave_one_out(of(kernels));
  CHECK(rows.size() == kFolds);
  for (const LeaveOneOutRow& one : rows) CHECK(one.p90 < 1e-9);
  CHECK(row(rows, FoldKind::samples_inside)->count == 30 * 5);
  CHECK(row(rows, FoldKind::shape_frontier)->count == 2 * 7);
}

TEST_CASE("without points the table is empty") {
  CHECK(leave_one_out(support::bare_calibration()).empty());
}
