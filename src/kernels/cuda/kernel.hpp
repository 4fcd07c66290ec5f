#pragma once
// One program per pass, written by one builder per kind of operator.

#include "cuda/program.hpp"
#include "operands.hpp"

namespace penstock::kernels::cuda {

struct LibraryHandles;

/// Input and output of a builder.
struct KernelDraft {
  const graph::Operator& op;
  std::int64_t samples;
  Precision precision;
  Element element;  ///< element of activations, weights and their gradients
  LibraryHandles& libraries;
  KernelSlots& slots;  ///< from slots_of; the builder adds saved and handed
  KernelProgram &forward, &input_gradient, &weight_gradient;
};

/// Chooses the builder by the operator's kind. Throws BadInput if a library has no kernel for it.
void build(KernelDraft& draft);

void build_linear(KernelDraft& draft);
void build_matmul(KernelDraft& draft);
void build_convolution(KernelDraft& draft);
void build_pool(KernelDraft& draft);
void build_norm(KernelDraft& draft);
void build_softmax(KernelDraft& draft);
void build_activation(KernelDraft& draft);
void build_elementwise(KernelDraft& draft);
void build_attention(KernelDraft& draft);
void build_embedding(KernelDraft& draft);
void build_concat(KernelDraft& draft);

/// Three programs and the check of their operands; callers with streams implement `run`.
class PassPrograms {
 public:
  /// Throws BadInput like make_kernel.
  PassPrograms(const graph::Operator& op, std::int64_t samples, Precision precision,
               LibraryHandles& libraries);
  const KernelSlots& slots() const { return slots_; }
  const KernelProgram& program(graph::Pass pass) const { return programs_[static_cast<std::size_t>(pass)]; }
  /// Puts the pass on the queue after checking its operands.
  void run(graph::Pass pass, const Operands& operands, const LaunchQueue& queue) const;

 private:
  KernelSlots slots_;
  KernelProgram programs_[3];
};

}  // namespace penstock::kernels::cuda
