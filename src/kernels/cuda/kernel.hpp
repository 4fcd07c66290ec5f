#pragma once
// One program per pass, written by one builder per kind of operator.

#include "cuda/program.hpp"
#include "operands.hpp"

namespace penstock::kernels::cuda {

struct Libraries;

/// Input and output of a builder.
struct Draft {
  const graph::Operator& op;
  std::int64_t samples;
  Precision precision;
  Element element;  ///< element of activations, weights and their gradients
  Libraries& libraries;
  Slots& slots;  ///< from slots_of; the builder adds saved and handed
  Program &forward, &input_gradient, &weight_gradient;
};

/// Chooses the builder by the operator's kind. Throws BadInput if a library has no kernel for it.
void build(Draft& draft);

void build_linear(Draft& draft);
void build_matmul(Draft& draft);
void build_convolution(Draft& draft);
void build_pool(Draft& draft);
void build_norm(Draft& draft);
void build_softmax(Draft& draft);
void build_activation(Draft& draft);
void build_elementwise(Draft& draft);
void build_attention(Draft& draft);
void build_embedding(Draft& draft);
void build_concat(Draft& draft);

/// Three programs and the check of their operands; callers with streams implement `run`.
class Passes {
 public:
  /// Throws BadInput like make_kernel.
  Passes(const graph::Operator& op, std::int64_t samples, Precision precision, Libraries& libraries);
  const Slots& slots() const { return slots_; }
  const Program& program(graph::Pass pass) const { return programs_[static_cast<std::size_t>(pass)]; }
  /// Puts the pass on the queue after checking its operands.
  void run(graph::Pass pass, const Operands& operands, const Queue& queue) const;

 private:
  Slots slots_;
  Program programs_[3];
};

}  // namespace penstock::kernels::cuda
