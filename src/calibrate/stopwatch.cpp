#include "penstock/calibrate/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::calibrate {
namespace {

constexpr int kMostWarmUps = 20, kMostCopies = 10'000;
constexpr double kGain = 0.95;  // a run faster than this share of the best one means that warming goes on
constexpr double kShort = 20e-6, kBundle = 200e-6;  // s

int copies_for(double time) {
  if (time >= kShort) return 1;
  return static_cast<int>(
      std::min<double>(kMostCopies, std::ceil(kBundle / std::max(time, kBundle / kMostCopies))));
}

}  // namespace

core::Seconds Stopwatch::time(const Body& body) {
  const auto start = stream_.record_event();
  body();
  return stream_.record_event()->since(*start);
}

core::Seconds Stopwatch::warm_up(const Body& body) {
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  int steady = 0;
  for (int run = 0; run < kMostWarmUps && steady < 2 && spent < kLongestWarmUp.value(); ++run) {
    stop_.check();
    const double took = time(body).value();
    steady = took >= kGain * best ? steady + 1 : 0;
    best = std::min(best, took);
    spent += took;
  }
  return core::Seconds(best);
}

bool Stopwatch::throttled() {
  const auto share = clock_.share();
  return share && *share < rule_.slowest_clock;
}

cost::TimingSummary Stopwatch::sample(const Body& before, const Body& body, int copies) {
  TimingSamples samples(rule_);
  while (!samples.enough()) {
    stop_.check();
    const auto start = stream_.record_event();
    before();
    const core::Seconds preparing = stream_.record_event()->since(*start), took = time(body);
    if (!throttled() || !samples.reject(preparing + took)) samples.add(took / copies, preparing + took);
  }
  rejected_ += samples.rejected();
  return samples.timing();
}

cost::TimingSummary Stopwatch::after(const Body& before, const Body& body) {
  warm_up(body);
  return sample(before, body, 1);
}

cost::TimingSummary Stopwatch::cold(const Body& body) {
  return after([this] { stream_.evict_caches(); }, body);
}

cost::TimingSummary Stopwatch::unbundled(const Body& body) {
  return after([] {}, body);
}

cost::TimingSummary Stopwatch::back_to_back(const Body& body) {
  const int copies = copies_for(warm_up(body).value());
  const Body bundle = copies > 1 ? stream_.bundle(copies, body) : body;
  if (copies > 1) warm_up(bundle);
  return sample([] {}, bundle, copies);
}

}  // namespace penstock::calibrate
