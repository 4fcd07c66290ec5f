#pragma once
// One program per pass, written by one builder per kind of operator.

#include <array>

#include "host/program.hpp"
#include "operands.hpp"

namespace penstock::kernels::host {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

Type type_of(Element element);
/// Row-major layout.
Desc plain(const Dims& dims, Type type);

/// Input and output of a builder.
struct KernelDraft {
  const graph::Operator& op;
  std::int64_t samples;
  Type type;  ///< type of activations, weights and their gradients
  Element element;
  KernelSlots& slots;  ///< from slots_of; the builder adds saved and handed
  KernelProgram &forward, &input_gradient, &weight_gradient;
};

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
void build_experts(KernelDraft& draft);

void build_by_kind(KernelDraft& draft);
/// See Backend::make_attention_core.
void build_attention_core(KernelDraft& draft);

class HostKernel : public Kernel {
 public:
  using Build = void (*)(KernelDraft&);
  /// Throws BadInput like make_kernel; `threads` is the current count.
  HostKernel(const graph::Operator& op, std::int64_t samples, Precision precision, int threads,
             KernelSlots slots, Build build);
  const KernelSlots& slots() const override { return slots_; }
  bool has(graph::Pass pass) const override { return has_pass(slots_, pass); }
  void run(graph::Pass pass, const Operands& operands, Stream& stream) override;
  std::string algorithm(graph::Pass pass) const override { return program(pass).algorithm(); }
  core::Bytes workspace(graph::Pass pass) const override { return program(pass).workspace(); }

 private:
  const KernelProgram& program(graph::Pass pass) const { return programs_[static_cast<std::size_t>(pass)]; }

  KernelSlots slots_;
  int threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::array<KernelProgram, 3> programs_;
};

}  // namespace penstock::kernels::host
