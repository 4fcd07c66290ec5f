#include "penstock/layout/infer.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
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

}  // namespace

TEST_CASE("matrices are divided by columns and rows in turn, as Megatron-LM does") {
  const auto g = matrices(3);
  const auto placed = layout::infer(g, stage(0, 2, 2, 2));
  CHECK(placed.partition == std::vector{Partition::column, Partition::row, Partition::column});
  CHECK(text(placed.collectives.forward) == "reduce 1:1000 ");   // partial sums of b
  CHECK(text(placed.collectives.backward) == "reduce 2:1000 ");  // of the gradient that c hands back to b
}

TEST_CASE("what enters arrives in shards and is gathered, what leaves replicated has its gradient gathered") {
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

TEST_CASE("collectives are those of every operator alone and of every conversion") {
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

TEST_CASE("what leaves a stage by tokens is in parts already, what enters is gathered where it is mixed") {
  const auto g = matrices(4);
  auto s = stage(1, 2, 2, 2);
  s.sequence_parallel = true;
  const auto placed = layout::infer(g, s);
  CHECK(text(placed.collectives.forward) == "gather 1:1000 gather 2:1000 ");
  CHECK(text(placed.collectives.backward) == "gather 1:1000 gather 2:1000 ");
}

TEST_CASE(
    "products that read one tensor share the all-reduce of its gradient, in the pass of the first of them") {
  // queries, keys and values of x, 1,000 bytes: each device has a third of each product's term, adds its own
  // three first, and the group adds up once instead of three times.
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
