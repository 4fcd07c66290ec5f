// Layers that multiply in 8 or 4 bits: which they are, what they save, and their copies of weights.

#include "models/quantized.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/graph_file.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;
using graph::ProductFormat;

namespace {

constexpr std::int64_t kTokens = 64, kHidden = 256, kWidth = 1024, kLayers = 2;

graph::OpGraph llama(const std::string& products, const std::string& attention = "flash") {
  return models::build("llama", {{"layers", std::to_string(kLayers)},
                                 {"hidden", std::to_string(kHidden)},
                                 {"heads", "4"},
                                 {"kv_heads", "4"},
                                 {"feed_forward", std::to_string(kWidth)},
                                 {"sequence", std::to_string(kTokens)},
                                 {"vocabulary", "512"},
                                 {"loss", "yes"},
                                 {"attention", attention},
                                 {"element_bytes", "2"},
                                 {"products", products}});
}

std::int64_t saved(const graph::OpGraph& graph) {
  Bytes sum;
  for (const graph::Operator& op : graph.operators()) sum += op.saved_bytes;
  return sum.value();
}

/// Names of dense layers that keep 16 bits.
std::map<std::string, ProductFormat> formats(const graph::OpGraph& graph) {
  std::map<std::string, ProductFormat> out;
  for (const graph::Operator& op : graph.operators()) out[op.name] = op.products;
  return out;
}

constexpr const char* kRecipes[] = {"fp8_delayed", "fp8_current", "fp8_block", "mxfp8", "nvfp4"};

}  // namespace

TEST_CASE("bytes of a number with its share of the scales") {
  // Seen of Transformer Engine and torchao: 1, 1, 1 + 4/128, 1 + 1/32 and 1/2 + 1/16.
  const std::map<std::string, double> expected = {
      {"fp8_delayed", 1}, {"fp8_current", 1}, {"fp8_block", 1.03125}, {"mxfp8", 1.03125}, {"nvfp4", 0.5625}};
  for (const auto& [name, each] : expected) {
    const ProductFormat format = graph::product_format(name);
    CHECK(graph::name(format) == name);
    CHECK(graph::quantized_bytes(format, 12'800) == Bytes(static_cast<std::int64_t>(12'800 * each)));
  }
  CHECK(graph::quantized_bytes(ProductFormat::nvfp4, 1) == Bytes(1));
  CHECK_THROWS_AS(graph::product_format("fp8"), core::BadInput);
}

// In each layer the outputs of the two norms and of the activation are saved only in the format. The context is
// saved in both.
TEST_CASE("a layer saves what its products read in their format") {
  for (const char* name : kRecipes) {
    const ProductFormat format = graph::product_format(name);
    const auto difference = [&](std::int64_t numbers) {
      return 2 * numbers - graph::quantized_bytes(format, numbers).value();
    };
    const std::int64_t context = kTokens * kHidden;
    const std::int64_t less = kLayers * (2 * difference(kTokens * kHidden) + difference(kTokens * kWidth) -
                                         graph::quantized_bytes(format, context).value());
    CHECK(saved(llama("stored")) - saved(llama(name)) == less);
    // The plain core's gradient does not read the context.
    const std::int64_t plain = saved(llama("stored", "plain")) - saved(llama(name, "plain"));
    CHECK(plain == less + kLayers * 2 * context);
  }
}

TEST_CASE("only layers have copies of weights, by rows and by columns") {
  const std::int64_t layer = 4 * kHidden * kHidden + 3 * kHidden * kWidth;
  for (const char* name : kRecipes) {
    const graph::OpGraph graph = llama(name);
    Bytes sum;
    for (std::size_t v = 0; v < graph.size(); ++v) sum += graph.frozen_bytes(OpId(v));
    CHECK(sum == graph::quantized_bytes(graph::product_format(name), layer) * 2 * kLayers);
    CHECK(graph.parameters() == llama("stored").parameters());
    CHECK(graph.frozen_parameters() == 0);
  }
}

TEST_CASE("routers, norms, embeddings and heads keep 16 bits") {
  const auto mixture = formats(models::build("mixtral", {{"layers", "1"},
                                                         {"hidden", "256"},
                                                         {"heads", "4"},
                                                         {"kv_heads", "4"},
                                                         {"expert_width", "512"},
                                                         {"sequence", "64"},
                                                         {"vocabulary", "512"},
                                                         {"loss", "yes"},
                                                         {"element_bytes", "2"},
                                                         {"products", "mxfp8"}}));
  int in_format = 0;
  for (const auto& [name, products] : mixture) {
    const bool layer = name.ends_with("experts") || name.ends_with("attention");
    CAPTURE(name);
    CHECK((products == ProductFormat::mxfp8) == layer);
    in_format += layer;
  }
  CHECK(in_format == 2);
  const auto dense = formats(llama("nvfp4"));
  CHECK(dense.at("head") == ProductFormat::stored);
}

// Without a weight gradient no gradient reads what a layer cast.
TEST_CASE("frozen layers save nothing in the format") {
  const auto vlm = [](const char* products) {
    return models::build("vlm", {{"vision_layers", "1"},
                                 {"layers", "2"},
                                 {"frozen", "all_but_projectors"},
                                 {"element_bytes", "2"},
                                 {"products", products}});
  };
  const graph::OpGraph stored = vlm("stored"), narrow = vlm("mxfp8");
  int frozen = 0;
  for (std::size_t v = 0; v < stored.size(); ++v) {
    const graph::Operator& op = narrow.op(OpId(v));
    if (op.frozen_parameters == 0 || op.products == ProductFormat::stored) continue;
    ++frozen;
    CAPTURE(op.name);
    CHECK(op.saved_bytes == stored.op(OpId(v)).saved_bytes);
    CHECK(narrow.frozen_bytes(OpId(v)) > stored.frozen_bytes(OpId(v)));
  }
  CHECK(frozen > 6);
}

TEST_CASE("numbers of four bytes have no format of products, and files keep one") {
  CHECK_THROWS_WITH_AS(
      models::build("llama", {{"products", "mxfp8"}}),
      "model llama: parameter products: expected stored, as the numbers have four bytes, not "
      "'mxfp8'",
      core::BadInput);
  const graph::OpGraph graph = llama("nvfp4");
  const graph::OpGraph again = graph::parse_graph(graph::to_json(graph), "model.json");
  CHECK(formats(again) == formats(graph));
  CHECK(again.products() == ProductFormat::nvfp4);
  CHECK(saved(again) == saved(graph));
}
