#pragma once
// Measured kernels as curves over the batch, with estimates for batches and shapes between and beyond them.

#include <optional>
#include <vector>

#include "penstock/cost/calibration.hpp"

namespace penstock::cost {

/// A query: a pass over any number of samples.
struct KernelQuery {
  KernelKey key;
  KernelWork work;
  graph::Pass pass;
  bool divided = false;  ///< the work is a part of what operators of that shape do
};

/// Kernels whose samples are only more rows of a product, or more elements, have one curve for all numbers of
/// rows. It has the key without that extent, and how many units a sample counts.
struct UnrolledKey {
  KernelKey key;  ///< extents by name
  double units = 1;
};
UnrolledKey unrolled(KernelKey key);

/// Work of a pass over n units: n * flops, and n * moved + weights bytes read and written.
struct UnitWork {
  double flops = 0, moved = 0, weights = 0;
};

/// Time of one kernel at ascending numbers of units, at least one.
struct KernelCurve {
  struct CurvePoint {
    double units;
    double seconds, low, high;
  };
  KernelKey key;  ///< unrolled
  graph::Pass pass;
  UnitWork work;
  std::vector<CurvePoint> points;
  bool covers(double units) const { return points.front().units <= units && units <= points.back().units; }
};

/// A prediction, and how it came about.
struct KernelPrediction {
  double seconds = 0, low = 0, high = 0;
  FoldKind fold = FoldKind::samples_inside;
  bool measured = false;
};

/// Where to look for a query; the same for any number of samples.
struct QueryNeighbours {
  struct WeightedCurve {
    const KernelCurve* curve;
    double weight;  ///< of its utilisation; they sum up to 1
  };
  double units = 1;  ///< of one sample
  UnitWork work;
  cluster::Precision precision = cluster::Precision::fp32;
  const KernelCurve* own = nullptr;      ///< same shape and work
  const KernelCurve* shorter = nullptr;  ///< the same attention over the next sequences below and above
  const KernelCurve* longer = nullptr;
  double along = 0;  ///< from the shorter sequence to the longer, 0 to 1
  std::vector<WeightedCurve> neighbours;
  bool inside = false;  ///< each extent is between the least and the most measured of its kind
};

/// Immutable. Utilisation is the roofline's time by the measured one (as AIConfigurator's and NeuSight's; Lee
/// et al., ASPLOS 2025). Other shapes' is borrowed by their distance in octaves. Products are apart by their
/// work (flops, bytes moved, bytes of weights) and windows, other kernels by their extents.
class KernelCurves {
 public:
  /// Times are at_share(cold, back to back, cold_share).
  KernelCurves(const Calibration& calibration, double cold_share);

  /// None: nothing was measured of that kind, pass and number format.
  std::optional<QueryNeighbours> way(const KernelQuery& query) const;
  /// To a curve, as if nothing of its key had been measured.
  std::optional<QueryNeighbours> way_without(const KernelCurve& curve) const;
  KernelPrediction predict(const QueryNeighbours& way, double samples) const;
  /// On one curve, as if it were the only one.
  KernelPrediction on(const KernelCurve& curve, double units) const;

  const std::vector<KernelCurve>& curves() const { return curves_; }
  bool knows(cluster::Precision precision) const;

 private:
  std::vector<const KernelCurve*> alike(const KernelKey& key,
                                        graph::Pass pass) const;  ///< of kind, number and pass
  double roofline(const UnitWork& work, double units, cluster::Precision precision) const;
  double roofline(const KernelCurve& curve, double units) const;
  double launch_, copy_;
  std::array<double, cluster::kPrecisions> rates_{};
  std::vector<KernelCurve> curves_;
};

}  // namespace penstock::cost
