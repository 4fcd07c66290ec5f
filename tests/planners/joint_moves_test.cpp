// Plans after joint's moves.

#include <doctest/doctest.h>

#include <algorithm>

#include "joint/move.hpp"
#include "joint/row_shape.hpp"
#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/score/validate.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using planners::PlanDraft;

namespace {

/// a -> b -> c -> d -> e -> f, a second each way per sample and operator, on four like devices.
struct RowSpace {
  graph::OpGraph graph = support::tiny_graph(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  cluster::Cluster cluster = support::tiny_cluster(4);
  support::FixedCosts costs = support::FixedCosts::uniform(6, 1, 1);
  cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  planners::SearchOptions options{};
  planners::PlanSpace space{problem, options, planners::planning_units(graph)};

  /// Operators up to each end on the next device, micro-batches of one sample.
  PlanDraft draft(const std::vector<std::size_t>& ends) const {
    PlanDraft out;
    out.plan.training = problem.training;
    std::size_t op = 0;
    for (const std::size_t end : ends) {
      plan::Stage& stage = out.plan.stages.emplace_back();
      stage.devices.emplace_back(out.plan.stages.size() - 1);
      while (op < end) stage.operators.emplace_back(op++);
    }
    return out;
  }
};

/// One past the last operator of each stage.
std::vector<std::size_t> ends(const plan::Plan& plan) {
  std::vector<std::size_t> out;
  for (const plan::Stage& stage : plan.stages) out.push_back(stage.operators.back().index() + 1);
  return out;
}

std::vector<std::size_t> first_devices(const plan::Plan& plan) {
  std::vector<std::size_t> out;
  for (const plan::Stage& stage : plan.stages) out.push_back(stage.devices.front().index());
  return out;
}

using Numbers = std::vector<std::size_t>;

/// One stage, the mini-batch at once.
PlanDraft on_all_devices(const cost::Problem& problem) {
  PlanDraft out;
  out.plan.training = problem.training;
  plan::Stage& stage = out.plan.stages.emplace_back();
  for (std::size_t op = 0; op < problem.graph.size(); ++op) stage.operators.emplace_back(op);
  for (std::size_t d = 0; d < problem.cluster.size(); ++d) stage.devices.emplace_back(d);
  stage.micro_batch = problem.training.mini_batch;
  return out;
}

}  // namespace

TEST_CASE("a row cut again: each rank keeps its share of the work, in the given number of stages") {
  const RowSpace row;
  // Loads of 1 and 5 operators: cuts after the first. Two stages each: 0.5 + 2.5 + 0.5 + 2.5, so cuts nearest
  // to 0.5, 3 and 3.5 with an operator in every stage.
  const PlanDraft uneven = row.draft({1, 6});
  const auto shapes = planners::rank_shapes(planners::MoveContext(row.space, uneven));
  plan::Plan plan = uneven.plan;
  planners::cut_row(row.space, shapes, 1, planners::StageAssignment::loop, plan);
  CHECK(ends(plan) == Numbers{1, 6});
  planners::cut_row(row.space, shapes, 2, planners::StageAssignment::loop, plan);
  CHECK(ends(plan) == Numbers{1, 3, 4, 6});
  CHECK(first_devices(plan) == Numbers{0, 1, 0, 1});
  planners::cut_row(row.space, shapes, 2, planners::StageAssignment::zigzag, plan);
  CHECK(first_devices(plan) == Numbers{0, 1, 1, 0});
  planners::cut_row(row.space, shapes, 4, planners::StageAssignment::loop,
                    plan);  // eight stages of six operators
  CHECK(plan.stages.empty());
}

TEST_CASE("ranks joined in pairs have the devices and the work of both, halved ones give both back") {
  const RowSpace row;
  const PlanDraft four = row.draft({1, 3, 5, 6});
  const auto shapes = planners::rank_shapes(planners::MoveContext(row.space, four));
  const auto pairs = planners::joined(shapes);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].like.devices.size() == 2);
  CHECK(pairs[0].load == support::near(shapes[0].load + shapes[1].load));
  const auto again = planners::halved(pairs);
  REQUIRE(again.size() == 4);
  for (std::size_t r = 0; r < 4; ++r) CHECK(again[r].like.devices == shapes[r].like.devices);
  CHECK(planners::halved(shapes).empty());  // no rank has two replicas
  const std::vector<planners::RankShape> three(shapes.begin(), shapes.begin() + 3);
  CHECK(planners::joined(three).empty());
}

TEST_CASE("units move between stages with others in between, which keep their number") {
  const RowSpace row;
  const PlanDraft three = row.draft({3, 4, 6});
  std::vector<std::vector<std::size_t>> found;
  for (const planners::Move& move : planners::shift_moves(planners::MoveContext(row.space, three))) {
    PlanDraft next = three;
    move(next);
    found.push_back(ends(next.plan));
  }
  // From a to b one, from a to c one, and two of each; from c to a and to b one each; b has one unit.
  const std::vector<std::vector<std::size_t>> all = {{2, 4, 6}, {1, 4, 6}, {2, 3, 6},
                                                     {1, 2, 6}, {4, 5, 6}, {3, 5, 6}};
  std::ranges::sort(found);
  auto expected = all;
  std::ranges::sort(expected);
  CHECK(found == expected);
}

TEST_CASE("one move lowers the degree and shards the replicas' copies; neither change fits by itself") {
  const RowSpace row;
  PlanDraft whole = row.draft({6});
  whole.plan.stages.front().devices = {core::DeviceId(0), core::DeviceId(1), core::DeviceId(2),
                                       core::DeviceId(3)};
  whole.plan.stages.front().tensor_parallel = 4;
  const auto leads_to = [&](int degree, int zero) {
    return std::ranges::any_of(planners::memory_moves(planners::MoveContext(row.space, whole)),
                               [&](const planners::Move& move) {
                                 PlanDraft next = whole;
                                 move(next);
                                 const plan::Stage& stage = next.plan.stages.front();
                                 return stage.tensor_parallel == degree && stage.zero == zero;
                               });
  };
  for (const int degree : {1, 2})
    for (const int zero : {1, 2, 3}) CHECK(leads_to(degree, zero));
}

TEST_CASE("one move divides a table and the head that shares it: none may hold another part") {
  using plan::Partition;
  const auto graph = models::build(
      "gpt", {{"layers", "1"}, {"hidden", "32"}, {"heads", "4"}, {"sequence", "8"}, {"vocabulary", "64"}});
  const auto cluster = support::tiny_cluster(2);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  const planners::SearchOptions options;
  const planners::PlanSpace space(problem, options, planners::planning_units(graph));
  PlanDraft draft = on_all_devices(problem);
  draft.plan.stages.front().tensor_parallel = 2;
  const core::OpId head(graph.size() - 1), table = graph.owner(head);
  REQUIRE(table != head);
  const auto leads_to = [&](Partition of_table, Partition of_head) {
    return std::ranges::any_of(planners::partition_moves(planners::MoveContext(space, draft)),
                               [&](const planners::Move& move) {
                                 PlanDraft next = draft;
                                 move(next);
                                 const auto& how = next.plan.stages.front().partition;
                                 return how.contains(table) && how.at(table) == of_table &&
                                        how.contains(head) && how.at(head) == of_head;
                               });
  };
  for (const Partition how : {Partition::whole, Partition::batch, Partition::sequence})
    CHECK(leads_to(how, how));
  CHECK(leads_to(Partition::row, Partition::column));
  CHECK(leads_to(Partition::column, Partition::row));
  CHECK_FALSE(leads_to(Partition::whole, Partition::batch));
  // A single device has nothing to divide.
  draft.plan.stages.front().tensor_parallel = 1;
  CHECK_FALSE(leads_to(Partition::whole, Partition::whole));
}

TEST_CASE("plans on exchanged equal devices have one name; fields without effect are left out of it") {
  const RowSpace row;
  PlanDraft a = row.draft({1, 3, 5, 6}), b = a, c = a;
  std::swap(b.plan.stages[0].devices, b.plan.stages[3].devices);
  c.plan.stages[1].sequence_parallel = true;  // of groups of one device
  c.plan.stages[1].zero = 2;                  // of one replica
  for (PlanDraft* draft : {&a, &b, &c}) REQUIRE(row.space.tidy(*draft));
  CHECK(row.space.key(a) == row.space.key(b));
  CHECK(row.space.key(a) == row.space.key(c));
  c.plan.stages[1].recompute = plan::kRecomputeStage;
  CHECK(row.space.key(a) != row.space.key(c));
}

TEST_CASE("stages are put in order, and refused where they wait for each other") {
  const RowSpace row;
  PlanDraft turned = row.draft({1, 3, 5, 6});
  std::swap(turned.plan.stages[0], turned.plan.stages[3]);
  REQUIRE(row.space.tidy(turned));
  CHECK(ends(turned.plan) == Numbers{1, 3, 5, 6});
  PlanDraft circle = row.draft({1, 3, 5, 6});
  std::swap(circle.plan.stages[0].operators, circle.plan.stages[1].operators);
  circle.plan.stages[0].operators.emplace_back(5);  // a stage with b, c and f
  circle.plan.stages[3].operators = {core::OpId(0)};
  circle.plan.stages[1].operators = {core::OpId(3), core::OpId(4)};
  CHECK_FALSE(row.space.tidy(circle));
}

TEST_CASE("branches go to ranks of their own: fewer operators, more samples, and the trunk at the end") {
  // Two operators of each of four branches, which meet in the last: a b, c d, e f, g h -> i.
  const auto graph = support::tiny_graph(9, {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {1, 8}, {3, 8}, {5, 8}, {7, 8}});
  const support::FixedCosts costs = support::FixedCosts::uniform(9, 1, 1);
  const RowSpace row;
  const cost::Problem problem{graph, row.cluster, costs, {8, plan::Optimizer::sgd}};
  const planners::PlanSpace space(problem, row.options, planners::planning_units(graph));
  const PlanDraft all = on_all_devices(problem);

  // The best two ranks have 4 operators and 5, on two devices each; four ranks have a branch each.
  std::vector<std::size_t> ranks;
  for (const planners::Move& move : planners::branch_moves(planners::MoveContext(space, all))) {
    PlanDraft next = all;
    move(next);
    if (!space.tidy(next)) continue;
    const auto made = space.completed(next);
    if (!made) continue;
    CHECK(score::violations(problem, made->plan).empty());
    const planners::MoveContext sight(space, *made);
    ranks.push_back(sight.ranks.size());
    CHECK(made->plan.stages.size() == 2 * ranks.back());
    CHECK(made->plan.stages.back().operators == std::vector{core::OpId(8)});
    for (const plan::Stage& each : made->plan.stages) CHECK(each.devices.size() == 4 / ranks.back());
  }
  CHECK(std::ranges::count(ranks, 2) >= 2);  // of micro-batches of several sizes
  CHECK(std::ranges::count(ranks, 4) >= 2);
  CHECK(planners::branch_moves(planners::MoveContext(row.space, row.draft({6}))).empty());  // a row has none
}

TEST_CASE("branches of very unlike work are left together") {
  const auto graph = support::tiny_graph(5, {{0, 1}, {1, 2}, {2, 4}, {3, 4}});
  const support::FixedCosts costs = support::FixedCosts::uniform(5, 1, 1);
  const RowSpace row;
  const cost::Problem problem{graph, row.cluster, costs, {8, plan::Optimizer::sgd}};
  const planners::PlanSpace space(problem, row.options, planners::planning_units(graph));
  // Three operators beside two.
  CHECK_FALSE(planners::branch_moves(planners::MoveContext(space, on_all_devices(problem))).empty());
  const auto lopsided =
      support::tiny_graph(9, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 8}, {7, 8}});
  const support::FixedCosts more = support::FixedCosts::uniform(9, 1, 1);
  const cost::Problem other{lopsided, row.cluster, more, {8, plan::Optimizer::sgd}};
  const planners::PlanSpace there(other, row.options, planners::planning_units(lopsided));
  CHECK(planners::branch_moves(planners::MoveContext(there, on_all_devices(other)))
            .empty());  // seven beside two
}

TEST_CASE("in a row of layers one move brings units to a stage much further on") {
  const auto graph = models::build(
      "gpt", {{"layers", "4"}, {"hidden", "64"}, {"heads", "2"}, {"sequence", "16"}, {"vocabulary", "100"}});
  const cost::AnalyticCosts costs;
  const RowSpace row;
  const cost::Problem problem{graph, row.cluster, costs, {8, plan::Optimizer::sgd}};
  const planners::PlanSpace space(problem, row.options, planners::planning_units(graph));
  REQUIRE(space.row_of_layers());
  CHECK_FALSE(row.space.row_of_layers());
  PlanDraft draft;
  draft.plan.training = problem.training;
  planners::RankShape rank{plan::Stage{}, 1};
  std::vector<planners::RankShape> ranks(3, rank);
  for (std::size_t r = 0; r < 3; ++r) ranks[r].like.devices.emplace_back(r);
  planners::cut_row(space, ranks, 1, planners::StageAssignment::loop, draft.plan);
  REQUIRE(space.tidy(draft));
  const auto sizes = [](const plan::Plan& plan) {
    Numbers out;
    for (const plan::Stage& stage : plan.stages) out.push_back(stage.operators.size());
    return out;
  };
  const Numbers before = sizes(draft.plan);
  const auto far = [&](const planners::Moves& kind) {
    return std::ranges::any_of(kind, [&](const planners::Move& move) {
      PlanDraft next = draft;
      move(next);
      const Numbers after = sizes(next.plan);
      return after.size() == 3 && after[1] == before[1] && after[0] < before[0] && after[2] > before[2];
    });
  };
  const auto kinds = planners::moves(planners::MoveContext(space, draft), planners::ChangeScope::all);
  CHECK(std::ranges::count_if(kinds, far) >= 1);
}

TEST_CASE("every completed move is a valid plan, and some of every kind are") {
  const RowSpace row;
  PlanDraft draft = row.draft({1, 3, 5, 6});
  REQUIRE(row.space.tidy(draft));
  const auto start = row.space.completed(draft);
  REQUIRE(start.has_value());
  const auto kinds = planners::moves(planners::MoveContext(row.space, *start), planners::ChangeScope::all);
  REQUIRE(kinds.size() == 8);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    CAPTURE(kind);
    int valid = 0;
    for (const auto& move : kinds[kind]) {
      PlanDraft next = *start;
      move(next);
      if (!row.space.tidy(next)) continue;
      const auto made = row.space.completed(next);
      valid += made.has_value();
      if (made) CHECK(score::violations(row.problem, made->plan).empty());
    }
    // Nothing is divided whose partition could be another; there are no branches, and no equal devices.
    CHECK((valid > 0) == (kind != 4 && kind != 6 && kind != 7));
  }
}
