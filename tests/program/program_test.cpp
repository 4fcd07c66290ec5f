// A plan lowered to what its ranks run.

#include "penstock/program/program.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "replay/shared_model.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::StageId;
using program::Instruction;
using program::Program;

namespace {

/// Operators a, b, ... in a row, each a stage of its own with 100 weights on `replicas` devices.
struct Chain {
  graph::OpGraph graph;
  plan::Plan plan;
};

Chain chain(std::size_t stages, std::size_t replicas, std::vector<std::size_t> rank_of_stage) {
  graph::GraphBuilder builder("chain");
  Chain out{{}, {}};
  out.plan.training.mini_batch = static_cast<std::int64_t>(2 * replicas);
  for (std::size_t s = 0; s < stages; ++s) {
    builder.add(support::unit_op("v" + std::to_string(s), 1e9, 100));
    if (s > 0) builder.add_edge(OpId(s - 1), OpId(s));
    plan::Stage stage{{OpId(s)}, {}, static_cast<std::int64_t>(replicas), 1, 0, {}};
    for (std::size_t r = 0; r < replicas; ++r) stage.devices.emplace_back(rank_of_stage[s] * replicas + r);
    out.plan.stages.push_back(std::move(stage));
  }
  out.graph = builder.build();
  return out;
}

Program lowered(const Chain& c, const std::string& csv, const program::LoweringOptions& options = {}) {
  return program::lower(c.graph, {c.graph, c.plan, schedule::parse_schedule(csv, "test.csv")}, options);
}

/// "0B1" a pass, "0B1/0" its part of bucket 0, "0B1.2" its piece behind two collectives. "+0B1" is a pass that
/// runs with the pass before it, "sum 0/0" the sum of a bucket, "sum #0" of shared parameters.
std::string text(const Instruction& i) {
  const bool sum = i.kind == schedule::ActionKind::reduce_gradient;
  if (sum && i.shared >= 0) return "sum #" + std::to_string(i.shared);
  const auto stage = i.stage.valid() ? static_cast<std::int32_t>(i.stage.index()) : -1;
  std::string out = i.joined ? "+" : "";
  out += sum ? "sum " + std::to_string(stage) : schedule::token({i.kind, stage, i.micro_batch});
  if (i.bucket >= 0) out += "/" + std::to_string(i.bucket);
  return i.piece < 0 ? out : out + "." + std::to_string(i.piece);
}

std::string text(const program::Rank& rank) {
  std::string out;
  for (const Instruction& i : rank.row) out += (out.empty() ? "" : " ") + text(i);
  return out;
}

}  // namespace

TEST_CASE("passes, sums, updates and barriers keep the order of the row; idle cells go") {
  const Chain c = chain(1, 2, {0});
  const Program program = lowered(c, "0F0,,0F1,0B0,0B1,0REDUCE_GRAD,BARRIER,0STEP\n");
  CHECK(text(program.ranks[0]) == "0F0 0F1 0B0 0B1 sum 0/0 BARRIER 0STEP");
  CHECK(program.ranks[0].updates == std::vector<std::int32_t>{4, 5, 6});
}

TEST_CASE("without weights nothing is summed or updated") {
  Chain c = chain(1, 2, {0});
  c.graph = support::tiny_graph(1, {});
  CHECK(text(lowered(c, "0F0,0B0,0REDUCE_GRAD,0STEP\n").ranks[0]) == "0F0 0B0");
}

TEST_CASE("one replica has no sums with others") {
  const Chain c = chain(1, 1, {0});
  CHECK(text(lowered(c, "0F0,0B0,0REDUCE_GRAD,0STEP\n").ranks[0]) == "0F0 0B0 0STEP");
}

TEST_CASE("the last backward pass is cut at its buckets, each summed as soon as it is full") {
  const Chain c = chain(1, 2, {0});
  const Program program = lowered(c, "0F0,0F1,0B0,0B1,0REDUCE_GRAD,0STEP\n", {.buckets = {2}});
  CHECK(text(program.ranks[0]) == "0F0 0F1 0B0 0B1/0 sum 0/0 0B1/1 sum 0/1 0STEP");
  // The pass is its parts: gradients are there, and activations free, after the second.
  const program::StageIndex& index = program.stages[0].index;
  CHECK((index.backward[1].first == 3 && index.backward[1].last == 5));
  CHECK(index.release == std::vector<std::int32_t>{2, 5});
}

TEST_CASE("a pair runs as one, or as its forward, then its backward") {
  // Stages 0 and 3 on rank 0, 1 and 2 on rank 1.
  const Chain c = chain(4, 1, {0, 1, 1, 0});
  const std::string csv = "0F0,(0F1;3B0)OVERLAP_F_B,3B1,0B0,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1\n";
  const Program one = lowered(c, csv), apart = lowered(c, csv, {.pairs_apart = true});
  CHECK(text(one.ranks[0]) == "0F0 0F1 +3B0 3B1 0B0 0B1");
  CHECK(text(apart.ranks[0]) == "0F0 0F1 3B0 3B1 0B0 0B1");
  // Run as one, both passes begin at the first position and end at the second.
  CHECK((one.stages[0].index.forward[1].first == 1 && one.stages[0].index.forward[1].last == 2));
  CHECK((one.stages[3].index.backward[0].first == 1 && one.stages[3].index.backward[0].last == 2));
  CHECK((apart.stages[0].index.forward[1].last == 1 && apart.stages[3].index.backward[0].first == 2));
}

TEST_CASE("a pass that runs with another is not cut") {
  const Chain c = chain(4, 2, {0, 1, 1, 0});
  const Program program =
      lowered(c, "0F0,(0F1;3B0)OVERLAP_F_B,3REDUCE_GRAD\n1F0,2F0\n", {.buckets = {1, 1, 1, 2}});
  CHECK(text(program.ranks[0]) == "0F0 0F1 +3B0 sum 3/0 sum 3/1");
}

TEST_CASE("an update waits for one sum of each bucket, the earliest that none waits for") {
  // Two mini-batches are summed before the first is updated: its STEP waits for sums at 1 and 3, the second
  // for those at 5 and 7.
  const Chain c = chain(1, 2, {0});
  const Program program = lowered(c, "0B0,0REDUCE_GRAD,0B1,0REDUCE_GRAD,0STEP,0STEP\n", {.buckets = {2}});
  CHECK(text(program.ranks[0]) == "0B0/0 sum 0/0 0B0/1 sum 0/1 0B1/0 sum 0/0 0B1/1 sum 0/1 0STEP 0STEP");
  std::vector<std::pair<std::int32_t, std::int32_t>> sums;
  for (const auto& sum : gradient_sums(program.ranks[0])) sums.emplace_back(sum.position, sum.step);
  CHECK(sums == std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 8}, {3, 8}, {5, 9}, {7, 9}});
}

TEST_CASE("shared parameters are summed after all gradients of a row, before its updates") {
  // Three stages of one device, the last of which uses what the first owns.
  const auto model = replay::test::shared_chain({1, 1, 1});
  const Program program = program::lower(model.problem().graph, {model.problem().graph, model.plan});
  REQUIRE(program.shared.size() == 1);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const program::Rank& r = program.ranks[rank];
    const std::string row = text(r);
    CAPTURE(row);
    CHECK(row.ends_with(std::to_string(rank) + (rank == 1 ? "B1 1STEP" : "B1 sum #0 ") +
                        (rank == 1 ? "" : std::to_string(rank) + "STEP")));
    for (const std::int32_t p : r.updates) CHECK(r.row[static_cast<std::size_t>(p)].micro_batch < 0);
  }
}

TEST_CASE("a plan that a program cannot represent is refused") {
  const Chain c = chain(1, 1, {0});
  const auto refusal = [&](const graph::OpGraph& graph, const plan::Plan& plan, const std::string& csv) {
    try {
      program::lower(graph, {graph, plan, schedule::parse_schedule(csv, "test.csv")});
    } catch (const core::BadInput& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(refusal(c.graph, c.plan, "0F0,0B0,0STEP\n") == "none");
  CHECK(refusal(c.graph, c.plan, "0F0,0EVICT0,0LOAD0,0B0\n") ==
        "0EVICT0 is neither a pass nor an update of a plan");
  const auto model = replay::test::shared_chain({1, 1, 1});
  CHECK(refusal(model.problem().graph, model.plan, "0F0,0STEP,0B0\n1F0,1B0\n2F0,2B0\n") ==
        "0STEP comes before the sum of what the stage shares with others");
}

TEST_CASE("collectives cut passes and their buckets, but not pairs") {
  const Chain c = chain(2, 1, {0, 0});
  program::LoweringOptions options;
  options.buckets = {2, 1};
  options.pieces = [](StageId stage, schedule::ActionKind kind, std::int32_t bucket) -> std::size_t {
    if (stage.index() == 1 || kind == schedule::ActionKind::weight_gradient) return 1;
    return bucket == 1 ? 1 : 2;
  };
  const Program p =
      lowered(c, "0F0,1F0,(0F1;1B0)OVERLAP_F_B,0B0,1F1,1B1,0B1,0REDUCE_GRAD,0STEP,1STEP\n", options);
  CHECK(text(p.ranks[0]) ==
        "0F0.0 0F0.1 1F0 0F1 +1B0 0B0.0 0B0.1 1F1 1B1 0B1/0.0 0B1/0.1 sum 0/0 0B1/1 sum 0/1 0STEP 1STEP");
  const auto& index = p.stages[0].index;
  CHECK(index.forward[0].first == 0);
  CHECK(index.forward[0].last == 1);
  CHECK(index.backward[1].first == 9);
  CHECK(index.backward[1].last == 12);
  CHECK(index.release[0] == 6);
  options.pieces = [](auto, auto, auto) -> std::size_t { return 40'000; };
  CHECK_THROWS_AS(lowered(c, "0F0,1F0,1B0,0B0\n", options), core::Error);
}
