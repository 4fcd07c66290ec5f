// CANDLE Uno, drug response from cell and drug features: one tower per feature set, concat, top layers.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

struct Feature {
  std::string name;
  std::int64_t width;
};

/// In the order of the authors' map, which sorts by name. Doses have width 1 and no tower.
const std::vector<Feature>& published_features() {
  static const std::vector<Feature> features = {{"cell.rnaseq", 942},
                                                {"dose1", 1},
                                                {"dose2", 1},
                                                {"drug1.descriptors", 5270},
                                                {"drug1.fingerprints", 2048},
                                                {"drug2.descriptors", 5270},
                                                {"drug2.fingerprints", 2048},
                                                {"drug3.descriptors", 5270},
                                                {"drug3.fingerprints", 2048}};
  return features;
}

std::vector<Feature> equal_features(std::int64_t towers) {
  std::vector<Feature> features;
  for (std::int64_t i = 0; i < towers; ++i) features.push_back({"tower" + std::to_string(i), 4096});
  return features;
}

graph::OpGraph build_candle_uno(const Parameters& p) {
  const std::int64_t towers = p.integer("towers", 0, kBroadest), width = p.integer("width", 1, kWidest);
  const std::int64_t layers = p.integer("tower_layers", 1, kDeepest);
  Layers net(p.model(), p.element_bytes());
  std::vector<Tensor> ends;
  for (const Feature& feature : towers == 0 ? published_features() : equal_features(towers)) {
    const Tensor x = net.input(feature.name + ".input", {feature.width});
    ends.push_back(feature.width == 1 ? x : dense_layers(net, feature.name, x, layers, width));
  }
  const std::int64_t top_layers = p.integer("top_layers", 0, kDeepest);
  net.linear("top.response", dense_layers(net, "top", net.concat("concat", ends), top_layers, width), 1);
  return net.build();
}

}  // namespace

ModelInfo candle_uno() {
  return {
      "candle_uno",
      "drug response: towers per feature set, concat, top layers",
      "GraphPipe, ASPLOS 2025, appendix A.2 and figure 7; cmu-catalyst/FlexFlow examples/cpp/candle_uno",
      {{"towers", "0", "0: the seven published feature sets and two doses; n: n equal towers of input 4096"},
       {"tower_layers", "4", "dense layers of a tower"},
       {"width", "4096", "width of every dense layer"},
       {"top_layers", "2", "dense layers after the concat, before the last of width 1"}},
      build_candle_uno};
}

}  // namespace penstock::models
