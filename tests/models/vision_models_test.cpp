// Published sizes of image networks: parameters exactly, multiply-adds of convolutions and dense layers.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "support/near.hpp"

using namespace penstock;
using models::build;

namespace {

/// Multiply-adds as the literature counts them: convolutions and dense layers only.
double multiply_adds(const graph::OpGraph& g) {
  double sum = 0;
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::convolution || op.kind == graph::OpKind::linear)
      sum += op.forward_flops.value() / 2;
  return sum;
}

}  // namespace

TEST_CASE("ResNet-50") {
  const auto g = build("resnet50");
  CHECK(g.parameters() == 25'557'032);
  CHECK(multiply_adds(g) == 4'089'184'256.0);
}

TEST_CASE("VGG-16") {
  const auto g = build("vgg16");
  CHECK(g.parameters() == 138'357'544);
  CHECK(multiply_adds(g) == 15'470'264'320.0);
}

TEST_CASE("Inception v3 without the auxiliary head") {
  // torchvision counts 27,161,264 with the head; the head has 98,560 + 2,459,136 + 769,000.
  const auto g = build("inception_v3");
  CHECK(g.parameters() == 23'834'568);
  CHECK(g.parameters() == 27'161'264 - 98'560 - 2'459'136 - 769'000);
  CHECK(multiply_adds(g) / 1e9 == support::near(5.713, 1e-4));
}

TEST_CASE("parameters of a network with global pooling do not depend on the resolution") {
  for (const char* name : {"resnet50", "vgg16", "inception_v3"}) {
    const auto small = build(name, {{"resolution", "75"}});
    CHECK(small.parameters() == build(name).parameters());
    CHECK(small.forward_flops() < build(name).forward_flops());
  }
}

TEST_CASE("only the first convolution is spared an input gradient") {
  const auto g = build("resnet50");
  int spared = 0;
  for (const auto& op : g.operators())
    spared += op.kind == graph::OpKind::convolution && op.input_gradient_flops == core::Flops(0);
  CHECK(spared == 1);
}

TEST_CASE("ViT: parameters of torchvision's, FLOPs from the closed formulas") {
  const auto g = build("vit");
  CHECK(g.parameters() == 86'567'656);
  CHECK(build("vit", {{"size", "vit-large"}}).parameters() == 304'326'632);
  CHECK(build("vit", {{"size", "vit-huge"}, {"patch", "14"}}).parameters() == 632'045'800);
  // 196 patches and a class token. A layer: 24 L H^2 in dense layers, 4 L^2 H in attention. The patches are
  // one product of 196 x 768 x 768, the head one of 768 x 1000.
  const double length = 197, hidden = 768;
  double products = 0;
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::convolution || op.kind == graph::OpKind::linear ||
        op.kind == graph::OpKind::attention)
      products += op.forward_flops.value();
  CHECK(products == 12 * (24 * length * hidden * hidden + 4 * length * length * hidden) +
                        2 * 196 * hidden * hidden + 2 * hidden * 1000);
}

TEST_CASE("LLaVA-1.5 7B is CLIP's tower, a projector and Vicuna, and freezing moves parameters only") {
  // CLIP ViT-L/14-336: class 1024, patches 3 x 14 x 14 x 1024, positions 577 x 1024, two norms of 2048, 24
  // layers of 12,596,224. Projector: 1024 x 4096 + 4096 + 4096 x 4096 + 4096.
  constexpr std::int64_t kTower = 1024 + 602'112 + 590'848 + 2 * 2048 + 24 * 12'596'224;
  constexpr std::int64_t kProjector = 4'198'400 + 16'781'312, kAll = 7'063'427'072;
  const auto parameters = [](const char* frozen) {
    const auto g = build("vlm", {{"frozen", frozen}});
    return std::pair(g.parameters(), g.frozen_parameters());
  };
  CHECK(parameters("nothing") == std::pair(kAll, std::int64_t{0}));
  CHECK(parameters("towers") == std::pair(kAll - kTower, kTower));
  CHECK(parameters("all_but_projectors") == std::pair(kProjector, kAll - kProjector));
}

TEST_CASE("a frozen tower gets no gradient, and only the input of the projector is kept") {
  const auto g = build("vlm", {{"frozen", "towers"}, {"layers", "1"}});
  core::Bytes saved;
  core::Flops back;
  for (const auto& op : g.operators())
    if (op.name.starts_with("vision.")) saved += op.saved_bytes, back += op.input_gradient_flops;
  CHECK(saved == core::Bytes(577 * 1024 * 4));  // the last norm, of which the projector reads the patches
  CHECK(back == core::Flops(0));
}

TEST_CASE("a frozen decoder hands gradients on, and keeps no input of its dense layers") {
  // A layer keeps its norms and the tensors of the swiglu and the attention. It keeps no output of sums and
  // of the swiglu that only a dense layer reads.
  const auto trained = build("vlm", {{"layers", "1"}}),
             frozen = build("vlm", {{"layers", "1"}, {"frozen", "all_but_projectors"}});
  for (std::size_t v = 0; v < trained.size(); ++v) {
    const auto &before = trained.op(core::OpId(v)), &after = frozen.op(core::OpId(v));
    CAPTURE(before.name);
    if (before.name == "layer0.down") CHECK(after.input_gradient_flops == before.input_gradient_flops);
    if (before.name == "layer0.swiglu") CHECK(after.saved_bytes == core::Bytes(0));
    if (before.name == "layer0.gate_up")
      CHECK(after.saved_bytes == before.saved_bytes);  // the swiglu reads it
    CHECK(after.weight_gradient_flops ==
          (before.name.starts_with("projector.") ? before.weight_gradient_flops : core::Flops(0)));
  }
}

TEST_CASE("DiT-XL/2: parameters of the authors' checkpoint, multiply-adds of their table") {
  const auto g = build("dit");
  CHECK(g.parameters() + g.frozen_parameters() == 675'129'632);
  CHECK(g.frozen_parameters() == 256 * 1152);
  double sum = 0;
  for (const auto& op : g.operators())
    if (op.kind != graph::OpKind::norm && op.kind != graph::OpKind::elementwise &&
        op.kind != graph::OpKind::activation)
      sum += op.forward_flops.value() / 2;
  CHECK(sum / 1e9 == support::near(118.64, 1e-3));
}
