#include "penstock/calibrate/doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "penstock/calibrate/link_fit.hpp"
#include "penstock/calibrate/statistics.hpp"
#include "penstock/cost/leave_one_out.hpp"

namespace penstock::calibrate {
namespace {

constexpr double kNoisy = 0.05;
/// Load of a machine that runs nothing else, an earlier call of this program included.
constexpr double kQuiet = 1;
constexpr double kGuess = 1;  ///< error of a factor of two, assumed for unknown shapes
constexpr std::uint64_t kFitSeed = 1;

double noise(const cost::TimingSummary& timing) {
  return (timing.high - timing.low) / timing.median / 2;
}

double spread(const std::vector<cost::TimingRound>& visits, core::Seconds cost::TimingRound::*which) {
  std::vector<double> times, far;
  for (const cost::TimingRound& visit : visits) times.push_back((visit.*which).value());
  std::ranges::sort(times);
  const double middle = quantile(times, 0.5);
  for (const double time : times) far.push_back(std::abs(time - middle) / middle);
  std::ranges::sort(far);
  return quantile(far, 0.5);
}

/// A line with the number of noisy points of one kind.
std::string noisy_line(const char* what, std::size_t noisy, std::size_t all) {
  if (noisy == 0) return "";
  return fmt::format(
      "{} of {} {} are noisy, their medians not known to {:g} %: calibrate again on a quieter machine, or "
      "with "
      "more time",
      noisy, all, what, kNoisy * 100);
}

std::string kernels_line(const cost::Calibration& calibration) {
  std::size_t noisy_ones = 0, all = 0;
  for (const auto& kernel : calibration.kernels)
    for (const auto& point : kernel.points) ++all, noisy_ones += noisy(point);
  return noisy_line("timings of kernels", noisy_ones, all);
}

std::string links_line(const cost::Calibration& calibration) {
  std::size_t noisy_ones = 0, all = 0;
  for (const auto& link : calibration.links)
    for (const auto& point : link.points) ++all, noisy_ones += noisy(point);
  return noisy_line("timings of messages", noisy_ones, all);
}

std::string load_line(const cost::MeasurementIdentity& id) {
  if (id.load <= kQuiet) return "";
  return fmt::format(
      "the load was {:.2f} when measuring began: something else ran on the machine, and times may be too "
      "long",
      id.load);
}

/// A line on the worst kind of prediction, if it is worse than a guess.
std::string prediction_line(const cost::Calibration& calibration) {
  const auto rows =
      calibration.leave_one_out.empty() ? cost::leave_one_out(calibration) : calibration.leave_one_out;
  const auto worst = std::ranges::max_element(rows, {}, &cost::LeaveOneOutRow::p90);
  if (worst == rows.end() || worst->p90 <= kGuess) return "";
  return fmt::format(
      "one prediction in ten of {} ({}) is off by {:.0f} % or more, which is worse than a guess: measure the "
      "shapes that plans use (calibrate with their parameters, or --experiment)",
      name(worst->kind), name(worst->fold), worst->p90 * 100);
}

bool impossible(const cost::LinkSegment& segment) {
  return segment.latency.value < 0 || segment.per_byte.value < 0;
}

}  // namespace

double noise(const cost::KernelPoint& point) {
  if (point.visits.empty()) return std::max(noise(point.cold), noise(point.back_to_back));
  return std::max(spread(point.visits, &cost::TimingRound::cold),
                  spread(point.visits, &cost::TimingRound::back_to_back));
}

double noise(const cost::LinkPoint& point) {
  return noise(point.time);
}

bool noisy(const cost::KernelPoint& point) {
  return noise(point) > kNoisy;
}

bool noisy(const cost::LinkPoint& point) {
  return noise(point) > kNoisy;
}

std::vector<std::string> doubts(const cost::Calibration& calibration) {
  std::vector<std::string> out = {load_line(calibration.identity), kernels_line(calibration),
                                  links_line(calibration), prediction_line(calibration)};
  std::erase(out, "");
  return out;
}

std::size_t refit_impossible(cost::Calibration& calibration) {
  std::size_t count = 0;
  for (cost::MeasuredLink& link : calibration.links) {
    if (std::ranges::none_of(link.segments, impossible)) continue;
    link.segments = fit_link(link.points, kFitSeed);
    ++count;
  }
  return count;
}

}  // namespace penstock::calibrate
