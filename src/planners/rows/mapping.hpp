#pragma once
// Partition, replication and mapping of a row of layers onto a row of devices, stage count by stage count.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// Plain numbers. A slice is `replicas[r]` devices in order from device i on; slices that cost the same are
/// of one class.
struct MappingCosts {
  int layers = 0;
  int devices = 0;
  int micro_batches = 1;
  std::vector<int> replicas;               ///< counts a stage may have, ascending
  std::vector<std::vector<int>> slice;     ///< [i][r]: class; -1 where the slice would leave the row
  std::vector<std::vector<double>> stage;  ///< [class][begin * (layers + 1) + end]: seconds per micro-batch,
                                           ///< never less for a later end; infinite: impossible
  std::vector<std::vector<int>> room;      ///< [class][...]: micro-batches the stage can hold
  std::vector<std::vector<double>>
      transfer;  ///< [junction][cut]: seconds per micro-batch, the slower of both directions
  std::vector<double>
      least_work;  ///< [cut] device-seconds that the layers before it take at least, per micro-batch
  double most_work =
      std::numeric_limits<double>::infinity();  ///< seconds that a device may compute, per micro-batch
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

/// SPP's dynamic programme (Luo et al., INFOCOM 2022; reconstructed): W(x, l, r, i), the least time of the
/// slowest machine (stage or link), for every stage count x at once. Ours runs from the back, layers l to the
/// end on devices i to the end, so that a stage knows how many follow it: with x - 1 behind it, it must have
/// room for min(x, M) micro-batches. Exact.
class Mapping {
 public:
  /// Stage counts up to `most_stages`, stages that take less than `limit`. Keeps a reference to `costs`.
  Mapping(const MappingCosts& costs, int most_stages, double limit, core::StopToken stop);
  int most_stages() const { return most_stages_; }
  /// Of all layers on all devices in that many stages; infinite where impossible.
  double bottleneck(int stages) const { return cell(stages, 0, 0)[costs_.replicas.size()]; }
  /// A mapping that attains it: of equals the first stage with fewest replicas, then layers. Bottleneck must
  /// be finite.
  std::vector<MappedStage> stages(int count) const;
  std::uint64_t states() const { return values_.size(); }

 private:
  /// What may follow a first stage: it ends in front of layer `end`; the next has replicas[next] devices.
  struct Choice {
    double value = 0;
    int end = 0;
    std::size_t next = 0;
  };
  /// Values of W by replicas of the first stage; one more for the least of them.
  double* cell(int x, int l, int i) { return &values_[position(x, l, i)]; }
  const double* cell(int x, int l, int i) const { return &values_[position(x, l, i)]; }
  std::size_t position(int x, int l, int i) const {
    const auto row = static_cast<std::size_t>(x * (costs_.layers + 1) + l);
    return (row * static_cast<std::size_t>(costs_.devices + 1) + static_cast<std::size_t>(i)) *
           (costs_.replicas.size() + 1);
  }
  /// Whether devices from i on can do the layers from l on in time, and those before i the layers before.
  bool balanced(int l, int i) const;
  void fill(int x, int l, int i);
  /// The best that x stages on layers [l, end of row) and devices [i, end of row) can do, replicas[r] of them
  /// first.
  Choice best(int x, int l, int i, std::size_t r) const;
  /// Lowers `best` by what the x - 1 stages behind a first stage can do that takes `own`.
  void lower_by(Choice& best, double own, int x, int end, int i, std::size_t r) const;

  const MappingCosts& costs_;
  int most_stages_;
  double limit_;
  std::vector<double> values_;  ///< [x][l][i][r]
};

}  // namespace penstock::planners
