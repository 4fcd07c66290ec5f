#include "cuda/kernel.hpp"

#include "penstock/core/error.hpp"

namespace penstock::kernels::cuda {

void build(KernelDraft& draft) {
  using graph::OpKind;
  switch (draft.op.kind) {
    case OpKind::linear:
      return build_linear(draft);
    case OpKind::matmul:
      return build_matmul(draft);
    case OpKind::convolution:
      return build_convolution(draft);
    case OpKind::pool:
      return build_pool(draft);
    case OpKind::norm:
      return build_norm(draft);
    case OpKind::softmax:
      return build_softmax(draft);
    case OpKind::activation:
      return build_activation(draft);
    case OpKind::elementwise:
      return build_elementwise(draft);
    case OpKind::attention:
      return build_attention(draft);
    case OpKind::embedding:
      return build_embedding(draft);
    case OpKind::concat:
      return build_concat(draft);
    case OpKind::experts:
      throw core::BadInput("operator '" + draft.op.name + "': cuda has no kernel for experts; host has one");
    default:
      break;  // refused by slots_of
  }
}

PassPrograms::PassPrograms(const graph::Operator& op, std::int64_t samples, Precision precision,
                           LibraryHandles& libraries)
    : slots_(slots_of(op, samples, precision)) {
  KernelDraft draft{op,     samples,      precision,    storage(precision), libraries,
                    slots_, programs_[0], programs_[1], programs_[2]};
  build(draft);
}

void PassPrograms::run(graph::Pass pass, const Operands& operands, const LaunchQueue& queue) const {
  check(slots_, pass, operands);
  program(pass).run(operands, queue);
}

}  // namespace penstock::kernels::cuda
