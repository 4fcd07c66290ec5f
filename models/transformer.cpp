// The sequential model of GraphPipe's appendix: the layers of MMT in a single chain.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

graph::OpGraph build_transformer(const Parameters& p) {
  Layers net(p.model(), p.element_bytes());
  bare_branch(net, "chain", p.integer("sequence", 1, kWidest), read_bare_stack(p));
  return net.build();
}

}  // namespace

ModelInfo transformer() {
  std::vector<ParameterInfo> parameters =
      bare_parameters({.layers = 32, .hidden = 1024, .heads = 16, .feed_forward = 4096});
  parameters.push_back({"sequence", "256", "tokens of a sample"});
  return {"transformer", "one chain of bare Transformer layers",
          "GraphPipe, ASPLOS 2025, appendix A.3: the configuration of MMT, sequential", std::move(parameters),
          build_transformer};
}

}  // namespace penstock::models
