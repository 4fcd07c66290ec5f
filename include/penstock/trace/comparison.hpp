#pragma once
// Comparison of a measured trace and the simulated one of the same plan and order.

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/trace/trace.hpp"

namespace penstock::trace {

/// One quantity, measured and simulated.
struct QuantityPair {
  double measured = 0, simulated = 0;
  /// Relative error of the simulation: -0.1 if the simulated value is 10 % too small. 0 if both are zero,
  /// infinite if only the measured one is.
  double error() const;
};

/// A task that both traces show, in seconds since the first task's start.
struct TaskPair {
  TaskKind kind = TaskKind::forward;
  core::DeviceId device, peer;  ///< as in Span
  core::StageId stage;
  std::int32_t micro_batch = -1;
  QuantityPair start, duration;
};

/// All tasks of a kind that both traces show.
struct KindPair {
  TaskKind kind = TaskKind::forward;
  std::int64_t count = 0;
  QuantityPair total;                ///< s, durations of one mini-batch
  double mean_error = 0, worst = 0;  ///< of their durations: mean of |error|, and the largest error
  double start_shift = 0;            ///< s, mean of |start simulated - start measured|
};

/// Passes and updates of a stage, and its devices.
struct StagePair {
  core::StageId stage;
  QuantityPair compute;  ///< s per mini-batch, all its devices together
  QuantityPair exposed;  ///< s per mini-batch of exposed communication (DeviceSummary), mean of its devices
  QuantityPair peak;     ///< bytes, of its fullest device
  std::array<QuantityPair, kMemoryKinds> at_peak{};  ///< [MemoryKind] bytes of that device at that moment
};

struct TraceComparison {
  QuantityPair iteration;                            ///< s
  QuantityPair exposed;                              ///< s per mini-batch, mean over devices
  QuantityPair peak;                                 ///< bytes, of the fullest device
  std::array<QuantityPair, kMemoryKinds> at_peak{};  ///< [MemoryKind] bytes of that device at that moment
  std::vector<StagePair> stages;
  std::vector<KindPair> kinds;  ///< kinds that occur
  std::vector<TaskPair> tasks;  ///< in the measured order
  std::int64_t only_measured = 0,
               only_simulated = 0;  ///< tasks without a counterpart, such as messages on one device
};

/// Matches tasks by kind, devices, stage and micro-batch, and tasks with the same key in their order. Both
/// traces must have the same number of devices.
TraceComparison compare(const Trace& measured, const Trace& simulated);

/// Error of a set of predictions.
struct PredictionAccuracy {
  double mean_error = 0;  ///< of |error|
  double worst = 0;       ///< the largest error, with its sign
};
PredictionAccuracy accuracy(const std::vector<double>& errors);

}  // namespace penstock::trace
