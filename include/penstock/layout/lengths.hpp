#pragma once
// Sequences of unlike length: operators that work on fewer tokens than a whole sample has.

#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/stage_graph.hpp"

namespace penstock::layout {

/// What samples are filled with, tokens per sample in the mean: those that are computed, and those that one
/// of them meets in attention. Of sequences of l_1, l_2, ... tokens in n samples these are T / n with T = sum
/// l_i, and (sum l_i^2) / T: products go by the first, attention by both.
struct Fill {
  double tokens = 0, keys = 0;
  friend auto operator<=>(const Fill&, const Fill&) = default;
};

/// Tokens of the longest sequence that the model's attention works on; 0: it has no attention.
std::int64_t sequence(const graph::OpGraph& graph);

/// [operator] whether it works on that sequence, token by token: it, or what it reads first, has as many
/// rows. Others, such as a vision tower beside a language model, take as long whatever the lengths are.
std::vector<bool> over_sequence(const graph::OpGraph& graph);

/// Of a boundary's bytes per sample those of tensors over the sequence.
core::Bytes sequence_bytes(const graph::OpGraph& graph, const plan::StageGraph& stages,
                           const plan::Boundary& boundary);

/// The model with samples that are filled so: FLOPs and bytes of operators over the sequence, and the extents
/// in their attributes (rounded, at least one), shrink; weights do not. With as many keys as tokens it is the
/// model of a shorter sequence. A mask is left out, as everywhere: a causal one halves what attention does at
/// any length.
graph::OpGraph shortened(const graph::OpGraph& graph, const Fill& fill);

}  // namespace penstock::layout
