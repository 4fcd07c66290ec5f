#include "penstock/layout/lengths.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "models/catalogue.hpp"
#include "models/delta_net.hpp"
#include "models/state_space.hpp"
#include "penstock/graph/work.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::OpId;
using Given = std::map<std::string, std::string>;

namespace {

Given with(Given parameters, std::int64_t sequence) {
  parameters["sequence"] = std::to_string(sequence);
  return parameters;
}

/// All values that costs give.
void check_alike(const graph::OpGraph& a, const graph::OpGraph& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t v = 0; v < a.size(); ++v) {
    const graph::Operator &x = a.op(OpId(v)), &y = b.op(OpId(v));
    CAPTURE(x.name);
    CHECK(x.forward_flops.value() == support::near(y.forward_flops.value(), 1e-12));
    CHECK(x.input_gradient_flops.value() == support::near(y.input_gradient_flops.value(), 1e-12));
    CHECK(x.weight_gradient_flops.value() == support::near(y.weight_gradient_flops.value(), 1e-12));
    CHECK(x.output_bytes == y.output_bytes);
    CHECK(x.gathered_parameters == y.gathered_parameters);
    CHECK(graph::shape_of(x.attributes) == graph::shape_of(y.attributes));
  }
}

}  // namespace

TEST_CASE("half of the tokens make the model of half the sequence") {
  const Given gpt = {
      {"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"vocabulary", "64"}, {"positions", "64"}};
  for (const char* attention : {"fused", "plain", "flash", "split"}) {
    CAPTURE(attention);
    Given given = gpt;
    given["attention"] = attention;
    check_alike(layout::shortened(models::build("gpt", with(given, 64)), {32, 32}),
                models::build("gpt", with(given, 32)));
  }
  const Given llama = {{"layers", "2"},   {"hidden", "32"},       {"heads", "4"},
                       {"kv_heads", "2"}, {"feed_forward", "64"}, {"vocabulary", "64"}};
  check_alike(layout::shortened(models::build("llama", with(llama, 64)), {16, 16}),
              models::build("llama", with(llama, 16)));
}

TEST_CASE("half of the tokens make a mixer of half the sequence, with its views of parts of each token") {
  const auto build = [](auto add, const auto& mixer, std::int64_t tokens) {
    models::Layers net("m");
    add(net, "mixer", net.input("x", {tokens, 8}), mixer);
    return net.build();
  };
  const models::StateSpace space{.heads = 4, .head_width = 4, .groups = 2, .state = 2, .chunk = 16};
  const models::DeltaNet delta{
      .key_heads = 2, .value_heads = 4, .key_width = 4, .value_width = 4, .chunk = 16};
  CHECK(layout::sequence(build(models::state_space, space, 64)) == 64);
  check_alike(layout::shortened(build(models::state_space, space, 64), {32, 32}),
              build(models::state_space, space, 32));
  check_alike(layout::shortened(build(models::delta_net, delta, 64), {32, 32}),
              build(models::delta_net, delta, 32));
}

TEST_CASE("whole samples are the model itself") {
  const auto g = models::build("mmt", {{"branches", "2"}, {"layers", "1"}, {"sequence", "32"}});
  CHECK(layout::sequence(g) == 32);
  check_alike(layout::shortened(g, {32, 32}), g);
}

TEST_CASE("FLOPs by hand: products go by tokens, attention by tokens and what they meet") {
  const auto g = models::build("gpt", {{"layers", "1"},
                                       {"hidden", "32"},
                                       {"heads", "4"},
                                       {"vocabulary", "64"},
                                       {"sequence", "64"},
                                       {"mask", "none"}});
  // Scores and the weighted sum are 2 x 2 x 64 x 64 x 32 FLOPs forward and twice that back.
  const double core = 3.0 * 2 * 2 * 64 * 64 * 32, all = graph::training_flops(g).value();
  // Two sequences of 8 and 24 tokens in one sample: 32 tokens, which meet (8^2 + 24^2) / 32 = 20 in the mean.
  const double filled = graph::training_flops(layout::shortened(g, {32, 20})).value();
  CHECK(filled == support::near((all - core) / 2 + core * (8 * 8 + 24 * 24) / (64 * 64), 1e-12));
}

TEST_CASE("a vision tower keeps its patches") {
  const auto g = models::build("vlm", {});
  const auto over = layout::over_sequence(g);
  const double length = static_cast<double>(layout::sequence(g)) / 2;
  const auto half = layout::shortened(g, {length, length});
  int towers = 0, decoders = 0;
  for (std::size_t v = 0; v < g.size(); ++v) {
    const auto& op = g.op(OpId(v));
    CAPTURE(op.name);
    const core::Bytes shorter = half.op(OpId(v)).output_bytes;
    if (op.name.starts_with("vision")) {
      CHECK(shorter == op.output_bytes);
      CHECK(!over[v]);
      ++towers;
    } else if (op.kind == graph::OpKind::attention) {
      CHECK(shorter * 2 == op.output_bytes);
      ++decoders;
    }
  }
  CHECK((towers > 0 && decoders > 0));
}

TEST_CASE("a model without attention has no sequence") {
  CHECK(layout::sequence(models::build("dlrm", {})) == 0);
}

TEST_CASE("scores of a shorter sample are tokens x keys, kept too") {
  // Plain attention of operators of its own: scores and shares keep heads x queries x keys.
  const auto whole = models::build("gpt", {{"layers", "1"},
                                           {"hidden", "32"},
                                           {"heads", "4"},
                                           {"sequence", "16"},
                                           {"vocabulary", "64"},
                                           {"attention", "split"}});
  const auto shorter = layout::shortened(whole, {8, 8});
  int scores = 0;
  for (std::size_t v = 0; v < whole.size(); ++v) {
    const auto* product = std::get_if<graph::Matmul>(&whole.op(OpId(v)).attributes);
    if (!product || product->rows != 16 || product->columns != 16) continue;
    ++scores;
    CHECK(shorter.op(OpId(v)).saved_bytes * 4 == whole.op(OpId(v)).saved_bytes);
    CHECK(shorter.op(OpId(v)).output_bytes * 4 == whole.op(OpId(v)).output_bytes);
  }
  CHECK(scores == 1);
}
