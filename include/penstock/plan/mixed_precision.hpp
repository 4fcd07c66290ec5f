#pragma once
// Precisions of weights, gradients and optimizer state during training.

#include <optional>
#include <string_view>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/units.hpp"

namespace penstock::plan {

/// Micikevicius et al., Mixed Precision Training, ICLR 2018. Adam with 16-bit weights and gradients and the
/// rest in fp32 keeps 2 + 2 + 12 bytes per parameter (Rajbhandari et al., ZeRO, SC 2020, section 3.1), with
/// fp32 gradients 2 + 4 + 12.
struct MixedPrecision {
  cluster::Precision weights;                ///< and activations: the model's numbers
  cluster::Precision gradients;              ///< summed over micro-batches, then among replicas
  cluster::Precision state;                  ///< each of the optimizer's moments
  std::optional<cluster::Precision> master;  ///< weights that the optimizer updates and rounds to the others
  /// Precision of a pass' gradients, where they are stored beside the sums that they are added to
  /// (DeepSpeed's BF16_Optimizer).
  std::optional<cluster::Precision> pass_gradients{};
  friend bool operator==(const MixedPrecision&, const MixedPrecision&) = default;
};

/// fp32 and bf16: all of it; mixed_bf16: gradients, state and master weights in fp32, as Megatron-LM;
/// mixed_fp16: fp16 weights and gradients, the others in fp32, as DeepSpeed; deepspeed_bf16: mixed_bf16 with
/// gradients of a pass in bf16 besides. Throws BadInput for another name.
MixedPrecision mixed_precision(std::string_view name);
/// The name of a precision, or "" where it has none.
std::string_view name(const MixedPrecision& precision);

/// Bytes of one number. tf32 is a rate of products, whose numbers are held in fp32.
int bytes(cluster::Precision number);

}  // namespace penstock::plan
