#pragma once
// Fine-tuning by low-rank adapters beside frozen weights.

#include <cstdint>
#include <string>

#include "penstock/graph/op_graph.hpp"

namespace penstock::models {

/// Products that get adapters. `attention`: query, key, value and output. `mlp`: both products of a feed-forward
/// layer. `all`: both kinds.
enum class LoraTargets : std::uint8_t { attention, mlp, all };

/// LoRA (Hu et al., ICLR 2022), with frozen weights in 8 or 4 bits also QLoRA (Dettmers et al., NeurIPS 2023).
struct LoraForm {
  std::int64_t rank = 0;  ///< 0: no adapters, everything trains
  LoraTargets targets = LoraTargets::attention;
  graph::FrozenFormat frozen = graph::FrozenFormat::stored;  ///< of dense layers, attention and experts
};

/// Form of a text such as "rank=16,targets=attention,frozen=4"; "off" has no rank. Throws BadInput.
LoraForm read_lora(const std::string& text);

/// Returns the graph with adapters beside the targets, where only the adapters train. Weights have neither gradient
/// nor optimizer state. What comes before the first adapter has no backward pass. A layer saves its input only
/// where an adapter reads it. Differs from common settings: adapters have no dropout. Throws BadInput if no layer is
/// a target, if weights are tied, and for adapters of experts or of latent attention.
graph::OpGraph with_lora(const graph::OpGraph& graph, const LoraForm& form);

}  // namespace penstock::models
