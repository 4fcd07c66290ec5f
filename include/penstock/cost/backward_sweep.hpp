#pragma once
// Memory that the backward pass of a stage holds beside activations, operator by operator.

#include <span>
#include <vector>

#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// One operator's backward passes.
struct BackwardStep {
  core::OpId op;
  core::Bytes gradient;  ///< of its output, per sample
  core::Bytes terms;     ///< of all its inputs, per sample, once for each time it reads one
  core::Bytes fresh;  ///< its weight gradient, made apart to be added to those of the micro-batches before;
                      ///< tables are added to in place
  Scratch scratch;
};

BackwardStep backward_step(const graph::OpGraph& graph, const CostModel& costs, core::OpId op);

/// No less than what it wants at any moment beside gradients that are there already, its own and those of the
/// tensors it reads.
Line most_around(const BackwardStep& step);

/// The operators of a stage run backwards, each its input gradients, then its weight gradient. The gradient
/// of a tensor is there from its first term until its producer has run; of one that entered the stage until
/// the end. Each term is made apart and added to it. Gradients of tensors that leave the stage are left out:
/// they lie in buffers, where other stages' terms came in. With them, the fresh weight gradient and the
/// scratch of the kernel that runs. A replay and frameworks do it this way too. Differs from planners' models
/// in the literature, which count a constant or nothing (GraphPipe: Jeon et al., ASPLOS 2025; Piper:
/// Tarnawski et al., NeurIPS 2021).
class BackwardSweep {
 public:
  /// `steps`, ascending, are all that may run. What reads their outputs besides is another stage.
  BackwardSweep(const graph::OpGraph& graph, std::span<const BackwardStep> steps);

  /// The last of them that has not run. Stages that begin here are done: they hold no more than `most`.
  void run(const BackwardStep& step);
  /// The most that was held at any moment so far.
  const Envelope& most() const { return most_; }

 private:
  std::int64_t& of(core::OpId op) { return held_[op.index()]; }
  bool leaves(core::OpId op);
  void need(core::OpId op);
  void drop(core::OpId op);
  void begin(const BackwardStep& step);
  void show(const BackwardStep& step);
  void compute(const BackwardStep& step);
  bool runs_input_gradient(const BackwardStep& step) const;

  const graph::OpGraph& graph_;
  std::vector<std::int64_t> held_;     ///< [operator] per sample, of the gradient of its output that is there
  std::vector<core::Bytes> gradient_;  ///< [operator] what that would be
  core::Bytes live_;                   ///< sum of what is held
  Envelope most_;
};

/// Workspace of a whole stage.
Envelope backward_workspace(const graph::OpGraph& graph, std::span<const BackwardStep> steps);

/// True if the operator's weight gradient waits for the pass of weight gradients, in a split backward pass. Kernels
/// of scans and short convolutions make it with the gradient of their inputs.
bool waits_for_weights(const graph::Operator& op, cluster::SplitBackward split);

/// Memory that input gradients leave to weight gradients that run in a pass of their own. These are the
/// gradients of the outputs of operators whose weight gradients wait, and what their kernels hand on.
Line deferred_gradients(const graph::OpGraph& graph, std::span<const BackwardStep> steps,
                        cluster::SplitBackward split = cluster::SplitBackward::all_saved);

/// Least memory that any stage with the operator holds: the gradient of its output too, be it in a buffer.
Envelope least_workspace(const graph::OpGraph& graph, const CostModel& costs, core::OpId op);

}  // namespace penstock::cost
