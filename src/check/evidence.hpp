#pragma once
// The verifier's view of a trace, and its checks. Nothing here includes the sources of traces.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/check/trace_violations.hpp"
#include "penstock/cost/length_times.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/sim/perturbation.hpp"

namespace penstock::check {

using core::Bytes;
using core::DeviceId;
using core::Picoseconds;
using core::StageId;
using trace::Span;
using trace::TaskKind;

/// The part of one micro-batch that a replica computes: samples [begin, end) of all mini-batches together.
struct ReplicaShare {
  std::int32_t micro_batch;
  std::span<const DeviceId> group;  ///< its devices, each of which runs the passes
  std::int64_t begin, end;
  std::int64_t samples() const { return end - begin; }
};

/// One pass as it ran. A pass of a pair needs its inputs when the pair's first pass starts, and gives its
/// outputs when the pair's last pass ends.
struct PassRun {
  const Span* span = nullptr;
  Picoseconds first, last;        ///< of the pair
  const Span* partner = nullptr;  ///< the other of the pair
};

/// The tasks of one device by its row.
struct DeviceTasks {
  struct ScheduledPass {
    TaskKind kind;
    StageId stage;
    std::int32_t micro_batch;
    bool joined;  ///< runs as one with the pass before
  };
  struct ScheduledReduction {
    StageId stage;
    std::size_t after;     ///< position of the last pass before it
    std::size_t step = 0;  ///< position of the step that needs it; 0: none
  };
  std::vector<ScheduledPass> passes;
  std::vector<std::size_t> barriers;  ///< positions of the passes after one
  std::vector<ScheduledReduction> reductions;
};

/// True if the contributions of all can have reached all by their times: a message carries everything that
/// has arrived at its sender. Messages by start, at least one.
bool reaches_all(const std::vector<const Span*>& messages, const std::vector<DeviceId>& group);

class TraceEvidence {
 public:
  TraceEvidence(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                const trace::Trace& trace, const sim::SimulationOptions& options);

  const cost::Problem& problem;
  const plan::Plan& plan;
  const schedule::Schedule& order;
  const trace::Trace& trace;
  const sim::SimulationOptions& options;
  const plan::StageGraph stages;          ///< made for the verifier
  const bool in_turn;                     ///< replicas take whole micro-batches in turn
  std::vector<std::vector<PassRun>> ran;  ///< [device] in time order
  std::map<std::pair<std::size_t, std::size_t>, DeviceTasks> asked;  ///< [rank, i-th of its devices]
  std::vector<const Span*> moved;                                    ///< over links
  /// Messages of collectives within passes, by receiver, stage and micro-batch.
  std::map<std::tuple<DeviceId, StageId, std::int32_t>, std::vector<const Span*>> collectives;
  std::vector<plan::SharedParameters> shared;  ///< among stages
  /// First start of a message that a pass waits for, by the pass; filled in by check_messages.
  std::map<const Span*, Picoseconds> arrival;

  const std::vector<DeviceId>& devices(std::size_t rank) const { return devices_[rank]; }
  std::size_t ranks() const { return devices_.size(); }
  std::vector<ReplicaShare> shares(StageId stage) const;
  std::int64_t samples(StageId stage, std::size_t i) const;  ///< of every micro-batch, on the i-th device
  /// A pass of a micro-batch on the i-th device, whole or in the pieces between bucket cuts.
  const std::vector<cost::OpTime>& pieces(StageId stage, std::size_t i, std::int32_t micro_batch, bool cut);
  /// Filling of the i-th device's samples of a micro-batch, as share of full ones.
  double filled_share(StageId stage, std::size_t i, std::int32_t micro_batch) const;
  /// Bytes that samples [begin, end) send over a boundary.
  Bytes sent(const plan::StageBoundary& boundary, std::int64_t begin, std::int64_t end) const;
  bool has_weights(StageId stage) const;
  /// Operators of the buckets in which a stage's gradients are reduced. One bucket if nothing is reduced or
  /// no bucket size is given.
  std::vector<std::vector<core::OpId>> buckets(StageId stage) const;
  /// The pass of a stage that makes the output, or its gradient; null if there is none.
  const PassRun* forward(DeviceId device, StageId stage, std::int32_t micro_batch) const;
  const PassRun* backward(DeviceId device, StageId stage, std::int32_t micro_batch) const;
  /// The last pass that needs the activations.
  const PassRun* release(DeviceId device, StageId stage, std::int32_t micro_batch) const;
  const PassRun* find(DeviceId device, StageId stage, TaskKind kind, std::int32_t micro_batch) const;
  void pair_up();  ///< called once the passes are known to be those of the order
  /// True if collectives within passes take links; then `pieces` are without them.
  bool links() const { return options.pass_collectives == sim::PassCollectives::links; }
  /// True if devices, links and times of tasks are exactly those of cluster and costs.
  bool perfect() const { return options.perturbation == nullptr || options.perturbation->only_lengths(); }
  /// True if messages take the times of routes and sharing.
  bool steady_messages() const;

  template <class... Args>
  void violation(fmt::format_string<Args...> text, Args&&... args) {
    violations.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  std::vector<std::string> violations;

 private:
  bool exists(const Span& span) const;
  static void sort(std::vector<PassRun>& passes, const DeviceTasks& row);
  DeviceTasks ask(std::size_t rank, std::size_t i) const;
  cost::OpTime time(StageId stage, std::span<const core::OpId> operators, std::size_t i) const;
  std::pair<std::int64_t, std::int64_t> range(StageId stage, std::size_t i, std::int32_t micro_batch) const;
  sim::SampleContent filling(std::int64_t begin, std::int64_t end) const;
  std::vector<cost::OpTime> filled_pieces(StageId stage, std::size_t i, std::int32_t micro_batch, bool cut);
  void fill_samples();
  std::map<std::tuple<StageId, std::int64_t, std::int32_t, bool>, std::vector<cost::OpTime>>
      pieces_;                                    ///< key: stage, replica, micro-batch where they differ, cut
  std::unique_ptr<cost::ShorterModels> shorter_;  ///< null: all samples are full
  std::vector<sim::SampleContent> samples_;       ///< of the run; likewise
  std::map<std::tuple<StageId, std::int64_t, bool>, std::unique_ptr<cost::LengthTimes>> length_times_;
  std::vector<std::vector<DeviceId>> devices_;  ///< [rank]
  std::map<std::tuple<DeviceId, StageId, TaskKind, std::int32_t>, const PassRun*> index_;
};

void check_compute(TraceEvidence& evidence);
void check_messages(TraceEvidence& evidence);
void check_network(TraceEvidence& evidence);
void check_reductions(TraceEvidence& evidence);
void check_shared(TraceEvidence& evidence);
void check_memory(TraceEvidence& evidence);
void check_context(TraceEvidence& evidence);
void check_pass_collectives(TraceEvidence& evidence);
void check_experts(TraceEvidence& evidence);
void check_colocated(TraceEvidence& evidence);

/// Time in a pass of one device during which it receives messages of its groups.
Picoseconds communicating(const TraceEvidence& evidence, const Span& pass);

/// Forward passes of a stage's devices in a group take at least the time in which `bytes` per sample, named
/// `what`, come in from the others.
void check_incoming(TraceEvidence& evidence, StageId stage, const std::vector<DeviceId>& group, double bytes,
                    std::string_view what);

}  // namespace penstock::check
