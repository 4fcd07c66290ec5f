#include "penstock/replay/precision.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"

namespace penstock::replay {

kernels::Precision precision_of(const graph::OpGraph& graph, const plan::Training& training) {
  using cluster::Precision;
  if (graph.adapter_rank() > 0)
    throw core::BadInput("LoRA is not replayed: no kernel runs adapters beside frozen weights");
  if (graph.frozen_format() != graph::FrozenFormat::stored)
    throw core::BadInput("frozen weights in 8 or 4 bits are not replayed: kernels read the model's numbers");
  if (graph.products() != graph::ProductFormat::stored)
    throw core::BadInput(
        fmt::format("products in {} are not replayed: no kernel multiplies in less than 16 bits",
                    graph::name(graph.products())));
  const auto& held = training.precision;
  if (graph.element_bytes() == 4) {
    if (held && *held != plan::mixed_precision("fp32"))
      throw core::BadInput(
          "numbers of four bytes are replayed with all else in fp32: leave precision out, or say fp32");
    return kernels::Precision::fp32;
  }
  if (graph.element_bytes() != 2)
    throw core::BadInput(fmt::format("numbers of {} bytes are not replayed", graph.element_bytes()));
  const Precision weights = held ? held->weights : Precision::bf16;
  if (held != plan::MixedPrecision{weights, weights, Precision::fp32, Precision::fp32})
    throw core::BadInput(
        "numbers of two bytes are replayed with gradients in them, an optimizer's state and master weights "
        "in fp32: precision "
        "mixed_fp16, or {weights: bf16, gradients: bf16, state: fp32, master: fp32}");
  return weights == Precision::fp16 ? kernels::Precision::fp16 : kernels::Precision::bf16;
}

}  // namespace penstock::replay
