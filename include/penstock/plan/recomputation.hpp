#pragma once
// Recomputation: operators that a stage computes again before its backward pass, instead of saving their
// outputs.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/graph/op_graph.hpp"

namespace penstock::plan {

/// Operators recomputed by segments (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016). A
/// segment's inputs are saved from the first forward pass on. Its outputs are saved from its second forward
/// pass until its backward pass, which directly follows; then the next segment is recomputed. Recomputing
/// only attention's core: Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models,
/// MLSys 2023, section 5. If a schedule splits backward passes, a stage holds everything recomputed until its
/// weight gradients are done. A core is held until its input gradient is done, because it has no weights.
struct Recomputation {
  enum class SegmentScope : std::uint8_t {
    nothing,
    stage,   ///< the whole stage is one segment (GPipe, torchgpipe, PipeDream-2BW)
    layers,  ///< each layer is a segment (Megatron-LM, DeepSpeed, PyTorch's checkpoint around every block)
    core,    ///< each core of attention is a segment (graph/attention_core.hpp; Megatron-LM's "selective")
  };
  SegmentScope of = SegmentScope::nothing;
  /// True: recompute a stage as soon as the device is free, ahead of the gradient (torchgpipe). False:
  /// recompute when the gradient has arrived, inside the backward pass (Megatron-LM, DeepSpeed, PyTorch).
  bool early = false;
  /// Number of the stage's first layers that are recomputed (Megatron-LM's "block" method); 0: all.
  std::int64_t first = 0;

  explicit operator bool() const { return of != SegmentScope::nothing; }
  /// True if weight gradients read recomputed tensors.
  bool outlasts_input_gradient() const { return of != SegmentScope::core; }
  friend bool operator==(const Recomputation&, const Recomputation&) = default;
};
inline constexpr Recomputation kRecomputeStage{Recomputation::SegmentScope::stage};
inline constexpr Recomputation kRecomputeEarly{Recomputation::SegmentScope::stage, true};
inline constexpr Recomputation kRecomputeLayers{Recomputation::SegmentScope::layers};
inline constexpr Recomputation kRecomputeCore{Recomputation::SegmentScope::core};

inline constexpr std::int64_t kMostRecomputedLayers = std::int64_t{1} << 20;

/// Returns "none", "stage", "early", "layers", "4 layers" or "selective".
std::string written(const Recomputation& recomputation);
/// Parses what written() returns, and "true", "late" (both: the stage) and "false". Throws BadInput for other
/// texts.
Recomputation recomputation(std::string_view text);

/// Layer of an operator, derived from its name: all parts between dots up to the last one that ends in a
/// number, excluding the operator's own part. "layer3.attention.query" belongs to "layer3",
/// "branch0.layer1.add" to "branch0.layer1", "head" to none, "".
std::string_view layer_of(std::string_view operator_name);

/// Segments of a stage's operators that are recomputed together; each ascending, sorted by first operator.
/// Operators outside all segments are saved. A layer has at least two operators of the stage. A single
/// operator belongs to the enclosing layer, and interleaved or nested layers form one segment. Cores count
/// only if they consist of separate operators.
std::vector<std::vector<core::OpId>> segments(const graph::OpGraph& graph,
                                              std::span<const core::OpId> operators,
                                              const Recomputation& recomputation);
/// Operators with a core inside, ascending, of a stage that recomputes selectively: only their core is
/// recomputed.
std::vector<core::OpId> inner_cores(const graph::OpGraph& graph, std::span<const core::OpId> operators,
                                    const Recomputation& recomputation);
/// True if any of the operators is recomputed.
bool applies(const graph::OpGraph& graph, std::span<const core::OpId> operators,
             const Recomputation& recomputation);

}  // namespace penstock::plan
