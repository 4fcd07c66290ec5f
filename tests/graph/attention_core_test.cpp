#include "penstock/graph/attention_core.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::OpId;

namespace {

graph::OpGraph gpt(const std::string& attention) {
  return models::build("gpt", {{"layers", "2"},
                               {"hidden", "16"},
                               {"heads", "4"},
                               {"sequence", "8"},
                               {"vocabulary", "32"},
                               {"element_bytes", "2"},
                               {"attention", attention}});
}

const graph::Operator& attention_of(const graph::OpGraph& graph) {
  return *std::find_if(graph.operators().begin(), graph.operators().end(), graph::has_core);
}

std::vector<OpId> all(const graph::OpGraph& graph) {
  std::vector<OpId> out;
  for (std::size_t i = 0; i < graph.size(); ++i) out.emplace_back(i);
  return out;
}

}  // namespace

TEST_CASE("a core keeps heads x queries x keys numbers, flash one in fp32 for each query and head") {
  const auto bytes = [](const char* how) {
    const graph::OpGraph graph = gpt(how);
    return graph::core_bytes(attention_of(graph), graph.element_bytes()).value();
  };
  CHECK(bytes("plain") == 4 * 8 * 8 * 2);
  CHECK(bytes("fused") == 4 * 8 * 8 * 2);
  CHECK(bytes("flash") == 4 * 8 * 4);
  const graph::OpGraph split = gpt("split");
  CHECK(std::none_of(split.operators().begin(), split.operators().end(), graph::has_core));
  CHECK(graph::core_bytes(split.op(OpId(0)), 2).value() == 0);
}

TEST_CASE("a core's share of FLOPs is that of its two products") {
  // Projections 4 x 2 x 8 x 16 x 16, products 2 x 2 x 8 x 8 x 16.
  const graph::OpGraph graph = gpt("plain");
  CHECK(graph::core_share(attention_of(graph)) == support::near(4096.0 / (16384 + 4096)));
  CHECK(graph::core_share(graph.op(OpId(0))) == 0);
}

TEST_CASE("a mask leaves the pairs that a count of them finds") {
  // Query i sees keys first..i of 0..keys - 1; half of the pair on the diagonal, as Megatron-LM's half has
  // it.
  const auto counted = [](std::int64_t keys, auto first) {
    double pairs = 0;
    for (std::int64_t i = 0; i < keys; ++i) pairs += static_cast<double>(i - first(i)) + 0.5;
    return pairs / static_cast<double>(keys * keys);
  };
  const auto share = [](graph::AttentionMask mask, std::int64_t reach) {
    return graph::unmasked_share({.queries = 96, .keys = 96, .heads = 1, .mask = mask, .reach = reach});
  };
  CHECK(share(graph::AttentionMask::none, 0) == 1);
  CHECK(share(graph::AttentionMask::causal, 0) == support::near(counted(96, [](auto) { return 0; })));
  CHECK(share(graph::AttentionMask::blocks, 32) ==
        support::near(counted(96, [](auto i) { return i / 32 * 32; })));
  // A window's last key is whole here, and half above: one part in 2 x 96.
  const double window = counted(96, [](auto i) { return std::max<std::int64_t>(0, i - 15); });
  CHECK(share(graph::AttentionMask::window, 16) == support::near(window, 0.04));
  CHECK(share(graph::AttentionMask::top_k, 16) == share(graph::AttentionMask::window, 16));
  for (const auto mask :
       {graph::AttentionMask::window, graph::AttentionMask::top_k, graph::AttentionMask::blocks})
    for (const std::int64_t reach : {96, 97, 4096})  // nothing is hidden but what is to come
      CHECK(share(mask, reach) == support::near(0.5));
  // A shard with a quarter of the queries has a quarter of the pairs.
  CHECK(graph::unmasked_share({.queries = 24, .keys = 96, .mask = graph::AttentionMask::causal}) == 0.5);
}

TEST_CASE("split cores: scores, softmax and context, where all three are there") {
  const graph::OpGraph graph = gpt("split");
  const auto cores = graph::split_cores(graph, all(graph));
  REQUIRE(cores.size() == 2);
  CHECK(graph.op(cores[1][0]).name == "layer1.attention.scores");
  CHECK(graph.op(cores[1][1]).name == "layer1.attention.softmax");
  CHECK(graph.op(cores[1][2]).name == "layer1.attention.context");
  std::vector<OpId> some = all(graph);
  std::erase(some, cores[0][2]);
  CHECK(graph::split_cores(graph, some) == std::vector<std::vector<OpId>>{cores[1]});
  CHECK(graph::split_cores(gpt("plain"), all(gpt("plain"))).empty());
}
