#pragma once
// Precisions of weights, gradients and optimizer state during training.

#include <optional>
#include <span>
#include <string_view>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/units.hpp"
#include "penstock/graph/product_format.hpp"

namespace penstock::plan {

/// Precisions of one training run (Micikevicius et al., Mixed Precision Training, ICLR 2018). Adam with
/// 16-bit weights and gradients and fp32 for the rest keeps 2 + 2 + 12 bytes per parameter (Rajbhandari et
/// al., ZeRO, SC 2020, section 3.1); with fp32 gradients, 2 + 4 + 12.
struct MixedPrecision {
  cluster::Precision weights;    ///< and activations: the precision of the model
  cluster::Precision gradients;  ///< summed over micro-batches, then among replicas
  cluster::Precision state;      ///< of each moment of the optimizer
  /// Master weights, which the optimizer updates and rounds to `weights`
  std::optional<cluster::Precision> master;
  /// Precision of the gradients of a single pass, if they are stored in addition to their sums (DeepSpeed's
  /// BF16_Optimizer).
  std::optional<cluster::Precision> pass_gradients{};
  /// Format in which layers multiply (graph::Operator::products).
  graph::ProductFormat products{};
  friend bool operator==(const MixedPrecision&, const MixedPrecision&) = default;
};

/// Precisions by name. fp32 and bf16: everything in that precision. mixed_bf16: gradients, state and master
/// weights in fp32, as in Megatron-LM. mixed_fp16: fp16 weights and gradients, the rest in fp32, as in
/// DeepSpeed. deepspeed_bf16: mixed_bf16 with bf16 gradients of each pass. fp8_delayed, fp8_current, fp8_block,
/// mxfp8, nvfp4: mixed_bf16 whose layers multiply in this graph::ProductFormat, as Megatron-LM trains by
/// Transformer Engine. Throws BadInput for another name.
MixedPrecision mixed_precision(std::string_view name);
std::span<const std::string_view> precision_names();  ///< of mixed_precision()
/// Name of a precision; "" if it has none.
std::string_view name(const MixedPrecision& precision);

/// Rate at which a device multiplies in a format that is not the stored one.
cluster::Precision rate_of(graph::ProductFormat products);

/// Bytes per number. tf32 is a rate of products, whose numbers are stored as fp32.
int bytes(cluster::Precision number);

}  // namespace penstock::plan
