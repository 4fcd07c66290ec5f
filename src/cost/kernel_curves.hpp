#pragma once
// Measured kernels as curves over the batch, and what they say of batches and shapes between and beyond them.

#include <optional>
#include <vector>

#include "penstock/cost/calibrated.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::cost {

/// What is asked: a pass over any number of samples.
struct KernelQuery {
  KernelKey key;
  Work work;
  Pass pass;
  bool divided = false;  ///< the work is a part of what operators of that shape do
};

/// Kernels whose samples are only more rows of a product, or more elements, have one curve for all numbers of
/// rows: the key without that extent, and how many units a sample counts.
struct Unrolled {
  KernelKey key;  ///< extents by name
  double units = 1;
};
Unrolled unrolled(KernelKey key);

/// Time of one kernel at ascending numbers of units, at least one.
struct KernelCurve {
  struct Point {
    double units;
    double seconds, low, high;
  };
  KernelKey key;  ///< unrolled
  Pass pass;
  double flops, moved;  ///< per unit
  double weights;       ///< bytes
  std::vector<Point> points;
  bool covers(double units) const { return points.front().units <= units && units <= points.back().units; }
};

/// A prediction, and how it came about.
struct Predicted {
  double seconds = 0, low = 0, high = 0;
  Fold fold = Fold::samples_inside;
  bool measured = false;
};

/// Where to look for a query; the same for any number of samples.
struct Way {
  struct Neighbour {
    const KernelCurve* curve;
    double weight;  ///< of its utilisation; they sum up to 1
  };
  double units = 1;                          ///< of one sample
  double flops = 0, moved = 0, weights = 0;  ///< per unit; bytes
  cluster::Precision number = cluster::Precision::fp32;
  const KernelCurve* own = nullptr;      ///< same shape and work
  const KernelCurve* shorter = nullptr;  ///< the same attention over the next sequences below and above
  const KernelCurve* longer = nullptr;
  double along = 0;  ///< from the shorter sequence to the longer, 0 to 1
  std::vector<Neighbour> neighbours;
  bool inside = false;  ///< each extent is between the least and the most measured of its kind
};

/// Immutable. Utilisation is the roofline's time by the measured one (as AIConfigurator's and NeuSight's; Lee
/// et al., ASPLOS 2025); other shapes' is borrowed by their distance in octaves.
class KernelCurves {
 public:
  KernelCurves(const Calibration& calibration, Caches caches);

  /// None: nothing was measured of that kind, pass and number format. `without`: curves of that key are not
  /// looked at.
  std::optional<Way> way(const KernelQuery& query, const KernelKey* without = nullptr) const;
  Predicted predict(const Way& way, double samples) const;
  /// On one curve, as if it were the only one.
  Predicted on(const KernelCurve& curve, double units) const;

  const std::vector<KernelCurve>& curves() const { return curves_; }
  bool knows(cluster::Precision number) const;

 private:
  double roofline(double flops, double bytes, cluster::Precision number) const;
  double roofline(const KernelCurve& curve, double units) const;
  double utilisation(const KernelCurve& curve, double units) const;
  double launch_, copy_;
  std::array<double, cluster::kPrecisions> rates_{};
  std::vector<KernelCurve> curves_;
};

}  // namespace penstock::cost
