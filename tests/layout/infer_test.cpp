#include "penstock/layout/infer.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "models/state_space.hpp"
#include "support/matrices.hpp"

using namespace penstock;
using core::OpId;
using layout::GroupCollective;
using layout::Placement;
using plan::Partition;
using support::matrices;
using support::stage;
using Kind = GroupCollective::Kind;

namespace {

std::string text(const std::vector<GroupCollective>& list) {
  std::string out;
  for (const auto& c : list)
    out += (c.kind == Kind::all_reduce   ? "reduce "
            : c.kind == Kind::all_gather ? "gather "
                                         : "all-to-all ") +
           std::to_string(c.op.index()) + ":" + std::to_string(c.bytes.value()) + " ";
  return out;
}

/// "tensor as placement: readers".
std::string text(const std::vector<layout::Copy>& list) {
  const char* const names[] = {"whole", "samples", "features", "tokens"};
  std::string out;
  for (const auto& copy : list) {
    out += std::to_string(copy.tensor.index()) + " as " + names[static_cast<int>(copy.placement)] + ":";
    for (const OpId reader : copy.readers) out += " " + std::to_string(reader.index());
    out += "; ";
  }
  return out;
}

}  // namespace

TEST_CASE("matrices are divided by columns and rows in turn, as Megatron-LM does") {
  const auto g = matrices(3);
  const auto placed = layout::infer(g, stage(0, 2, 2, 2));
  CHECK(placed.partition == std::vector{Partition::column, Partition::row, Partition::column});
  CHECK(text(placed.collectives.forward) == "reduce 1:1000 ");   // partial sums of b
  CHECK(text(placed.collectives.backward) == "reduce 2:1000 ");  // of the gradient that c hands back to b
}

TEST_CASE("a mixer is divided by heads between its projections, as Megatron-LM's") {
  // 16 tokens of width 8 in fp32, state 2. Two devices share 2 groups, and 4 of them, whose groups of heads are
  // too few, gather keys and queries: 2 x 16 x 2 x 2 numbers.
  const auto placed = [](int degree, bool sequence) {
    models::Layers net("m");
    const models::Tensor first = net.linear("first", net.input("x", {16, 8}), 8);
    models::state_space(net, "mixer", first,
                        {.heads = 4, .head_width = 4, .groups = 2, .state = 2, .chunk = 8});
    const auto g = net.build();
    plan::Stage all = stage(2, g.size() - 1, degree, degree);
    all.sequence_parallel = sequence;
    return layout::infer(g, all);
  };
  const auto two = placed(2, false);
  CHECK(two.partition == std::vector{Partition::column, Partition::column, Partition::column,
                                     Partition::column, Partition::column, Partition::column,
                                     Partition::column, Partition::row});
  CHECK(text(two.collectives.forward) == "reduce 9:512 ");
  CHECK(text(two.collectives.backward) == "reduce 2:512 ");
  const auto four = placed(4, false);
  CHECK(four.partition == two.partition);
  CHECK(text(four.collectives.forward) == "gather 7:512 reduce 9:512 ");
  CHECK(text(four.collectives.backward) == "reduce 2:512 gather 7:512 ");
  CHECK(placed(2, true).partition == two.partition);
}

TEST_CASE("a scan behind nothing that is divided is divided by heads all the same") {
  models::Layers net("m");
  const models::Tensor x = net.input("x", {16, 2 * 2 * 2 + 4 * 4});
  const models::Tensor steps = net.input("steps", {16, 4});
  net.scan("scan", {net.short_convolution("conv", x), steps},
           {.heads = 4, .groups = 2, .key = 2, .value = 4, .chunk = 8});
  const auto g = net.build();
  plan::Stage all = stage(0, g.size() - 1, 2, 2);
  all.sequence_parallel = true;
  const auto placed = layout::infer(g, all);
  CHECK(placed.partition.back() == Partition::column);
  CHECK(placed.partition[2] == Partition::column);
}

TEST_CASE("sharded inputs are gathered, and replicated outputs have their gradient gathered") {
  const auto g = matrices(4);
  // b by columns reads all of a's output; c by rows makes a replicated tensor that d reads elsewhere.
  const auto placed = layout::infer(g, stage(1, 2, 2, 2));
  CHECK(text(placed.collectives.forward) == "gather 1:1000 reduce 2:1000 ");
  CHECK(text(placed.collectives.backward) == "reduce 1:1000 gather 2:1000 ");
}

TEST_CASE("chosen partitions are converted between: replicated to samples, samples to features") {
  const auto g = matrices(3);
  auto s = stage(0, 2, 2, 2);
  s.partition = {{OpId(0), Partition::whole}, {OpId(1), Partition::batch}, {OpId(2), Partition::row}};
  const auto placed = layout::infer(g, s);
  CHECK(text(placed.collectives.forward) == "reduce 2:1000 all-to-all 2:1000 ");
  CHECK(text(placed.collectives.backward) ==
        "gather 1:1000 all-to-all 2:1000 ");  // a's gradient comes back in parts
}

TEST_CASE("collectives are those of every operator and of every conversion") {
  const auto g = matrices(3);
  for (int code = 0; code < 64; ++code) {
    CAPTURE(code);
    auto s = stage(0, 2, 2, 2);
    layout::Collectives sum;
    for (std::size_t v = 0; v < 3; ++v) {
      const auto how = static_cast<Partition>(code >> (2 * v) & 3);
      s.partition[OpId(v)] = how;
      sum.add(layout::sums(g, OpId(v), how));
      if (v > 0)
        sum.add(layout::convert(g, OpId(v - 1),
                                layout::rule(g.op(OpId(v - 1)), s.partition[OpId(v - 1)]).makes,
                                layout::rule(g.op(OpId(v)), how).reads, OpId(v)));
    }
    const auto placed = layout::infer(g, s);
    CHECK(text(placed.collectives.forward) == text(sum.forward));
    CHECK(text(placed.collectives.backward) == text(sum.backward));
  }
  // A matrix by rows makes a whole tensor out of partial sums; read by samples its gradient is gathered.
  CHECK(text(layout::sums(g, OpId(1), Partition::row).forward) == "reduce 1:1000 ");
  CHECK(text(layout::convert(g, OpId(1), Placement::replicate, Placement::shard_batch, OpId(2)).backward) ==
        "gather 2:1000 ");
}

TEST_CASE("by tokens, a sum of parts is scattered and comes together where a whole tensor is needed") {
  // a by columns, b by rows, c by columns: as an all-reduce in two halves, and so on the way back.
  const auto g = matrices(3);
  auto s = stage(0, 2, 2, 2);
  s.sequence_parallel = true;
  const auto placed = layout::infer(g, s);
  CHECK(placed.partition == std::vector{Partition::column, Partition::row, Partition::column});
  CHECK(text(placed.collectives.forward) ==
        "gather 1:1000 gather 2:1000 ");  // scattered by b, gathered for c
  CHECK(text(placed.collectives.backward) ==
        "gather 1:1000 gather 2:1000 ");  // gathered for b, scattered by c
}

TEST_CASE("outputs of a stage by tokens are sharded already, and inputs are gathered if tokens mix") {
  const auto g = matrices(4);
  auto s = stage(1, 2, 2, 2);
  s.sequence_parallel = true;
  const auto placed = layout::infer(g, s);
  CHECK(text(placed.collectives.forward) == "gather 1:1000 gather 2:1000 ");
  CHECK(text(placed.collectives.backward) == "gather 1:1000 gather 2:1000 ");
}

TEST_CASE(
    "products that read one tensor share the all-reduce of its gradient, in the pass of the first of them") {
  // queries, keys and values of x, 1,000 bytes. Each device has a third of each product's term and adds its
  // own three first. The group adds up once instead of three times.
  graph::GraphBuilder builder("split");
  for (const char* name : {"x", "q", "k", "v"}) {
    auto op = support::unit_op(name, 1e9, 1000);
    op.kind = graph::OpKind::linear;
    op.output_bytes = core::Bytes(1000);
    builder.add(op);
  }
  for (std::size_t reader = 1; reader <= 3; ++reader) builder.add_edge(OpId(0), OpId(reader));
  const auto g = builder.build();
  auto s = stage(0, 3, 2, 2);
  s.partition[OpId(0)] = Partition::whole;
  const auto placed = layout::infer(g, s);
  CHECK(text(placed.collectives.backward) == "reduce 1:1000 ");
  CHECK(placed.completes == std::map<OpId, std::vector<OpId>>{{OpId(1), {OpId(0)}}});
  // A stage without the first of them adds up for the other two.
  CHECK(text(layout::infer(g, stage(2, 3, 2, 2)).collectives.backward) == "reduce 2:1000 ");
}

TEST_CASE("a tensor read in another layout than its own has one copy per layout") {
  // a is read by b, c and d.
  const auto g = support::tiny_graph(4, {{0, 1}, {0, 2}, {0, 3}});
  const auto copies = [&](plan::Stage s, std::vector<Partition> how) {
    for (std::size_t i = 0; i < how.size(); ++i) s.partition[s.operators[i]] = how[i];
    return text(layout::infer(g, s).copies);
  };
  const auto whole = Partition::whole, batch = Partition::batch, column = Partition::column;
  const auto all = stage(0, 3, 2, 2), rest = stage(1, 3, 2, 2);
  CHECK(copies(all, {whole, whole, whole, whole}).empty());
  CHECK(copies(all, {column, column, column, column}).empty());  // without weights: features as they lie
  CHECK(copies(all, {column, whole, batch, whole}) == "0 as whole: 1 3; 0 as samples: 2; ");
  CHECK(copies(all, {whole, column, batch, column}) == "0 as samples: 2; 0 as features: 1 3; ");
  CHECK(copies(rest, {whole, column, batch}) == "0 as samples: 3; 0 as features: 2; ");  // a came whole
}

TEST_CASE("no copies: Megatron-LM's pairs, ids of a divided table, what is gathered by tokens") {
  const auto g = matrices(3);
  CHECK(layout::infer(g, stage(0, 2, 2, 2)).copies.empty());
  const auto gpt = models::build("gpt", {{"layers", "2"}});
  for (const bool by_tokens : {false, true}) {
    auto s = stage(0, gpt.size() - 1, 2, 2);
    s.sequence_parallel = by_tokens;
    CHECK(text(layout::infer(gpt, s).copies).empty());
  }
}

TEST_CASE("by tokens, two products of a layer and the head need their gathered inputs for weights") {
  const auto llama = models::build("llama", {{"layers", "2"}, {"loss", "no"}});
  const auto named = [&](const char* name) {
    for (std::size_t v = 0; v < llama.size(); ++v)
      if (llama.op(OpId(v)).name == name) return OpId(v);
    FAIL("no operator " << name);
    return OpId(0);
  };
  auto s = stage(0, llama.size() - 1, 2, 2);
  CHECK(layout::infer(llama, s).gathered.empty());
  s.sequence_parallel = true;
  const auto gathered = layout::infer(llama, s).gathered;
  REQUIRE(gathered.size() == 5);
  const std::pair<const char*, const char*> pairs[] = {{"layer0.norm1", "layer0.attention"},
                                                       {"layer0.norm2", "layer0.gate_up"},
                                                       {"layer1.norm1", "layer1.attention"},
                                                       {"layer1.norm2", "layer1.gate_up"}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(gathered[i].tensor == named(pairs[i].first));
    CHECK(gathered[i].readers == std::vector{named(pairs[i].second)});
    CHECK(gathered[i].placement == Placement::replicate);
  }
  CHECK(gathered[4].readers == std::vector{OpId(llama.size() - 1)});
}

TEST_CASE("a product with frozen weights does not need its input again") {
  const auto g = matrices(3);
  auto s = stage(0, 2, 2, 2);
  s.sequence_parallel = true;
  CHECK(text(layout::infer(g, s).gathered) == "1 as whole: 2; ");
  graph::GraphBuilder builder("frozen");
  for (std::size_t v = 0; v < 3; ++v) {
    auto op = g.op(OpId(v));
    if (v == 2) op.weight_gradient_flops = core::Flops(0), std::swap(op.parameters, op.frozen_parameters);
    builder.add(op);
    if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
  }
  CHECK(layout::infer(builder.build(), s).gathered.empty());
}

TEST_CASE("ranks that share a head of keys gather queries, keys and values, and scatter their gradients") {
  // 8 heads of 8 numbers, 2 of keys and values, 16 tokens: 16 x (64 + 2 x 16) numbers of 4 bytes.
  const auto graph = models::build("llama", {{"layers", "1"},
                                             {"hidden", "64"},
                                             {"heads", "8"},
                                             {"kv_heads", "2"},
                                             {"feed_forward", "128"},
                                             {"sequence", "16"},
                                             {"vocabulary", "32"}});
  const auto of_attention = [&](int tensor) {
    plan::Stage stage;
    for (std::size_t v = 0; v < graph.size(); ++v) stage.operators.emplace_back(v);
    for (int d = 0; d < tensor; ++d) stage.devices.emplace_back(static_cast<std::size_t>(d));
    stage.tensor_parallel = tensor;
    stage.sequence_parallel = true;
    const auto all = layout::infer(graph, stage).collectives;
    std::vector<std::pair<bool, std::int64_t>> out;  // scatters, bytes
    for (const auto* list : {&all.forward, &all.backward})
      for (const auto& each : *list)
        if (each.bytes.value() == 16 * (64 + 2 * 16) * 4) out.emplace_back(each.scatters, each.bytes.value());
    return out;
  };
  CHECK(of_attention(2).empty());
  CHECK(of_attention(4) == std::vector<std::pair<bool, std::int64_t>>{{false, 6144}, {true, 6144}});
}
