// Experts beside tensor parallelism: whole ones on devices of their own, and divided ones (Megatron-LM's
// dispatcher).

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/cost/analytic.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "src/cost/group_collectives.hpp"
#include "src/cost/weight_parts.hpp"
#include "support/judged_plan.hpp"
#include "support/near.hpp"
#include "support/small_mixture.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;
using layout::GroupScope;
using TransferKind = layout::GroupCollective::TransferKind;

namespace {

constexpr std::int64_t kElement = 4, kTokens = 16, kHidden = 32, kChosen = 2,
                       kRows = kTokens * kChosen * kHidden * kElement,  ///< bytes of a sample's copied rows
    kTensor = kTokens * kHidden * kElement, kExperts = 8 * 3 * 32 * 24 * kElement;

/// One stage of `devices` in tensor-parallel groups that divide tokens.
plan::Stage folded(const graph::OpGraph& graph, std::size_t devices, int tensor, int expert, bool whole) {
  plan::Stage out = support::stage_of(0, graph.size(), devices, 8);
  out.tensor_parallel = tensor;
  out.sequence_parallel = true;
  out.expert_parallel = expert;
  out.whole_experts = whole;
  return out;
}

struct GroupBytes {
  std::int64_t among_tensor = 0, among_experts = 0;
  friend bool operator==(const GroupBytes&, const GroupBytes&) = default;
};

/// Bytes per sample of the collectives of one pass.
GroupBytes sums_of(const std::vector<layout::GroupCollective>& pass) {
  GroupBytes out;
  for (const auto& each : pass)
    (each.among == GroupScope::tensor ? out.among_tensor : out.among_experts) += each.bytes.value();
  return out;
}

class FoldedCase {
 public:
  explicit FoldedCase(std::size_t devices, std::int64_t mini_batch = 8)
      : graph(support::small_mixture("1")),
        cluster(support::tiny_cluster(devices)),
        problem{graph, cluster, costs, {mini_batch}} {}

  layout::GroupCollectives collectives(const plan::Stage& stage) const {
    const cost::LocalProblem local(problem, stage);
    return cost::group_collectives(problem, local.get(), stage,
                                   cost::partitions(stage, layout::infer(local.get().graph, stage)));
  }

  /// A plan with Adam, its state shared by ZeRO 1.
  plan::Plan sharing(plan::Stage stage) {
    problem.training.optimizer = plan::Optimizer::adam;
    stage.zero = 1;
    plan::Plan out;
    out.training = problem.training;
    out.stages = {std::move(stage)};
    score::derive_in_flight(problem, out);
    return out;
  }

  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
  cost::Problem problem;
};

std::vector<std::vector<std::size_t>> numbers(const std::vector<std::vector<core::DeviceId>>& groups) {
  std::vector<std::vector<std::size_t>> out;
  for (const auto& group : groups) {
    out.emplace_back();
    for (const core::DeviceId device : group) out.back().push_back(device.index());
  }
  return out;
}

using Groups = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("whole experts: groups take tensor-parallel neighbours first, in Megatron-LM's order") {
  const FoldedCase c(8);
  const plan::Stage divided = folded(c.graph, 8, 2, 2, false), whole = folded(c.graph, 8, 2, 4, true);
  CHECK(numbers(layout::expert_groups(divided)) == Groups{{0, 2}, {4, 6}, {1, 3}, {5, 7}});
  CHECK(numbers(layout::expert_replicas(divided)) == Groups{{0, 4}, {2, 6}, {1, 5}, {3, 7}});
  CHECK(numbers(layout::expert_groups(whole)) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(numbers(layout::expert_replicas(whole)) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(whole.expert_replicas() == 2);
  CHECK(divided.expert_replicas() == 2);
}

TEST_CASE(
    "a device sends the rows of its own tokens; only experts divided by tensor parallelism gather them") {
  const FoldedCase c(8);
  // Beside experts: the table scatters sums, attention gathers and scatters, the head gathers; back the same.
  const std::int64_t others = 4 * kTensor;
  const auto whole = c.collectives(folded(c.graph, 8, 2, 8, true));
  // The all-to-all counts all devices' bytes: 8 times half of a sample's rows, there and back.
  const std::int64_t traded = 2 * 8 * kRows / 2;
  CHECK(sums_of(whole.forward) == GroupBytes{others, traded});
  CHECK(sums_of(whole.backward) == GroupBytes{others, traded});
  const auto divided = c.collectives(folded(c.graph, 8, 2, 4, false));
  // Four replicas trade as many rows; then each group gathers and scatters all copies.
  CHECK(sums_of(divided.forward) == GroupBytes{others + 2 * kRows, 2 * 4 * kRows / 2});
  CHECK(sums_of(divided.backward) == GroupBytes{others + 2 * kRows, 2 * 4 * kRows / 2});
}

TEST_CASE("without expert groups a mixture's tokens are gathered once, not each copy of them") {
  const FoldedCase c(2);
  const auto forward = sums_of(c.collectives(folded(c.graph, 2, 2, 1, false)).forward);
  constexpr std::int64_t kScores = kTokens * 8 * kElement;
  CHECK(forward.among_tensor == 4 * kTensor + 2 * kTensor + kScores);
  CHECK(forward.among_experts == 0);
  // Whole experts on every device need nothing of other tokens.
  CHECK(sums_of(c.collectives(folded(c.graph, 2, 2, 1, true)).forward) == GroupBytes{4 * kTensor, 0});
}

TEST_CASE("a router is whole: its scores are neither gathered nor divided by experts") {
  const FoldedCase c(2);
  plan::Stage stage = folded(c.graph, 2, 2, 1, false);
  for (const bool tokens : {true, false}) {
    stage.sequence_parallel = tokens;
    const auto how = cost::partitions(stage, layout::infer(c.graph, stage));
    int routers = 0;
    for (const auto& [op, partition] : how) {
      const std::string& name = c.graph.op(op).name;
      if (!name.ends_with("router") && !name.ends_with("scores")) continue;
      CHECK(partition == (tokens ? plan::Partition::sequence : plan::Partition::whole));
      ++routers;
    }
    CHECK(routers == 2);
  }
}

TEST_CASE("whole experts: a device holds an eighth of them, and no other device has their state") {
  FoldedCase c(8);
  const plan::Plan plan = c.sharing(folded(c.graph, 8, 2, 8, true));
  REQUIRE(score::violations(c.problem, plan).empty());
  const auto memory = score::stage_memories(c.problem, plan).front();
  const auto load = cost::stage_load(c.problem, plan.stages[0]);
  const std::int64_t others = load.parameters.value() - kExperts / 8;
  CHECK(load.experts.value() == kExperts / 8);
  // Two moments of four bytes: a quarter of the others' (four replicas), all of the device's experts'.
  CHECK(at(memory, plan::MemoryKind::optimizer).value() == 2 * (others / 4 + kExperts / 8));
}

TEST_CASE("one replica has no copies, but expert groups smaller than its tensor-parallel group have") {
  FoldedCase c(4);
  const plan::Plan plan = c.sharing(folded(c.graph, 4, 4, 2, true));
  REQUIRE(score::violations(c.problem, plan).empty());
  const auto load = cost::stage_load(c.problem, plan.stages[0]);
  CHECK(load.experts.value() == kExperts / 2);
  const std::int64_t others = load.parameters.value() - kExperts / 2;
  CHECK(at(score::stage_memories(c.problem, plan).front(), plan::MemoryKind::optimizer).value() ==
        2 * (others + kExperts / 4));
  // Both holders sum their gradients.
  const auto reductions = cost::reductions(c.problem, plan.stages[0], plan.stages[0].operators);
  CHECK(std::ranges::any_of(reductions, [](const cost::GradientReduction& each) {
    return each.groups.size() == 2 && each.bytes.value() == kExperts / 2;
  }));
}

TEST_CASE("parts of experts save every copied row, whole experts those of their own tokens") {
  const FoldedCase c(8);
  const auto saved = [&](const plan::Stage& stage) {
    return cost::stage_load(c.problem, stage).activations.value();
  };
  // A copy has 32 numbers in and 3 x 24 inside; divided by columns a device has half of the latter.
  constexpr std::int64_t kCopies = kTokens * kChosen;
  const std::int64_t columns = kCopies * (32 + 3 * 24 / 2) * kElement,
                     tokens = kCopies / 2 * (32 + 3 * 24) * kElement;
  CHECK(saved(folded(c.graph, 8, 2, 4, false)) - saved(folded(c.graph, 8, 2, 4, true)) == columns - tokens);
}

TEST_CASE("parts of experts keep every copied row until their weight gradient") {
  // Megatron-LM's split backward passes keep the operands of products: 32 numbers of each copy, and half of 24.
  FoldedCase c(8);
  cluster::Cluster megatron = c.cluster.run_by(cluster::runtime("megatron"));
  const cost::Problem problem{c.graph, megatron, c.costs, {8}};
  const auto kept = [&](const plan::Stage& stage) {
    const auto load = cost::stage_load(problem, stage);
    return (load.activations + load.inputs - load.released).value();
  };
  constexpr std::int64_t kCopies = kTokens * kChosen;
  CHECK(kept(folded(c.graph, 8, 2, 4, false)) - kept(folded(c.graph, 8, 2, 4, true)) ==
        (kCopies * (32 + 24 / 2) - kCopies / 2 * (32 + 24)) * kElement);
}

TEST_CASE("whole experts compute a part of the rows with all of their width") {
  const FoldedCase c(8);
  const auto experts = [&] {
    for (std::size_t v = 0; v < c.graph.size(); ++v)
      if (c.graph.op(OpId(v)).kind == graph::OpKind::experts) return OpId(v);
    return OpId();
  }();
  const auto shard = cost::op_shard(c.graph.op(experts), plan::Partition::sequence, 0.5);
  CHECK(shard.partition == plan::Partition::sequence);
  // Two samples by halves are one sample.
  const auto& type = c.cluster.types().front();
  const auto two = c.costs.part_time(c.graph, experts, type, 2, shard),
             one = c.costs.op_time(c.graph, experts, type, 1);
  CHECK(two.forward.value() == support::near(one.forward.value()));
  CHECK(two.weight_gradient.value() == support::near(one.weight_gradient.value()));
}

TEST_CASE("whole experts need tensor-parallel groups that divide tokens") {
  const FoldedCase c(8);
  const auto refusal = [&](auto change) {
    plan::Plan plan;
    plan.training = c.problem.training;
    plan.stages = {folded(c.graph, 8, 2, 8, true)};
    change(plan.stages[0]);
    score::derive_in_flight(c.problem, plan);
    const auto found = score::violations(c.problem, plan);
    return found.empty() ? std::string() : found.front();
  };
  const std::string needs =
      "stage 0: `expert_parallel` with `whole` needs tensor-parallel groups that divide tokens evenly "
      "(`sequence_parallel`, no `shares`)";
  CHECK(refusal([](plan::Stage&) {}).empty());
  CHECK(refusal([](plan::Stage& s) { s.sequence_parallel = false; }) == needs);
  CHECK(refusal([](plan::Stage& s) { s.shares = {1, 2}; }) == needs);
  CHECK(refusal([](plan::Stage& s) { s.tensor_parallel = 1, s.sequence_parallel = false; }) == needs);
  CHECK(refusal([](plan::Stage& s) { s.expert_parallel = 3; }) ==
        "stage 0: 8 devices that hold whole experts, but expert_parallel (3) must divide them");
  CHECK(refusal([&](plan::Stage& s) {
          for (std::size_t v = 0; v < c.graph.size(); ++v)
            if (c.graph.op(OpId(v)).kind == graph::OpKind::experts)
              s.partition[OpId(v)] = plan::Partition::column;
        }) == "stage 0: `partition` divides experts, which `expert_parallel` leaves whole");
}
