#pragma once
// Program of every device in an iteration: its instructions and messages.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/program/sharing.hpp"
#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::replay {

using program::SampleRange;

using MessageId = std::int32_t;

/// Samples that one stage sends to another: the tensors that cross the boundary or, in the other direction,
/// their gradients. Messages between stages on one device move no data. Messages of tensor-parallel groups
/// travel in parts, as in the simulator.
struct DeviceMessage {
  bool gradient = false;
  core::StageId from, to;  ///< sending and receiving
  core::DeviceId sender, receiver;
  /// Operators whose outputs are sent, ascending; empty: an imposed order without data and buffers.
  std::vector<core::OpId> tensors;
  SampleRange samples;
  std::int32_t part = 0, parts = 1;  ///< of the bytes of all tensors concatenated, nearly equal
  core::Bytes bytes;                 ///< bytes of the part, uncompressed
  std::int32_t sent_in = -1;         ///< micro-batch of `from`
  std::int32_t needed_in = -1;       ///< micro-batch of `to`
  core::StageId source{};            ///< `from`; for a colocated stage its first part, for all parts
};

/// One pass, reduction, update or barrier of one device.
struct DeviceInstruction {
  schedule::ActionKind kind =
      schedule::ActionKind::forward;  ///< forward, backward, input_gradient, weight_gradient,
                                      ///< recompute, reduce_gradient, step or barrier
  core::StageId stage;                ///< invalid for a barrier
  std::int32_t shared = -1;       ///< for a reduce_gradient among stages: index into DevicePrograms::shared
  std::int32_t micro_batch = -1;  ///< of the stage, among all; -1 for instructions of a whole stage
  SampleRange samples;            ///< this device's share
  /// For forward, recompute and gradients: number of updates in the weights it uses, from the beginning of
  /// the program.
  std::int32_t weights = -1;
  std::vector<MessageId> receives;  ///< received before it starts; the others of a group receive the rest
  std::vector<MessageId> sends;     ///< ready when it ends
  /// Receives for which it frees buffers, including those it sends to its own device.
  std::vector<MessageId> opens;
};

struct DevicePrograms {
  std::vector<DeviceMessage> messages;
  std::vector<std::vector<DeviceInstruction>> devices;  ///< [device] empty if it serves no stage
  std::vector<std::vector<MessageId>> open_at_start;  ///< [device] receives with a free buffer from the start
  std::int64_t mini_batches = 1;
  std::vector<plan::SharedParameters> shared;  ///< parameters shared among stages
};

/// Lowers the plan's program (program::lower, which the simulator runs too) for each device: with its own
/// samples, its messages, and the weights that each pass uses. These follow from the schedule's policy
/// (schedule::WeightPolicy) and the preceding STEPs; recomputation uses those of its backward pass. Differs
/// from the simulator's program: gradients are not divided into buckets, and an overlapped pair runs as its
/// forward, then its backward.
///
/// Precondition: plan::structural_violations and the order have no violations. Throws BadInput like
/// program::lower, and for features that cannot be replayed. These are colocated stages whose groups differ
/// in size from those of their devices' other stages, ZeRO, compression, predicted weights, and another
/// precision (precision_of). Further ones are parameters shared between stages without a flush, or by groups
/// that divide them differently. Also throws BadInput naming rank and pass if a policy needs weights that do
/// not exist yet. Error(limit): more than 2^24 messages.
DevicePrograms lower(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled);

}  // namespace penstock::replay
