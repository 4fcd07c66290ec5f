#pragma once
// Megatron-LM's text for which layers a pipeline stage has: --pipeline-model-parallel-layout.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::frameworks {

/// Content of one stage, in the order E, t, m, L.
struct StageLayers {
  bool embedding = false;
  std::int64_t layers = 0;      ///< of the decoder ("t")
  std::int64_t predictors = 0;  ///< multi-token prediction ("m")
  bool loss = false;            ///< with the head
  friend bool operator==(const StageLayers&, const StageLayers&) = default;
};

/// Stages in the order of the model: `Et*3|(tt|)*29,m|L`. Of a rank with several stages, the v-th stage of
/// rank r is number v * ranks + r (megatron/core/transformer/pipeline_parallel_layer_layout.py).
std::string to_layout(const std::vector<StageLayers>& stages);

/// Reads that: commas mean nothing, `(x)*n` and then `c*n` are written out, `|` parts stages. Throws BadInput
/// for other letters, a stage out of the order above, and more than 65,536 letters. Also throws without an E
/// at the very beginning or an L at the very end.
std::vector<StageLayers> parse_layout(std::string_view text);

}  // namespace penstock::frameworks
