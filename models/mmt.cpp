// MMT, the multi-modal Transformer of the GraphPipe evaluation: equal branches that meet in one concat.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {

// The paper gives feed_forward 4096; the published code has 1024, the hidden width. The paper has two
// branches in section 7.2 and four in appendix A.2.
ModelInfo mmt() {
  return {"mmt", "multi-modal Transformer: parallel branches of bare layers, one concat",
          "Jeon et al., GraphPipe, ASPLOS 2025, appendix A.2; layers as in cmu-catalyst/FlexFlow "
          "examples/cpp/CLIP",
          bare_branches_parameters("4", {.layers = 8, .hidden = 1024, .heads = 16, .feed_forward = 4096}),
          bare_branches};
}

}  // namespace penstock::models
