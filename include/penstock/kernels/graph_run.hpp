#pragma once
// A whole model on one device: its operators in order, tensors handed from one to the next.

#include <memory>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// One micro-batch of a model, all its buffers and kernels. Inputs, parameters and the gradients of what
/// nobody reads are random, by seed (wiring.hpp: who reads what, and how large parameters are).
class GraphRun {
 public:
  /// Refers to backend and graph. Throws BadInput as Backend::make_kernel and allocate do, and where the
  /// sizes of operators and their inputs do not match.
  GraphRun(Backend& backend, const graph::OpGraph& graph, std::int64_t samples, Precision precision,
           std::uint64_t seed);
  ~GraphRun();

  /// All operators in order; in falling order, input gradient before weight gradient.
  void forward(Stream& stream);
  void backward(Stream& stream);

  /// One operator. Gradients are run in falling order of operators: the gradient of a tensor with several
  /// consumers is written by the last one's pass and added to by the others'. Views work in the forward and
  /// input gradient passes where they show part of a tensor, and are nothing but another name where they show
  /// all of it.
  bool runs(core::OpId op, graph::Pass pass) const;
  void run(core::OpId op, graph::Pass pass, Stream& stream);

  /// Gradients of tables are added to; all others are written anew by every backward pass.
  void zero_tables(Stream& stream);

  Buffer& output(core::OpId op) const;           ///< of every operator that is read or computes
  Buffer* output_gradient(core::OpId op) const;  ///< null where no parameters stand at or above
  const std::vector<Buffer*>& parameters(core::OpId op) const;    ///< of a tied operator: those it shares
  std::vector<Buffer*> parameter_gradients(core::OpId op) const;  ///< none of frozen ones

  /// About what the buffers take, without making any.
  static core::Bytes bytes(const graph::OpGraph& graph, std::int64_t samples);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::kernels
