#include "kernel_curves.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "penstock/cost/cold_share.hpp"

namespace penstock::cost {
namespace {

using graph::OpKind;
using Curves = std::vector<const KernelCurve*>;

constexpr std::size_t kNeighbours = 3;
constexpr double kSame = 1e-6;     ///< relative difference of works that are one
constexpr double kClosest = 1e-3;  ///< octaves: nearer ones count no more than this

std::optional<std::int64_t> extent(const Shape& shape, std::string_view name) {
  for (const auto& [key, value] : shape)
    if (key == name) return value;
  return std::nullopt;
}

/// The extent that is only the number of rows or elements; empty: there is none.
std::string_view rows_extent(OpKind kind) {
  switch (kind) {
    case OpKind::linear:
    case OpKind::softmax:
      return "rows";
    case OpKind::matmul:
      return "batch";
    case OpKind::norm:
    case OpKind::activation:
    case OpKind::elementwise:
    case OpKind::pool:
    case OpKind::concat:
      return "elements";
    default:
      return "";
  }
}

bool same(double a, double b) {
  return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b));
}

double octaves(double from, double to) {
  return std::log2(std::max(to, 1.0) / std::max(from, 1.0));
}

/// Distance of shapes sorted by name, in octaves; an extent that only one of them has counts one.
double distance(const Shape& a, const Shape& b) {
  double squares = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() || j != b.end();) {
    const bool both = i != a.end() && j != b.end() && i->first == j->first;
    const double apart = both ? octaves(static_cast<double>(i->second), static_cast<double>(j->second)) : 1;
    squares += apart * apart;
    const bool left = i != a.end() && (j == b.end() || i->first <= j->first);
    const bool right = j != b.end() && (i == a.end() || j->first <= i->first);
    i += left;
    j += right;
  }
  return std::sqrt(squares);
}

double distance(const UnitWork& a, const UnitWork& b) {
  return std::hypot(octaves(a.flops, b.flops), octaves(a.moved, b.moved), octaves(a.weights, b.weights));
}

bool same(const UnitWork& a, const UnitWork& b) {
  return same(a.flops, b.flops) && same(a.moved, b.moved) && same(a.weights, b.weights);
}

UnitWork unit_work(const KernelWork& work, graph::Pass pass, double units) {
  return {work.flops[static_cast<std::size_t>(pass)].value() / units,
          static_cast<double>(work.moved.value()) / units, static_cast<double>(work.weights.value())};
}

/// Distance of convolutions' windows and of how far these step.
double window_distance(const Shape& a, const Shape& b) {
  double squares = 0;
  for (const auto& [name, value] : a)
    if (name.starts_with("kernel_") || name.starts_with("stride_"))
      if (const auto other = extent(b, name))
        squares += std::pow(octaves(static_cast<double>(value), static_cast<double>(*other)), 2);
  return std::sqrt(squares);
}

/// Products are what their work makes them: it decides where on the roofline they are, and a convolution's
/// window decides the algorithm. Other kernels move data, and their extents decide how fast (how many rows a
/// table has).
double distance(const KernelKey& key, const UnitWork& work, const KernelCurve& curve) {
  const bool product = key.kind == OpKind::linear || key.kind == OpKind::matmul ||
                       key.kind == OpKind::convolution || key.kind == OpKind::attention ||
                       key.kind == OpKind::experts;
  if (!product) return distance(key.shape, curve.key.shape);
  return std::hypot(distance(work, curve.work), window_distance(key.shape, curve.key.shape));
}

/// The length of self-attention's sequence.
std::optional<std::int64_t> sequence(const KernelKey& key) {
  const auto queries = extent(key.shape, "queries");
  return key.kind == OpKind::attention && queries == extent(key.shape, "keys") ? queries : std::nullopt;
}

bool same_but_sequence(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && (x.second == y.second || x.first == "queries" || x.first == "keys");
  });
}

/// True if each extent is enclosed by those of the curves.
bool inside(const Shape& shape, const Curves& curves) {
  return std::all_of(shape.begin(), shape.end(), [&](const auto& one) {
    bool below = false, above = false;
    for (const KernelCurve* curve : curves)
      if (const auto measured = extent(curve->key.shape, one.first)) {
        below |= *measured <= one.second;
        above |= *measured >= one.second;
      }
    return below && above;
  });
}

/// Whole operators run the kernel of equal ones that do more. Attention makes the gradients of its inputs
/// also where they are not needed (measured; Work has the most that any of them does).
const KernelCurve* own_curve(const QueryNeighbours& way, const KernelKey& key, bool divided,
                             const Curves& curves) {
  for (const KernelCurve* curve : curves)
    if (curve->key == key && same(curve->work, way.work)) return curve;
  const auto does_more = [&](const KernelCurve* curve) {
    return curve->key == key && curve->work.flops >= way.work.flops && curve->work.moved >= way.work.moved &&
           curve->work.weights >= way.work.weights;
  };
  const auto found = divided ? curves.end() : std::find_if(curves.begin(), curves.end(), does_more);
  return found == curves.end() ? nullptr : *found;
}

void find_sequences(QueryNeighbours& way, const KernelKey& key, const Curves& curves) {
  const auto length = sequence(key);
  if (!length) return;
  std::int64_t below = 0, above = 0;
  for (const KernelCurve* curve : curves) {
    const auto measured = sequence(curve->key);
    if (!measured || !same_but_sequence(curve->key.shape, key.shape)) continue;
    if (*measured<*length&& * measured> below) way.shorter = curve, below = *measured;
    if (*measured > *length && (!way.longer || *measured < above)) way.longer = curve, above = *measured;
  }
  if (way.shorter && way.longer)
    way.along = static_cast<double>(*length - below) / static_cast<double>(above - below);
}

std::vector<QueryNeighbours::WeightedCurve> nearest(const KernelKey& key, const UnitWork& work,
                                                    const Curves& curves) {
  std::vector<std::pair<double, std::size_t>> far;
  for (std::size_t i = 0; i < curves.size(); ++i) far.emplace_back(distance(key, work, *curves[i]), i);
  const auto count = static_cast<std::ptrdiff_t>(std::min(kNeighbours, far.size()));
  std::partial_sort(far.begin(), far.begin() + count, far.end());
  std::vector<QueryNeighbours::WeightedCurve> out;
  double sum = 0;
  for (auto it = far.begin(); it != far.begin() + count; ++it) {
    const double near = std::max(it->first, kClosest);
    out.push_back({curves[it->second], 1 / (near * near)});
    sum += out.back().weight;
  }
  for (QueryNeighbours::WeightedCurve& neighbour : out) neighbour.weight /= sum;
  return out;
}

/// Points at one number of units become their mean.
void merge(std::vector<KernelCurve::CurvePoint>& points) {
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return std::tie(a.units, a.seconds) < std::tie(b.units, b.seconds);
  });
  std::vector<KernelCurve::CurvePoint> out;
  for (std::size_t i = 0; i < points.size();) {
    KernelCurve::CurvePoint mean = points[i];
    std::size_t j = i + 1;
    for (; j < points.size() && points[j].units == mean.units; ++j) {
      mean.seconds += points[j].seconds;
      mean.low = std::min(mean.low, points[j].low);
      mean.high = std::max(mean.high, points[j].high);
    }
    mean.seconds /= static_cast<double>(j - i);
    out.push_back(mean);
    i = j;
  }
  points = std::move(out);
}

/// `way` has its work; curves are of the key's kind and number, and of one pass.
std::optional<QueryNeighbours> completed(QueryNeighbours way, const KernelKey& key, bool divided,
                                         const Curves& curves) {
  if (curves.empty()) return std::nullopt;
  way.precision = key.precision;
  way.own = own_curve(way, key, divided, curves);
  if (!divided) find_sequences(way, key, curves);
  way.neighbours = nearest(key, way.work, curves);
  way.inside = inside(key.shape, curves);
  return way;
}

KernelPrediction between(const KernelPrediction& a, const KernelPrediction& b, double along,
                         bool square_root) {
  const auto mix = [&](double x, double y) {
    if (!square_root) return x + along * (y - x);
    const double root = std::sqrt(x) + along * (std::sqrt(y) - std::sqrt(x));
    return root * root;
  };
  return {mix(a.seconds, b.seconds), mix(a.low, b.low), mix(a.high, b.high), FoldKind::samples_inside, false};
}

}  // namespace

UnrolledKey unrolled(KernelKey key) {
  UnrolledKey out{std::move(key), 1};
  Shape& shape = out.key.shape;
  const auto rows = std::find_if(shape.begin(), shape.end(),
                                 [&](const auto& one) { return one.first == rows_extent(out.key.kind); });
  if (rows != shape.end() && rows->second > 0) {
    out.units = static_cast<double>(rows->second);
    shape.erase(rows);
  }
  std::sort(shape.begin(), shape.end());
  return out;
}

KernelCurves::KernelCurves(const Calibration& calibration, double cold_share)
    : launch_(calibration.launch_overhead.value()), copy_(calibration.ceilings.copy.value()) {
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    const auto& matmul = calibration.ceilings.matmul;
    rates_[i] = matmul[i].value() > 0 ? matmul[i].value() : matmul[0].value();
  }
  using Rounded = std::tuple<KernelKey, graph::Pass, float, float,
                             float>;  // works that differ in their last digits are one
  std::map<Rounded, KernelCurve> found;
  for (const MeasuredKernel& kernel : calibration.kernels) {
    const auto [key, units] = unrolled(kernel.key);
    for (const KernelPoint& point : kernel.points) {
      const auto at = [&](core::Seconds TimingSummary::*what) {
        return at_share(point.cold.*what, point.back_to_back.*what, cold_share).value();
      };
      const UnitWork work = unit_work(kernel.work, point.pass, units);
      const Rounded rounded{key, point.pass, static_cast<float>(work.flops), static_cast<float>(work.moved),
                            static_cast<float>(work.weights)};
      KernelCurve& curve = found.try_emplace(rounded, KernelCurve{key, point.pass, work, {}}).first->second;
      curve.points.push_back({units * static_cast<double>(point.samples), at(&TimingSummary::median),
                              at(&TimingSummary::low), at(&TimingSummary::high)});
    }
  }
  for (auto& [rounded, curve] : found) {
    merge(curve.points);
    curves_.push_back(std::move(curve));
  }
}

std::vector<const KernelCurve*> KernelCurves::alike(const KernelKey& key, graph::Pass pass) const {
  Curves out;
  for (const KernelCurve& curve : curves_)
    if (curve.key.kind == key.kind && curve.key.precision == key.precision && curve.pass == pass)
      out.push_back(&curve);
  return out;
}

std::optional<QueryNeighbours> KernelCurves::way(const KernelQuery& query) const {
  const auto [key, units] = unrolled(query.key);
  QueryNeighbours way;
  way.units = units;
  way.work = unit_work(query.work, query.pass, units);
  return completed(std::move(way), key, query.divided, alike(key, query.pass));
}

std::optional<QueryNeighbours> KernelCurves::way_without(const KernelCurve& curve) const {
  Curves others = alike(curve.key, curve.pass);
  std::erase_if(others, [&](const KernelCurve* other) { return other->key == curve.key; });
  QueryNeighbours way;
  way.work = curve.work;
  return completed(std::move(way), curve.key, false, others);
}

KernelPrediction KernelCurves::on(const KernelCurve& curve, double units) const {
  const auto above = std::lower_bound(curve.points.begin(), curve.points.end(), units,
                                      [](const auto& point, double n) { return point.units < n; });
  if (above != curve.points.end() && above->units == units)
    return {above->seconds, above->low, above->high, FoldKind::samples_inside, true};
  if (above != curve.points.begin() && above != curve.points.end()) {
    const auto below = std::prev(above);
    const auto at = [](const KernelCurve::CurvePoint& p) {
      return KernelPrediction{p.seconds, p.low, p.high, {}, false};
    };
    return between(at(*below), at(*above), (units - below->units) / (above->units - below->units), false);
  }
  const KernelCurve::CurvePoint& end =
      above == curve.points.end() ? curve.points.back() : curve.points.front();
  const double held = roofline(curve, units) / roofline(curve, end.units);
  return {end.seconds * held, end.low * held, end.high * held, FoldKind::samples_frontier, false};
}

KernelPrediction KernelCurves::predict(const QueryNeighbours& way, double samples) const {
  const double units = way.units * samples;
  if (way.own) return on(*way.own, units);
  if (way.shorter && way.longer && way.shorter->covers(units) && way.longer->covers(units)) {
    KernelPrediction out = between(on(*way.shorter, units), on(*way.longer, units), way.along, true);
    out.fold = FoldKind::shape_inside;
    return out;
  }
  double logarithm = 0;
  bool covered = false;
  for (const auto& [curve, weight] : way.neighbours) {
    logarithm += weight * std::log(roofline(*curve, units) / on(*curve, units).seconds);
    covered |= curve->covers(units);
  }
  const double seconds = roofline(way.work, units, way.precision) / std::exp(logarithm);
  return {seconds, seconds, seconds,
          way.inside && covered ? FoldKind::shape_inside : FoldKind::shape_frontier, false};
}

bool KernelCurves::knows(cluster::Precision precision) const {
  return std::any_of(curves_.begin(), curves_.end(),
                     [&](const KernelCurve& c) { return c.key.precision == precision; });
}

double KernelCurves::roofline(const UnitWork& work, double units, cluster::Precision precision) const {
  constexpr double kLeast = 1e-12;  // s: so that utilisation is above zero
  const double rate = rates_[static_cast<std::size_t>(precision)];
  const double computing = rate > 0 ? work.flops * units / rate : 0;
  return std::max(launch_ + std::max(computing, (work.moved * units + work.weights) / copy_), kLeast);
}

double KernelCurves::roofline(const KernelCurve& curve, double units) const {
  return roofline(curve.work, units, curve.key.precision);
}

}  // namespace penstock::cost
