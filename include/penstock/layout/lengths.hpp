#pragma once
// Sequences of different lengths: operators that process fewer tokens than a whole sample has.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/stage_graph.hpp"

namespace penstock::layout {

/// Mean fill of samples in tokens: `tokens` are computed per sample, `keys` are attended to per token. For
/// sequences of l_1, l_2, ... tokens in n samples, with T = sum l_i, these are T / n and (sum l_i^2) / T.
/// Products scale with `tokens`, attention with both.
struct SampleFill {
  double tokens = 0, keys = 0;
  friend auto operator<=>(const SampleFill&, const SampleFill&) = default;
};

/// Tokens of the longest sequence that the model's attention processes; 0: the model has no attention.
std::int64_t sequence(const graph::OpGraph& graph);

/// [operator] true if it processes that sequence token by token: it, or the first tensor it reads, has that
/// many rows. Other operators, such as a vision tower beside a language model, do not depend on the lengths.
std::vector<bool> over_sequence(const graph::OpGraph& graph);

/// Bytes per sample of the boundary's tensors over the sequence.
core::Bytes sequence_bytes(const graph::OpGraph& graph, const plan::StageGraph& stages,
                           const plan::StageBoundary& boundary);

/// Returns the model with samples of this fill. FLOPs, bytes and extents (rounded, at least one) of operators
/// over the sequence shrink; weights do not. If keys equal tokens, this is the model of a shorter sequence.
/// The mask stays: a causal one halves attention at any length.
graph::OpGraph shortened(const graph::OpGraph& graph, const SampleFill& fill);

}  // namespace penstock::layout
