// DLRM as in the GraphPipe evaluation: as many dense towers as embedding tables.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

constexpr std::int64_t kLargestBag = 10'000, kLargestTable = 10'000'000'000;

/// Combines the rows that a bag looks up. The authors' final code sums them, an earlier version projects all
/// of them to one row's width, and the paper puts all of them side by side.
Tensor sparse_branch(Layers& net, const std::string& name, const Parameters& p) {
  const std::int64_t width = p.integer("sparse_width", 1, kWidest);
  const std::string bag = p.word("bag", {"sum", "projection", "concat"});
  const Tensor rows = net.indices(name + ".input", p.integer("bag_size", 1, kLargestBag));
  const Table table{p.integer("table_rows", 1, kLargestTable), width, bag == "sum"};
  Tensor x = net.embedding(name + ".embedding", rows, table);
  if (bag == "sum") return x;
  x = net.flatten(name + ".flatten", x);
  return bag == "concat" ? x : net.linear(name + ".projection", x, width, {.fused = Activation::relu});
}

graph::OpGraph build_dlrm(const Parameters& p) {
  const std::int64_t branches = p.integer("branches", 1, kBroadest);
  const std::int64_t layers = p.integer("tower_layers", 1, kDeepest), width = p.integer("width", 1, kWidest);
  const std::int64_t features = p.integer("tower_input", 1, kWidest);
  Layers net(p.model(), p.element_bytes());
  std::vector<Tensor> ends;
  for (std::int64_t i = 0; i < branches; ++i) {  // sparse and dense take turns, as in the authors' code
    ends.push_back(sparse_branch(net, "sparse" + std::to_string(i), p));
    const std::string name = "dense" + std::to_string(i);
    ends.push_back(dense_layers(net, name, net.input(name + ".input", {features}), layers, width));
  }
  const Tensor top =
      dense_layers(net, "top", net.concat("concat", ends), p.integer("top_layers", 0, kDeepest), width);
  net.linear("top.click", top, 1, {.fused = Activation::sigmoid});
  return net.build();
}

}  // namespace

// The paper does not give the input width of a tower and the number of top layers. Values here: 4096, and 4
// layers followed by one.
ModelInfo dlrm() {
  return {"dlrm",
          "recommendation model: embedding tables and dense towers, concat, top layers",
          "GraphPipe, ASPLOS 2025, appendix A.2; Naumov et al., DLRM, arXiv 1906.00091",
          {{"branches", "7", "number of tables, and of towers"},
           {"table_rows", "1000000", "rows of a table"},
           {"sparse_width", "64", "width of a row"},
           {"bag_size", "100", "rows looked up per sample and table"},
           {"bag", "sum", "what becomes of them: sum, projection or concat"},
           {"tower_input", "4096", "dense features of a tower"},
           {"tower_layers", "4", "dense layers of a tower"},
           {"width", "4096", "width of every dense layer"},
           {"top_layers", "4", "dense layers after the concat, before the last of width 1"}},
          build_dlrm};
}

}  // namespace penstock::models
