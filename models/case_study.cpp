// The case study of the GraphPipe paper: a small MMT whose best plan is known, eight stages of one layer
// each.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {

// The paper gives structure only. Default sizes are configuration 2 of the authors' synthetic branches; 1 is
// hidden 2304, 12 heads, sequence 512 and 3 is hidden 512, 8 heads, sequence 256.
ModelInfo case_study() {
  return {"case_study", "two branches of four bare layers, one concat",
          "GraphPipe, ASPLOS 2025, figures 8 and 10; sizes from the authors' synthetic branches",
          bare_branches_parameters("2", {.layers = 4, .hidden = 1024, .heads = 16, .feed_forward = 0}),
          bare_branches};
}

}  // namespace penstock::models
