#pragma once
// What a set of operators asks of the device that runs it, before micro-batch size and device count are
// chosen.

#include <optional>
#include <span>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/memory_kind.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::cost {

/// Sums over the operators of one stage. All but `parameters` are per sample.
struct StageLoad {
  core::Bytes parameters;  ///< bytes of weights, copies of those that operators elsewhere own included
  core::Bytes kept;        ///< outputs and internals held for the backward pass
  core::Bytes entering;    ///< distinct tensors received from other stages; held for the backward pass too
  core::Bytes leaving;     ///< distinct tensors that some other stage reads
  core::Bytes
      working;  ///< largest inputs-plus-output of one operator: gradients alive while it runs backward
  core::Bytes largest{};  ///< weights of the operator that has most of them
  core::Bytes fresh{};  ///< largest weight gradient that an operator makes apart, to be added to those of the
                        ///< micro-batches before; tables are added to in place
};

/// What replicas share of weights, gradients and optimizer state.
struct Zero {
  int stage = 0;
  std::int64_t replicas = 1;
};

StageLoad stage_load(const graph::OpGraph& graph, std::span<const core::OpId> operators);

/// How a planner or framework counts memory. Defaults are Penstock's: everything counted once.
struct MemoryRule {
  std::int64_t weight_copies = 1;
  std::int64_t gradient_copies = 1;    ///< weight gradients, accumulated over the mini-batch
  std::int64_t activation_copies = 1;  ///< GraphPipe's logs count a tensor and its gradient: 2
  bool optimizer_state = true;         ///< sgd 0, momentum 1, adam 2 copies of the weights
  bool transient = true;               ///< workspace and receive buffers
};

/// Bytes on each of the stage's devices. `samples` of each micro-batch fall to one device; `in_flight` counts
/// micro-batches. Receive buffers: one micro-batch of entering tensors ahead of the one computed, and two of
/// gradients of the leaving ones (one in use, one arriving).
/// `whole` of them are held whole, the others, which are recomputed, keep only what enters; default: all.
/// The workspace holds the gradients around one operator and its weight gradient before that is added.
/// With ZeRO a device keeps one part of what replicas share, rounded up; its workspace holds one operator's
/// weight gradient before it is scattered (stage 2 on), the weights of one that are in use and of one that
/// arrive (stage 3).
plan::MemoryByKind stage_memory(const StageLoad& load, const MemoryRule& rule, plan::Optimizer optimizer,
                                std::int64_t samples, std::int64_t in_flight,
                                std::optional<std::int64_t> whole = {}, Zero zero = {});

using plan::samples_per_device;

}  // namespace penstock::cost
