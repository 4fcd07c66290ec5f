#include "penstock/calibrate/doubts.hpp"

#include <doctest/doctest.h>

#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using core::Seconds;

namespace {

cost::TimingSummary timing(double median, double low, double high) {
  return {Seconds(median), Seconds(low), Seconds(high), 10, Seconds(low), Seconds(high)};
}

cost::KernelPoint visited(const std::vector<double>& times) {
  cost::KernelPoint out;
  out.cold = out.back_to_back = timing(times.front(), times.front(), times.front());
  for (const double time : times) out.visits.push_back({Seconds(1), Seconds(time)});
  return out;
}

cost::LinkPoint message(std::int64_t bytes, double seconds) {
  return {core::Bytes(bytes), timing(seconds, seconds, seconds)};
}

}  // namespace

TEST_CASE("noise is half the median's interval, or how far visits are from their median") {
  cost::KernelPoint once;
  once.cold = timing(10, 10, 10);
  once.back_to_back = timing(10, 9.6, 10.6);
  CHECK(calibrate::noise(once) == support::near(0.05));
  once.back_to_back.high = Seconds(10.7);
  CHECK(calibrate::noisy(once));
  // one slow visit of three changes no median; two of four far apart do
  CHECK(calibrate::noise(visited({10, 10, 30})) == 0);
  CHECK(calibrate::noise(visited({10, 10, 20, 30})) == support::near(1.0 / 3));  // 5, 5, 5, 15 from 15
}

TEST_CASE("a quiet, precise calibration raises no doubts") {
  CHECK(calibrate::doubts(support::bare_calibration()).empty());
}

TEST_CASE("load, noise and predictions worse than a guess are reported, the worst with its kind") {
  cost::Calibration c = support::bare_calibration();
  c.identity.load = 4.36;
  c.kernels.push_back({{}, {}, {visited({1}), visited({1, 2})}});
  c.links.push_back({cost::LinkKind::peer_copy, 2, {message(1024, 1e-6)}, {}});
  c.leave_one_out = {{graph::OpKind::linear, cost::FoldKind::samples_inside, 9, 0.1, 0.2},
                     {graph::OpKind::norm, cost::FoldKind::shape_frontier, 9, 0.8, 6.29}};
  const auto doubts = calibrate::doubts(c);
  REQUIRE(doubts.size() == 3);
  CHECK(doubts[0].starts_with("the load was 4.36"));
  CHECK(doubts[1].starts_with("1 of 2 timings of kernels are noisy"));
  CHECK(doubts[2].starts_with("one prediction in ten of norm (shape_frontier) is off by 629 % or more"));
  c.links[0].points[0].time = timing(1, 0.5, 2);
  CHECK(calibrate::doubts(c)[2].starts_with("1 of 1 timings of messages are noisy"));
}

TEST_CASE("an impossible line is fitted again, a possible one does not change") {
  cost::Calibration c = support::bare_calibration();
  cost::MeasuredLink link{cost::LinkKind::peer_copy, 2, {}, {}};
  for (std::int64_t bytes = 1024; bytes <= 8192; bytes *= 2)
    link.points.push_back(message(bytes, 1e-9 * static_cast<double>(bytes)));
  link.segments = {{core::Bytes(1024), core::Bytes(8192), {1, 0, 2}, {3, 2, 4}}};
  c.links = {link, link};
  c.links[1].ranks = 4;
  c.links[1].segments[0].latency = {-1.09e-2, -2, -1e-3};
  CHECK(calibrate::refit_impossible(c) == 1);
  CHECK(c.links[0].segments[0].latency.value == 1);
  CHECK(c.links[1].segments[0].latency.value >= 0);
  CHECK(c.links[1].segments[0].per_byte.value == support::near(1e-9));
}
