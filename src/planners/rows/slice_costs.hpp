#pragma once
// Costs of runs of layers on sets of devices, and of transfers between such sets, for one micro-batch size.

#include <array>
#include <deque>
#include <map>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/communication.hpp"
#include "rows/layers.hpp"

namespace penstock::planners {

/// Seconds of one micro-batch on its slowest replica; `reduce` once per iteration, the part that backward
/// passes do not hide (score::exposed).
struct PhaseTimes {
  double forward = 0, backward = 0, reduce = 0;
  double both() const { return forward + backward; }
};

/// Indexed by Layers::index.
struct SliceCosts {
  std::vector<PhaseTimes> times;
  std::vector<int> room;  ///< micro-batches held at once, at most those of an iteration
};

/// Routes between all devices, looked up once; for bytes before compression. Throws like `stop`.
class RouteTable {
 public:
  RouteTable(const cluster::Cluster& cluster, const plan::Compression& compression, core::StopToken stop);
  const cost::AffineTime& operator()(core::DeviceId from, core::DeviceId to) const {
    return routes_[from.index() * size_ + to.index()];
  }

 private:
  std::size_t size_;
  std::vector<cost::AffineTime> routes_;
};

/// A micro-batch one way and its gradient the other: per byte of a sample, as slow as the slowest message.
struct JunctionCosts {
  cost::AffineTime there, back;
};
JunctionCosts junction(const RouteTable& routes, const std::vector<core::DeviceId>& front,
                       const std::vector<core::DeviceId>& behind, std::int64_t micro_batch);

/// [cut] transfer times of a micro-batch; empty if no tensor crosses.
std::vector<PhaseTimes> transfers(const PlanningLayers& layers, const JunctionCosts& junction);

/// Equal junctions share one table, because there are thousands of pairs of sets.
class TransferTables {
 public:
  explicit TransferTables(const PlanningLayers& layers) : layers_(layers) {}
  /// Like `transfers`; the reference stays valid.
  const std::vector<PhaseTimes>& of(const JunctionCosts& junction);

 private:
  const PlanningLayers& layers_;
  std::map<std::array<double, 4>, std::vector<PhaseTimes>> tables_;
};

/// [cut] minimum device-seconds of all layers before it, for a micro-batch that this many replicas split.
struct LeastWork {
  std::vector<double> forward, both;
};
LeastWork least_work(const cost::Problem& problem, const PlanningLayers& layers, std::int64_t micro_batch,
                     const std::vector<int>& replicas);

/// Costs of device sets; sets of equal cost share one table.
class SlicePrices {
 public:
  /// `memory`: factor on the devices' memory. All references must outlive it.
  SlicePrices(const cost::Problem& problem, const PlanningLayers& layers, std::int64_t micro_batch,
              double memory);
  /// Class of a set of devices, at most one per sample; classes are numbered from 0 in order of appearance.
  /// References to their costs stay valid.
  int of(const std::vector<core::DeviceId>& devices);
  const SliceCosts& operator[](int slice) const { return costs_[static_cast<std::size_t>(slice)]; }
  int size() const { return static_cast<int>(costs_.size()); }

 private:
  /// Properties that determine the costs of a set.
  struct SetProperties {
    std::size_t count;
    std::vector<std::size_t> types;
    core::Bytes memory;
    std::vector<std::pair<double, double>> all_reduce;
    friend auto operator<=>(const SetProperties&, const SetProperties&) = default;
  };
  SliceCosts price(const SetProperties& face, const cost::AllReduce& reduce);
  const PassSums& passes(std::size_t type, std::int64_t samples);

  const cost::Problem& problem_;
  const PlanningLayers& layers_;
  std::int64_t micro_batch_;
  double memory_;
  std::map<SetProperties, int> classes_;
  std::deque<SliceCosts> costs_;
  std::map<std::pair<std::size_t, std::int64_t>, PassSums> passes_;
};

/// Smallest memory among these devices, times `factor`.
core::Bytes least_memory(const cluster::Cluster& cluster, const std::vector<core::DeviceId>& devices,
                         double factor);

}  // namespace penstock::planners
