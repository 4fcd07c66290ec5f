#pragma once
// A whole model on one device: its operators in order, with tensors passed from one to the next.

#include <memory>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// One micro-batch of a model, with all its buffers and kernels. Inputs, parameters and the gradients of
/// unread outputs are random, by seed (wiring.hpp: readers, and sizes of parameters).
class GraphRun {
 public:
  /// Keeps references to backend and graph. Throws BadInput like Backend::make_kernel and allocate, and if
  /// the sizes of operators and their inputs do not match.
  GraphRun(Backend& backend, const graph::OpGraph& graph, std::int64_t samples, Precision precision,
           std::uint64_t seed);
  ~GraphRun();

  /// Runs all operators: forward in order; backward in reverse, input gradient before weight gradient.
  void forward(Stream& stream);
  void backward(Stream& stream);

  /// Runs one operator. Gradients run in reverse order of operators. The gradient of a tensor with several
  /// consumers is written by the last one's pass, and the others' passes add to it. A view of part of a
  /// tensor works in the forward and input gradient passes; a view of everything is only another name.
  bool runs(core::OpId op, graph::Pass pass) const;
  void run(core::OpId op, graph::Pass pass, Stream& stream);

  /// Gradients of tables are added to; all others are overwritten by every backward pass.
  void zero_tables(Stream& stream);

  Buffer& output(core::OpId op) const;           ///< for every operator that is read or computes
  Buffer* output_gradient(core::OpId op) const;  ///< null without parameters at or above it
  const std::vector<Buffer*>& parameters(core::OpId op) const;    ///< for a tied operator: those it shares
  std::vector<Buffer*> parameter_gradients(core::OpId op) const;  ///< none for frozen ones

  /// Estimated size of the buffers, without allocating any.
  static core::Bytes bytes(const graph::OpGraph& graph, std::int64_t samples);

 private:
  struct RunParts;
  std::unique_ptr<RunParts> parts_;
};

}  // namespace penstock::kernels
