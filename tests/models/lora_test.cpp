// Adapters beside frozen weights: what trains, what is stored, what is saved.

#include "models/lora.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/adapters.hpp"
#include "penstock/graph/graph_file.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;
using graph::Operator;
using graph::OpKind;

namespace {

constexpr std::int64_t kTokens = 64, kHidden = 256, kInner = 1024, kWords = 512, kKeys = 128, kRank = 8,
                       kLayers = 2;
/// Weights of a layer that formats narrow: query, key, value, output; gate, up, down.
constexpr std::int64_t kLayerWeights = kHidden * (2 * kHidden + 2 * kKeys) + 3 * kHidden * kInner;
/// Norms, token table, head.
constexpr std::int64_t kOtherWeights = (2 * kLayers + 1) * kHidden + 2 * kWords * kHidden;

using Values = std::map<std::string, std::string>;

graph::OpGraph llama(const std::string& lora, const Values& more = {}) {
  Values values = {{"layers", std::to_string(kLayers)},
                   {"hidden", std::to_string(kHidden)},
                   {"heads", "4"},
                   {"kv_heads", "2"},
                   {"feed_forward", std::to_string(kInner)},
                   {"sequence", std::to_string(kTokens)},
                   {"vocabulary", std::to_string(kWords)},
                   {"loss", "yes"},
                   {"attention", "flash"},
                   {"element_bytes", "2"},
                   {"lora", lora}};
  for (const auto& [name, value] : more) values[name] = value;
  return models::build("llama", values);
}

const Operator& named(const graph::OpGraph& graph, std::string_view name) {
  for (const Operator& op : graph.operators())
    if (op.name == name) return op;
  FAIL("no operator ", name);
  return graph.op(OpId(0));
}

/// Saved by operators of layers.
std::int64_t saved_in_layers(const graph::OpGraph& graph) {
  Bytes sum;
  for (const Operator& op : graph.operators())
    if (op.name.starts_with("layer")) sum += op.saved_bytes;
  return sum.value();
}

Bytes frozen_bytes(const graph::OpGraph& graph) {
  Bytes sum;
  for (std::size_t v = 0; v < graph.size(); ++v) sum += graph.frozen_bytes(OpId(v));
  return sum;
}

}  // namespace

TEST_CASE("only adapters train: rank x (in + out) numbers for each product") {
  constexpr std::int64_t kOfAttention = kRank * (kHidden + kHidden + 2 * kKeys) + kRank * (kHidden + kHidden),
                         kOfMlp = kRank * (kHidden + 2 * kInner) + kRank * (kInner + kHidden);
  const std::map<std::string, std::int64_t> expected = {
      {"attention", kOfAttention}, {"mlp", kOfMlp}, {"all", kOfAttention + kOfMlp}};
  for (const auto& [targets, numbers] : expected) {
    CAPTURE(targets);
    const graph::OpGraph all = llama("off"), tuned = llama("rank=8,targets=" + targets);
    CHECK(tuned.parameters() == kLayers * numbers);
    CHECK(tuned.frozen_parameters() == all.parameters());
    CHECK(all.parameters() == kLayers * kLayerWeights + kOtherWeights);
    CHECK(tuned.size() == all.size());
    CHECK(tuned.adapter_rank() == kRank);
    // An adapter multiplies each of its numbers once for each token, in each of three passes.
    const double work = 2.0 * kTokens * kLayers * static_cast<double>(numbers);
    double weights = 0;
    for (const Operator& op : tuned.operators()) weights += op.weight_gradient_flops.value();
    CHECK(weights == work);
    CHECK((tuned.forward_flops() - all.forward_flops()).value() == work);
  }
  CHECK(llama("rank=8").parameters() == llama("rank=8,targets=attention,frozen=16").parameters());
}

// Seen of PyTorch 2.15 by saved_tensors_hooks on two such layers: one-kernel norms and gates, flash attention, adapters
// y = x W' + 2 (x A') B'. Distinct storages without parameters. The model's last norm saves the layers' output, too.
TEST_CASE("layers save what PyTorch's autograd saves, byte for byte") {
  constexpr std::int64_t kOutput = 2 * kTokens * kHidden;
  CHECK(saved_in_layers(llama("rank=8,targets=attention")) == 891'264 + kOutput);
  CHECK(saved_in_layers(llama("rank=8,targets=mlp")) == 1'021'184 + kOutput);
  CHECK(saved_in_layers(llama("rank=8,targets=all")) == 1'223'040 + kOutput);
  CHECK(named(llama("rank=8"), "token.embedding").saved_bytes == Bytes(0));
}

TEST_CASE("operators before the first adapter have no backward pass") {
  const graph::OpGraph tuned = llama("rank=8,targets=mlp");
  for (const char* name : {"token.embedding", "layer0.norm1", "layer0.attention", "layer0.norm2"}) {
    CAPTURE(name);
    CHECK(named(tuned, name).input_gradient_flops == core::Flops(0));
  }
  CHECK(named(tuned, "layer0.attention").saved_bytes == Bytes(0));
  CHECK(named(tuned, "layer1.attention").input_gradient_flops ==
        named(llama("off"), "layer1.attention").input_gradient_flops);
  // An adapter of the first query needs the gradients of scores, context (two each) and output.
  const Operator first = named(llama("rank=8"), "layer0.attention");
  CHECK(first.input_gradient_flops.value() ==
        2.0 * kTokens * (2 * kTokens * 2 * kHidden + kHidden * kHidden));
}

TEST_CASE("frozen weights of layers have 16, 8 or 4 bits") {
  constexpr std::int64_t kFew = 2 * kOtherWeights, kMany = kLayers * kLayerWeights;
  CHECK(frozen_bytes(llama("rank=8")) == Bytes(kFew + 2 * kMany));
  CHECK(frozen_bytes(llama("rank=8,frozen=8")) == Bytes(kFew + kMany));
  // Half a byte; a byte for 64 numbers; four bytes for 256 of these. Matrices are multiples of 64 x 256 numbers.
  static_assert(kHidden * (2 * kHidden + 2 * kKeys) % (64 * 256) == 0);
  CHECK(frozen_bytes(llama("rank=8,frozen=4")) == Bytes(kFew + kMany / 2 + kMany / 64 + kMany / 4096));
  // 0.127 bits for the scales of a number, as QLoRA has it (section 3).
  CHECK(8 * (1.0 / 64 + 1.0 / 4096) == support::near(0.127, 0.001));
  CHECK(graph::frozen_bytes(graph::FrozenFormat::nf4, 65, 2) == Bytes(33 + 2 + 4));
}

TEST_CASE("layers that multiply in 8 bits keep copies of frozen weights, and with frozen=8 only these") {
  const auto with = [](const char* lora) { return llama(lora, {{"products", "mxfp8"}}); };
  constexpr std::int64_t kCopies = 2 * kLayers * kLayerWeights * 33 / 32, kFew = 2 * kOtherWeights;
  CHECK(frozen_bytes(with("rank=8")) == Bytes(kFew + 2 * kLayers * kLayerWeights + kCopies));
  CHECK(frozen_bytes(with("rank=8,frozen=8")) == Bytes(kFew + kCopies));
  // No weight gradient reads an operand in the format; adapters read 16 bits.
  CHECK(saved_in_layers(with("rank=8,targets=all")) == saved_in_layers(llama("rank=8,targets=all")));
}

TEST_CASE("a model file states adapters and the format of frozen weights") {
  const std::string text = graph::to_json(llama("rank=8,targets=all,frozen=4"));
  const graph::OpGraph read = graph::parse_graph(text, "m.json");
  CHECK(graph::to_json(read) == text);
  CHECK(read.frozen_format() == graph::FrozenFormat::nf4);
  const auto refused = [&](const std::string& from, const std::string& to, const char* why) {
    std::string other = text;
    const auto at = other.find(from);
    REQUIRE(at != other.npos);
    other.replace(at, from.size(), to);
    CHECK_THROWS_WITH_AS(graph::parse_graph(other, "m.json"), doctest::Contains(why), core::BadInput);
  };
  refused("\"adapter_rank\": 8", "\"adapter_rank\": 9", "weight_gradient_flops");
  refused("\"frozen_format\": \"nf4\"", "\"frozen_format\": \"nf5\"", "frozen_format");
  refused("\"parameters\": 10240", "\"parameters\": 10241", "has adapters, and other parameters than these");
}

TEST_CASE("unsupported settings of LoRA are refused by name") {
  const auto refused = [](const std::string& model, const Values& values, const char* why) {
    CHECK_THROWS_WITH_AS(models::build(model, values), doctest::Contains(why), core::BadInput);
  };
  refused("llama", {{"lora", "targets=mlp"}}, "expected a rank");
  refused("llama", {{"lora", "rank=0"}}, "rank: expected a number from 1 to 4096, not '0'");
  refused("llama", {{"lora", "rank=8,frozen=2"}}, "number of bits");
  refused("llama", {{"lora", "rank=8,target=all"}}, "did you mean 'targets'");
  refused("llama", {{"lora", "rank"}}, "expected settings such as");
  refused("llama", {{"lora", "rank=8,frozen=4"}}, "frozen=16, as the numbers have four bytes");
  refused("llama", {{"lora", "rank=8,frozen=4"}, {"element_bytes", "2"}, {"products", "mxfp8"}},
          "frozen=16 or frozen=8");
  refused("gpt", {{"lora", "rank=8"}}, "tied weights");
  refused("mixtral", {{"lora", "rank=8,targets=all"}}, "adapters of experts");
  refused("deepseek_v3", {{"lora", "rank=8"}}, "adapters of latent attention");
  refused("vgg16", {{"lora", "rank=8"}}, "has no layer for targets=attention");
  CHECK(models::build("gpt", {{"lora", "rank=8"}, {"tied_head", "no"}}).adapter_rank() == 8);
  CHECK(models::build("mixtral", {{"lora", "rank=8"}}).adapter_rank() == 8);
}
