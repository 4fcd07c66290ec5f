#include "penstock/calibrate/link_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "penstock/calibrate/statistics.hpp"
#include "penstock/core/random.hpp"

namespace penstock::calibrate {
namespace {

constexpr std::size_t kFewest = 3, kMostSegments = 3;
constexpr int kResamples = 200;
constexpr double kLeastResidual = 1e-12;  // rounding, not noise

struct TransferTime {
  double bytes, time;
};
using Points = std::span<const TransferTime>;

struct FittedLine {
  double latency = 0, per_byte = 0;
  double at(double bytes) const { return latency + per_byte * bytes; }
};

/// The best constant, for no slope.
FittedLine flat(Points points) {
  double sum = 0, weights = 0;
  for (const TransferTime& p : points) {
    sum += 1 / p.time;
    weights += 1 / (p.time * p.time);
  }
  return {sum / weights, 0};
}

/// The best slope, for no latency.
FittedLine through_zero(Points points) {
  double sum = 0, weights = 0;
  for (const TransferTime& p : points) {
    sum += p.bytes / p.time;
    weights += std::pow(p.bytes / p.time, 2);
  }
  return {0, sum / weights};
}

double residual(const FittedLine& line, const TransferTime& p) {
  return p.time / line.at(p.bytes) - 1;
}

double squares(const FittedLine& line, Points points) {
  double sum = 0;
  for (const TransferTime& p : points) sum += std::pow(line.at(p.bytes) / p.time - 1, 2);
  return sum;
}

FittedLine unconstrained(Points points) {
  const auto rows = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixX2d a(rows, 2);
  const double unit = points.back().bytes;  // keeps both columns near one
  for (Eigen::Index i = 0; i < rows; ++i) {
    const TransferTime& p = points[static_cast<std::size_t>(i)];
    a.row(i) << 1 / p.time, p.bytes / unit / p.time;
  }
  const Eigen::Vector2d x = a.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(rows));
  return {x[0], x[1] / unit};
}

/// The best line without a negative constant. The squares are convex in the two constants. So if the free
/// line has a negative one, the best of the others lies on an edge.
FittedLine fit(Points points) {
  const FittedLine free = unconstrained(points);
  if (free.latency >= 0 && free.per_byte >= 0) return free;
  const FittedLine constant = flat(points), proportional = through_zero(points);
  return squares(constant, points) < squares(proportional, points) ? constant : proportional;
}

double squares(Points points) {
  return squares(fit(points), points);
}

/// First points of the segments of the least-squares partition into `segments`; empty if there are too few
/// points.
struct SegmentFit {
  std::vector<std::size_t> starts;
  double squares = std::numeric_limits<double>::infinity();
};

SegmentFit best_partition(Points points, std::size_t segments) {
  if (segments == 1) return {{0}, squares(points)};
  SegmentFit best;
  for (std::size_t last = kFewest * (segments - 1); last + kFewest <= points.size(); ++last) {
    SegmentFit head = best_partition(points.first(last), segments - 1);
    head.squares += squares(points.subspan(last));
    if (head.squares >= best.squares) continue;
    best = std::move(head);
    best.starts.push_back(last);
  }
  return best;
}

/// Schwarz's criterion with two constants per segment, and the breakpoints.
double criterion(const SegmentFit& partition, std::size_t count, std::size_t segments) {
  const auto n = static_cast<double>(count);
  const double parameters = 3 * static_cast<double>(segments) - 1;
  return n * std::log(std::max(partition.squares / n, kLeastResidual)) + parameters * std::log(n);
}

SegmentFit choose_partition(Points points) {
  SegmentFit chosen;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t segments = 1; segments <= kMostSegments && segments * kFewest <= points.size();
       ++segments) {
    SegmentFit partition = best_partition(points, segments);
    const double worth = criterion(partition, points.size(), segments);
    if (worth >= least) continue;
    least = worth;
    chosen = std::move(partition);
  }
  return chosen;
}

cost::FittedValue interval(double value, std::vector<double> drawn) {
  std::sort(drawn.begin(), drawn.end());
  return {value, std::min(value, quantile(drawn, 0.025)), std::max(value, quantile(drawn, 0.975))};
}

cost::LinkSegment segment(Points points, core::Random& random) {
  const FittedLine line = fit(points);
  std::vector<double> latencies, slopes;
  for (int resample = 0; resample < kResamples; ++resample) {
    std::vector<TransferTime> drawn;
    for (const TransferTime& p : points) {
      const TransferTime& other =
          points[static_cast<std::size_t>(random.between(0, static_cast<int>(points.size()) - 1))];
      drawn.push_back({p.bytes, line.at(p.bytes) * (1 + residual(line, other))});
    }
    const FittedLine again = fit(drawn);
    latencies.push_back(again.latency);
    slopes.push_back(again.per_byte);
  }
  const auto bytes = [](const TransferTime& p) { return core::Bytes(static_cast<std::int64_t>(p.bytes)); };
  return {bytes(points.front()), bytes(points.back()), interval(line.latency, std::move(latencies)),
          interval(line.per_byte, std::move(slopes))};
}

std::vector<TransferTime> medians(std::span<const cost::LinkPoint> measured) {
  std::vector<TransferTime> out;
  for (const cost::LinkPoint& p : measured)
    out.push_back({static_cast<double>(p.bytes.value()), p.time.median.value()});
  return out;
}

}  // namespace

std::optional<cost::AffineTime> fit_line(std::span<const cost::LinkPoint> measured) {
  const std::vector<TransferTime> points = medians(measured);
  if (points.empty()) return std::nullopt;
  const FittedLine line = points.size() > 1 ? fit(points) : through_zero(points);
  return line.per_byte > 0 ? std::optional(cost::AffineTime{line.latency, line.per_byte}) : std::nullopt;
}

std::vector<cost::LinkSegment> fit_link(std::span<const cost::LinkPoint> measured, std::uint64_t seed) {
  const std::vector<TransferTime> points = medians(measured);
  std::vector<cost::LinkSegment> out;
  core::Random random(seed);
  std::vector<std::size_t> starts = choose_partition(points).starts;
  starts.push_back(points.size());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    out.push_back(segment(Points(points).subspan(starts[i], starts[i + 1] - starts[i]), random));
  return out;
}

}  // namespace penstock::calibrate
