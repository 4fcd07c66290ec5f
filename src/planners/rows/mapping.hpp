#pragma once
// Partition, replication and mapping of a row of layers onto a row of devices, for every stage count.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// Costs for the search. A slice is `replicas[r]` consecutive devices from device i on; slices of equal cost
/// form a class.
struct MappingCosts {
  int layers = 0;
  int devices = 0;
  int micro_batches = 1;
  std::vector<int> replicas;            ///< replica counts that a stage may have, ascending
  std::vector<std::vector<int>> slice;  ///< [i][r] class; -1 if the slice would leave the row
  /// [class][begin * (layers + 1) + end] seconds per micro-batch, not decreasing with `end`; infinite:
  /// impossible.
  std::vector<std::vector<double>> stage;
  std::vector<std::vector<int>> room;  ///< [class][...] micro-batches that the stage can hold
  std::vector<std::vector<double>>
      transfer;                    ///< [junction][cut] seconds per micro-batch, the slower of both directions
  std::vector<double> least_work;  ///< [cut] minimum device-seconds per micro-batch of the layers before it
  double most_work =
      std::numeric_limits<double>::infinity();  ///< maximum seconds per micro-batch that a device may compute
  /// Junction of slice (i, r) and the slice of replicas[next] devices behind it.
  std::size_t junction(int i, std::size_t r, std::size_t next) const {
    return (static_cast<std::size_t>(i) * replicas.size() + r) * replicas.size() + next;
  }
  std::size_t range(int begin, int end) const { return static_cast<std::size_t>(begin * (layers + 1) + end); }
};

struct MappedStage {
  int begin = 0, end = 0;     ///< layers
  int device = 0, count = 0;  ///< devices [device, device + count) of the order
  friend bool operator==(const MappedStage&, const MappedStage&) = default;
};

/// SPP's dynamic programme (Luo et al., INFOCOM 2022; reconstructed): W(x, l, r, i), the minimum time of the
/// slowest machine (stage or link), for every stage count x at once. Ours runs from the back, layers l to the
/// end on devices i to the end, so that a stage has its number of followers. With x - 1 behind it, it needs
/// room for min(x, M) micro-batches. Exact.
class MappingTable {
 public:
  /// For stage counts up to `most_stages`, and stages that take less than `limit`. Keeps a reference to
  /// `costs`.
  MappingTable(const MappingCosts& costs, int most_stages, double limit, core::StopToken stop);
  int most_stages() const { return most_stages_; }
  /// Bottleneck of all layers on all devices with this many stages; infinite if impossible.
  double bottleneck(int stages) const { return cell(stages, 0, 0)[costs_.replicas.size()]; }
  /// A mapping that attains the bottleneck, which must be finite. Ties: first stage with the fewest replicas,
  /// then the fewest layers.
  std::vector<MappedStage> stages(int count) const;
  std::uint64_t states() const { return values_.size(); }

 private:
  /// Continuation of a first stage, which ends in front of layer `end`; the next has replicas[next] devices.
  struct StageContinuation {
    double value = 0;
    int end = 0;
    std::size_t next = 0;
  };
  /// Values of W by replicas of the first stage; the last entry is their minimum.
  double* cell(int x, int l, int i) { return &values_[position(x, l, i)]; }
  const double* cell(int x, int l, int i) const { return &values_[position(x, l, i)]; }
  std::size_t position(int x, int l, int i) const {
    const auto row = static_cast<std::size_t>(x * (costs_.layers + 1) + l);
    return (row * static_cast<std::size_t>(costs_.devices + 1) + static_cast<std::size_t>(i)) *
           (costs_.replicas.size() + 1);
  }
  /// True if devices from i on can do the layers from l on in time, and those before i the layers before.
  bool balanced(int l, int i) const;
  void fill(int x, int l, int i);
  /// Best continuation with x stages on layers [l, end of row) and devices [i, end of row), the first with
  /// replicas[r] devices.
  StageContinuation best(int x, int l, int i, std::size_t r) const;
  /// Lowers `best` by the x - 1 stages behind a first stage that takes `own`.
  void lower_by(StageContinuation& best, double own, int x, int end, int i, std::size_t r) const;

  const MappingCosts& costs_;
  int most_stages_;
  double limit_;
  std::vector<double> values_;  ///< [x][l][i][r]
};

}  // namespace penstock::planners
