#include "host/kernel.hpp"

#include <fmt/format.h>

#include "host/threads.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels::host {

using graph::OpKind;

void build_by_kind(KernelDraft& draft) {
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
      return build_experts(draft);
    default:
      break;  // refused by slots_of
  }
}

Type type_of(Element element) {
  core::require(element == Element::fp32 || element == Element::bf16, "host kernels compute in fp32 or bf16");
  return element == Element::fp32 ? Type::f32 : Type::bf16;
}

Desc plain(const Dims& dims, Type type) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, type, strides};
}

HostKernel::HostKernel(const graph::Operator& op, std::int64_t samples, Precision precision, int threads,
                       KernelSlots slots, Build build)
    : slots_(std::move(slots)),
      threads_(threads),
      engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_),
      programs_{KernelProgram(engine_), KernelProgram(engine_), KernelProgram(engine_)} {
  const ThreadCount lent(threads_);
  const Element element = storage(precision);
  KernelDraft draft{op, samples, type_of(element), element, slots_, programs_[0], programs_[1], programs_[2]};
  try {
    build(draft);
  } catch (const dnnl::error& e) {
    throw core::BadInput(fmt::format("operator '{}' ({}): oneDNN has no {} kernel for it: {}", op.name,
                                     graph::name(op.kind), name(precision), e.what()));
  }
}

void HostKernel::run(graph::Pass pass, const Operands& operands, Stream&) {
  check(slots_, pass, operands);
  const ThreadCount lent(threads_);
  programs_[static_cast<std::size_t>(pass)].run(operands, stream_);
}

}  // namespace penstock::kernels::host
