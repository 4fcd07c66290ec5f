#pragma once
// What a stage computes again before its backward pass, so that it need not be saved until then.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/graph/op_graph.hpp"

namespace penstock::plan {

/// Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016: operators are computed again segment by
/// segment. What a segment reads is saved from the first forward pass on; what it makes, from its second
/// forward pass until its backward pass, which follow each other before the next segment's turn. Attention's
/// core alone: Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, MLSys 2023,
/// section 5. Where a schedule splits backward passes a stage holds all that it made again until its weight
/// gradients are done, a core until the input gradient is: it has no weights.
struct Recomputation {
  enum class Of : std::uint8_t {
    nothing,
    stage,   ///< the stage is one segment (GPipe, torchgpipe, PipeDream-2BW)
    layers,  ///< each layer is one (Megatron-LM, DeepSpeed, PyTorch's checkpoint around every block)
    core,    ///< each core of attention is one (graph/attention_core.hpp; Megatron-LM's "selective")
  };
  Of of = Of::nothing;
  /// A stage is recomputed as soon as the device is free, ahead of the gradient (torchgpipe). Else when the
  /// gradient is there, inside the backward pass (Megatron-LM, DeepSpeed, PyTorch).
  bool early = false;
  /// Number of the stage's first layers that are recomputed (Megatron-LM's "block" method); 0: all.
  std::int64_t first = 0;

  explicit operator bool() const { return of != Of::nothing; }
  /// Whether weight gradients read what was computed again.
  bool outlasts_input_gradient() const { return of != Of::core; }
  friend bool operator==(const Recomputation&, const Recomputation&) = default;
};
inline constexpr Recomputation kRecomputeStage{Recomputation::Of::stage};
inline constexpr Recomputation kRecomputeEarly{Recomputation::Of::stage, true};
inline constexpr Recomputation kRecomputeLayers{Recomputation::Of::layers};
inline constexpr Recomputation kRecomputeCore{Recomputation::Of::core};

inline constexpr std::int64_t kMostRecomputedLayers = std::int64_t{1} << 20;

/// "none", "stage", "early", "layers", "4 layers", "selective".
std::string written(const Recomputation& recomputation);
/// Reads that, and "true", "late" (the stage) and "false". Throws BadInput for other texts.
Recomputation recomputation(std::string_view text);

/// The layer of a model that an operator belongs to, told by its name: all up to the last part between dots
/// that ends in a number, its own part left out. "layer3.attention.query" is of "layer3",
/// "branch0.layer1.add" of "branch0.layer1", "head" of none, "".
std::string_view layer_of(std::string_view operator_name);

/// The sets of a stage's operators that are computed again together; each ascending, by their first operator.
/// Operators outside all of them are saved. A layer has two operators of the stage at least; what stands
/// alone belongs to the layer around it, and layers that take turns or lie within one another are one. Of
/// cores those that are operators of their own.
std::vector<std::vector<core::OpId>> segments(const graph::OpGraph& graph,
                                              std::span<const core::OpId> operators,
                                              const Recomputation& recomputation);
/// Operators with a core inside, ascending, of a stage that recomputes selectively: their core alone is
/// computed again.
std::vector<core::OpId> inner_cores(const graph::OpGraph& graph, std::span<const core::OpId> operators,
                                    const Recomputation& recomputation);
/// Whether there is something among the operators to compute again.
bool applies(const graph::OpGraph& graph, std::span<const core::OpId> operators,
             const Recomputation& recomputation);

}  // namespace penstock::plan
