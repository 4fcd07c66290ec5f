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
  // 196 patches and a class token. A layer: 24 L H^2 in dense layers, 4 L^2 H in attention; the patches one
  // product of 196 x 768 x 768, the head one of 768 x 1000.
  const double length = 197, hidden = 768;
  double products = 0;
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::convolution || op.kind == graph::OpKind::linear ||
        op.kind == graph::OpKind::attention)
      products += op.forward_flops.value();
  CHECK(products == 12 * (24 * length * hidden * hidden + 4 * length * length * hidden) +
                        2 * 196 * hidden * hidden + 2 * hidden * 1000);
}
