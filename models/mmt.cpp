// MMT, the multi-modal Transformer of the GraphPipe evaluation: equal branches that meet in one concat.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {

// The paper states feed_forward 4096; the published code has 1024, the hidden width. Section 7.2 of the paper
// also speaks of two branches, its appendix A.2 of four.
ModelInfo mmt() {
  return {"mmt", "multi-modal Transformer: parallel branches of bare layers, one concat",
          "Jeon et al., GraphPipe, ASPLOS 2025, appendix A.2; layers as in cmu-catalyst/FlexFlow "
          "examples/cpp/CLIP",
          bare_branches_parameters("4", {.layers = 8, .hidden = 1024, .heads = 16, .feed_forward = 4096}),
          bare_branches};
}

}  // namespace penstock::models
