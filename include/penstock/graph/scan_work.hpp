#pragma once
// Work and saved tensors of scans: linear attention and state spaces.

#include "penstock/core/units.hpp"
#include "penstock/graph/attributes.hpp"

namespace penstock::graph {

/// FLOPs of the forward pass of one sample; the backward pass has a gradient for either factor of each product,
/// twice as many. With T tokens in n chunks of c, H heads, G groups, keys of width K and values of width V:
/// - delta rules: 2 H n (c c (3 K + 2 V) + 3 c K V). Products k k', q k', both by the inverse of the triangle
///   (keys and values), scores by values, and key, query and update by state (Yang et al., 2025, section 3.3).
/// - state space: 2 n (G c c K + H (c c V + 2 c K V)). Products q k', scores by values, keys by values, and
///   queries by states (Dao and Gu, 2024, section 6).
/// - selective: T H (9 K + 1), and T H more with a gate: exponent of the step by the decay (3), input (3), update
///   (2), output (1), and the skip (github.com/state-spaces/mamba, issue 110).
/// Not counted: the inverse of a chunk's triangle (c c c / 6 multiply-adds, below 1 % at 64 tokens), decays,
/// norms and, of chunked forms, the skip. The half of a chunk's scores that is masked counts.
core::Flops scan_flops(const LinearScan& scan);

/// Bytes that a sample keeps for the backward pass beside inputs and output; states are computed again.
/// - delta: queries and keys as normalised with their roots, the inverse of the triangle (T H c), sums of decays
///   and steps (ChunkGatedDeltaRuleFunction in fla/ops/gated_delta_rule/chunk.py, version 0.6).
/// - channel_delta: the same with a second triangle (scores) and without decays (fla/ops/kda/chunk.py).
/// - state space: sums of decays, T H (MambaChunkScanCombinedFn in mamba_ssm/ops/triton/ssd_combined.py).
/// - selective: two states per chunk (SelectiveScanFn in mamba_ssm/ops/selective_scan_interface.py).
/// With a gate the result before the gate. Roots, sums, steps and states of `selective` are fp32.
core::Bytes scan_bytes(const LinearScan& scan, int element_bytes);

}  // namespace penstock::graph
