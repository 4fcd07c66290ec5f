#pragma once
// What every device of a plan does in an iteration, one instruction after the other, and what it is sent.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/program/sharing.hpp"
#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::replay {

using program::Samples;

using MessageId = std::int32_t;

/// Some samples of what one stage hands another: the tensors that cross the boundary, or, the other way,
/// their gradients. Between stages on one device too, where nothing moves. From or to tensor-parallel groups
/// they travel in parts, as in the simulator.
struct Message {
  bool gradient = false;
  core::StageId from, to;  ///< sending and receiving
  core::DeviceId sender, receiver;
  std::vector<core::OpId> tensors;  ///< whose outputs, ascending; empty: an order that is imposed, no data,
                                    ///< for which nobody makes room
  Samples samples;
  std::int32_t part = 0, parts = 1;  ///< of the bytes of all tensors side by side, nearly equal
  core::Bytes bytes;                 ///< of the part, uncompressed
  std::int32_t sent_in = -1;         ///< micro-batch of `from`
  std::int32_t needed_in = -1;       ///< micro-batch of `to`
  core::StageId source{};            ///< `from`; of a colocated stage its first part, for all of them
};

/// One pass, reduction, update or barrier of one device.
struct Instruction {
  schedule::ActionKind kind =
      schedule::ActionKind::forward;  ///< forward, backward, input_gradient, weight_gradient,
                                      ///< recompute, reduce_gradient, step or barrier
  core::StageId stage;                ///< invalid of a barrier
  std::int32_t shared = -1;         ///< of a reduce_gradient among stages: index into DevicePrograms::shared
  std::int32_t micro_batch = -1;    ///< of the stage, among all; -1 of what concerns the whole stage
  Samples samples;                  ///< this device's share
  std::int32_t weights = -1;        ///< of forward, recompute and gradients: updates in the weights it uses,
                                    ///< counted from the beginning of the program
  std::vector<MessageId> receives;  ///< arrived before it starts; the others of a group receive the rest
  std::vector<MessageId> sends;     ///< ready when it ends
  std::vector<MessageId> opens;     ///< receives for which it leaves room; and those it sends to its device
};

struct DevicePrograms {
  std::vector<Message> messages;
  std::vector<std::vector<Instruction>> devices;  ///< [device], empty where it serves no stage
  std::vector<std::vector<MessageId>>
      open_at_start;  ///< [device] receives there is room for from the beginning
  std::int64_t mini_batches = 1;
  std::vector<plan::SharedParameters> shared;  ///< among stages
};

/// The plan's program (program::lower), which the simulator runs too, for each device: with its own samples,
/// what it sends and is sent, and the weights that each pass uses, as the schedule's policy says
/// (schedule::WeightPolicy), of those that the STEPs before it have made; recomputation those of its backward
/// pass. Differs from what the simulator runs: gradients are not cut into buckets, and a pair that overlaps
/// runs as its forward, then its backward. Precondition: plan::structural_violations has none, the order no
/// violations. Throws BadInput as program::lower does, and for what is not replayed: colocated stages whose
/// groups have other sizes than those of their devices' other stages, ZeRO, compression,
/// predicted weights, numbers of another precision (precision_of), parameters shared between stages without a
/// flush, or by groups that divide them differently; and naming rank and pass where a policy asks for weights
/// that are not made yet. Error(limit): more than 2^24 messages.
DevicePrograms lower(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled);

}  // namespace penstock::replay
