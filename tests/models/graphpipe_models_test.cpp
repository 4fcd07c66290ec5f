// The models of the GraphPipe evaluation against sizes counted from the paper's appendix and the authors'
// code.

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/core/quantity_text.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Bytes;
using models::build;

namespace {

double giga_flops(const graph::OpGraph& g) {
  return g.forward_flops().value() / 1e9;
}
double millions(const graph::OpGraph& g) {
  return static_cast<double>(g.parameters()) / 1e6;
}

const graph::Operator& find(const graph::OpGraph& g, const std::string& name) {
  const auto found = std::find_if(g.operators().begin(), g.operators().end(),
                                  [&](const graph::Operator& op) { return op.name == name; });
  REQUIRE(found != g.operators().end());
  return *found;
}

}  // namespace

TEST_CASE("MMT as in the paper") {
  // 4 inputs, 4 x 8 layers of 3 operators, 1 concat. A layer: 4 H^2 + 2 x 4 H^2 = 12 x 2^20 parameters. Per
  // sample 2 x 256 x 12 x 2^20 FLOPs in dense layers and 4 x 256^2 x 1024 in attention.
  const auto g = build("mmt");
  CHECK(g.size() == 4 + 96 + 1);
  CHECK(g.parameters() == 32LL * 12 * 1024 * 1024);
  CHECK(millions(g) == support::near(402.7, 1e-3));
  CHECK(giga_flops(g) == support::near(214.7, 1e-3));
  CHECK(g.op(core::OpId(100)).output_bytes == Bytes(4 << 20));
  CHECK(g.dag().predecessors(100).size() == 4);
}

TEST_CASE("MMT as in the published code") {
  const auto g = build("mmt", {{"feed_forward", "0"}});
  CHECK(millions(g) == support::near(201.3, 1e-3));
  CHECK(giga_flops(g) == support::near(111.7, 1e-3));
}

TEST_CASE("one MMT layer keeps 14 MiB for each sample") {
  // Attention 9 MiB (see layers_test), the wide dense layer 4 MiB, the narrow one 1 MiB. With inputs and
  // concat: 4 x (1 + 8 x 14) + 4 MiB.
  const auto g = build("mmt");
  Bytes sum;
  for (const auto& op : g.operators()) sum += op.saved_bytes;
  MESSAGE("kept bytes of one MMT sample: ", core::show(sum));
  CHECK(sum == Bytes((4LL * (1 + 8 * 14) + 4) << 20));
}

TEST_CASE("branches are contiguous in operator order") {
  const auto g = build("mmt", {{"branches", "2"}, {"layers", "1"}});
  CHECK(g.dag().edges() ==
        std::vector<graph::Edge>{{0, 1}, {1, 2}, {2, 3}, {3, 8}, {4, 5}, {5, 6}, {6, 7}, {7, 8}});
}

TEST_CASE("the sequential Transformer has the layers of MMT in one chain") {
  const auto g = build("transformer");
  CHECK(g.size() == 1 + 96);
  CHECK(g.dag().edge_count() == 96);
  CHECK(g.parameters() == build("mmt").parameters());
  CHECK(g.forward_flops() == build("mmt").forward_flops());
}

TEST_CASE("the case study has two branches of four layers") {
  const auto g = build("case_study");
  CHECK(g.size() == 2 + 24 + 1);
  CHECK(g.parameters() == 8LL * 6 * 1024 * 1024);
}

TEST_CASE("DLRM: seven tables, seven towers") {
  // Tables 7 x 1e6 x 64; towers 7 x 4 x 4096^2; top 29,120 x 4096 + 3 x 4096^2 + 4096.
  const auto g = build("dlrm");
  const std::int64_t square = 4096LL * 4096, tables = 448'000'000, towers = 28 * square;
  CHECK(static_cast<double>(towers) / 1e6 == support::near(469.8, 1e-3));
  CHECK(g.parameters() == tables + towers + 29'120LL * 4096 + 3 * square + 4096);
  CHECK(find(g, "concat").output_bytes == Bytes(4 * 29'120));
  CHECK(find(g, "sparse0.embedding").gathered_parameters == 6400);
}

TEST_CASE("DLRM: sparse and dense branches take turns") {
  const auto g = build("dlrm", {{"branches", "2"}, {"tower_layers", "1"}, {"top_layers", "0"}});
  std::vector<std::string> names;
  for (const auto& op : g.operators()) names.push_back(op.name);
  CHECK(names == std::vector<std::string>{"sparse0.input", "sparse0.embedding", "dense0.input",
                                          "dense0.dense0", "sparse1.input", "sparse1.embedding",
                                          "dense1.input", "dense1.dense0", "concat", "top.click"});
}

TEST_CASE("DLRM: three readings of the bag") {
  // Side by side: 7 x (4096 + 6400) = 73,472. Projected: 6400 x 64 more weights per table, concat as for the
  // sum.
  CHECK(find(build("dlrm", {{"bag", "concat"}}), "concat").output_bytes == Bytes(4 * 73'472));
  const auto projected = build("dlrm", {{"bag", "projection"}});
  CHECK(find(projected, "concat").output_bytes == Bytes(4 * 29'120));
  CHECK(projected.parameters() == build("dlrm").parameters() + 7 * 6400 * 64);
}

TEST_CASE("CANDLE-Uno: seven towers and two doses") {
  // 9 inputs, 28 tower layers, concat of width 7 x 4096 + 2, 3 top layers. No bias: FLOPs are twice the
  // parameters.
  const auto g = build("candle_uno");
  CHECK(g.size() == 9 + 28 + 1 + 3);
  CHECK(find(g, "concat").output_bytes == Bytes(4 * 28'674));
  CHECK(millions(g) == support::near(580.3, 1e-3));
  CHECK(giga_flops(g) == support::near(1.16, 1e-2));
  CHECK(g.forward_flops().value() == 2.0 * static_cast<double>(g.parameters()));
}

TEST_CASE("CANDLE-Uno: every equal tower adds 67.1 M parameters, and its share of the top") {
  const auto eight = build("candle_uno", {{"towers", "8"}}),
             sixteen = build("candle_uno", {{"towers", "16"}});
  CHECK(sixteen.parameters() - eight.parameters() == 8 * (4 + 1) * 4096LL * 4096);
  CHECK(eight.size() == 8 * 5 + 1 + 3);
}

TEST_CASE("CLIP as in the authors' optimizer logs") {
  // 115 operators. Weights: text 12 x 6 MiB / 4 = 72 MiB, image 24 x 24 MiB + 3 MiB of patches (and its
  // bias).
  const auto g = build("clip");
  CHECK(g.size() == 115);
  CHECK(g.parameters() * 4 == (12LL * 6 + 24 * 24 + 3) * 1024 * 1024 + 4 * 1024);
  CHECK(find(g, "image.transpose").output_bytes == Bytes(196 * 1024 * 4));
  CHECK(find(g, "similarity").output_bytes == Bytes(196 * 38 * 4));
}
