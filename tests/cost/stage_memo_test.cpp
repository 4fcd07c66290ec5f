// Memo of a search about stages: the answers of a search without it, and none of another stage or problem.

#include "penstock/cost/stage_memo.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "penstock/score/estimate.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/random_plan.hpp"
#include "support/random_problem.hpp"
#include "support/thirds.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

int answered(const cost::Problem& problem, const plan::Stage& stage, int answer) {
  return *cost::StageMemo::recall(problem, cost::StageKey("answer", stage), [&] { return answer; });
}

plan::Stage one_stage() {
  plan::Stage stage;
  stage.operators = {core::OpId(0), core::OpId(1)};
  stage.devices = {core::DeviceId(0), core::DeviceId(1)};
  stage.micro_batch = 4;
  return stage;
}

}  // namespace

TEST_CASE("an answer is made once, for its problem only; a problem without a memo remembers nothing") {
  const auto random = support::random_problem(3);
  cost::StageMemo memo;
  cost::Problem problem = random.problem();
  memo.serve(problem);
  const plan::Stage stage = one_stage();
  CHECK(answered(problem, stage, 1) == 1);
  CHECK(answered(problem, stage, 2) == 1);
  cost::Problem copy = problem;  // its training may change
  CHECK(answered(copy, stage, 3) == 3);
  CHECK(answered(random.problem(), stage, 4) == 4);
  CHECK(answered(problem, stage, 5) == 1);
}

TEST_CASE("random plans take and hold equally much with a memo of all of them and without") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_plan(seed, 2);
    const auto problem = random.problem();
    cost::StageMemo memo;
    cost::Problem remembering = problem;
    memo.serve(remembering);
    auto other = random.plan;  // stages that are like those, but not the same
    for (plan::Stage& stage : other.stages) stage.zero = stage.zero > 0 ? 0 : 1;
    const auto time = [&](const cost::Problem& of, const plan::Plan& plan) {
      return sim::simulate_time(of, score::scheduled(of, plan), random.options);
    };
    const auto least = [&](const cost::Problem& of, const plan::Plan& plan) {
      return score::least_iteration(of, plan, score::Reduction::closed_form);
    };
    for (int round = 0; round < 2; ++round)
      for (const plan::Plan* plan : {&random.plan, &std::as_const(other)}) {
        CHECK(score::stage_memories(remembering, *plan) == score::stage_memories(problem, *plan));
        CHECK(least(remembering, *plan) == least(problem, *plan));
        CHECK(time(remembering, *plan) == time(problem, *plan));
        auto in_turn = *plan;  // each replica takes whole micro-batches
        in_turn.schedule = "pipedream";
        for (const plan::Plan* of : {plan, &std::as_const(in_turn)})
          CHECK(score::estimate(remembering, *of).iteration == score::estimate(problem, *of).iteration);
      }
  }
}

TEST_CASE("schedules that come again have the same order, those of other sizes and times their own") {
  const auto chain = support::tiny_graph(8, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}});
  const auto cluster = support::tiny_cluster(4);
  const support::Thirds costs;
  const cost::Problem problem{chain, cluster, costs, {12}};
  cost::StageMemo memo;
  cost::Problem remembering = problem;
  memo.serve(remembering);
  std::set<std::tuple<std::string, std::size_t, std::ptrdiff_t>> orders;  // passes, those that recompute
  for (int round = 0; round < 2; ++round)
    for (const char* family : {"zbv", "v_zb", "v_half", "interleaved_1f1b", "interleaved_zb"})
      for (const std::int64_t micro_batch : {1, 2, 3})
        for (const bool again : {false, true}) {
          CAPTURE(family);
          plan::Plan plan;
          plan.training = problem.training;
          plan.schedule = family;
          const bool loop = plan.schedule.starts_with("interleaved");
          for (std::size_t s = 0; s < 8; ++s) {
            const std::size_t rank = loop || s < 4 ? s % 4 : 7 - s;
            plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(rank)}, micro_batch, 1, 0, {}});
            if (again) plan.stages[s].recompute = plan::kRecomputeStage;
          }
          const auto order = score::order_of(problem, plan);
          CHECK(score::order_of(remembering, plan) == order);
          const auto& row = order.ranks[0];
          orders.insert({family, row.size(),
                         std::ranges::count(row, schedule::ActionKind::recompute, &schedule::Action::kind)});
        }
  CHECK(orders.size() == 5 * 3 * 2);
}

TEST_CASE("a memo that holds too much forgets, and still answers") {
  const auto random = support::random_problem(3);
  cost::StageMemo memo(core::Bytes(16 * 512));  // about three answers a part
  cost::Problem problem = random.problem();
  memo.serve(problem);
  plan::Stage stage = one_stage();
  int made = 0;
  for (int round = 0; round < 2; ++round)
    for (int m = 0; m < 1000; ++m) {
      stage.micro_batch = m;
      const auto answer = cost::StageMemo::recall(problem, cost::StageKey("answer", stage), [&] {
        ++made;
        return m;
      });
      CHECK(*answer == m);
    }
  CHECK(made > 1500);
}

TEST_CASE("an answer that is too large is not kept, and drives out no other") {
  const auto random = support::random_problem(3);
  cost::StageMemo memo(core::Bytes(16 * 4096));
  cost::Problem problem = random.problem();
  memo.serve(problem);
  int made = 0;
  const auto ask = [&](const char* question, int m, std::size_t size) {
    const auto answer = cost::StageMemo::recall(problem, cost::StageKey(question).add(m),
                                                [&] { return std::vector<int>(size, ++made); });
    return answer->size();
  };
  for (int m = 0; m < 50; ++m) CHECK(ask("small", m, 1) == 1);
  for (int m = 0; m < 200; ++m) CHECK(ask("large", m, 10000) == 10000);
  CHECK(made == 250);
  for (int m = 0; m < 50; ++m) CHECK(ask("small", m, 1) == 1);
  CHECK(made == 250);
  CHECK(ask("large", 0, 10000) == 10000);
  CHECK(made == 251);
}

TEST_CASE(
    "all that passes, memory and reductions depend on tells stages apart; the order of passes does not") {
  std::set<std::string> keys;
  const auto is_new = [&](auto change) {
    plan::Stage stage = one_stage();
    change(stage);
    return keys.insert(cost::StageKey("answer", stage).bytes()).second;
  };
  CHECK(is_new([](plan::Stage&) {}));
  CHECK(is_new([](plan::Stage& s) { s.operators.pop_back(); }));
  CHECK(is_new([](plan::Stage& s) { std::swap(s.devices[0], s.devices[1]); }));
  CHECK(is_new([](plan::Stage& s) { s.micro_batch = 300; }));
  CHECK(is_new([](plan::Stage& s) { s.recompute.of = plan::Recomputation::Of::stage; }));
  CHECK(is_new([](plan::Stage& s) { s.recompute = {plan::Recomputation::Of::stage, true, 0}; }));
  CHECK(is_new([](plan::Stage& s) { s.recompute = {plan::Recomputation::Of::stage, false, 1}; }));
  CHECK(is_new([](plan::Stage& s) { s.tensor_parallel = 2; }));
  CHECK(is_new([](plan::Stage& s) { s.partition[core::OpId(1)] = plan::Partition::row; }));
  CHECK(is_new([](plan::Stage& s) { s.partition[core::OpId(1)] = plan::Partition::column; }));
  CHECK(is_new([](plan::Stage& s) { s.shares = {1, 2}; }));
  CHECK(is_new([](plan::Stage& s) { s.zero = 1; }));
  CHECK(is_new([](plan::Stage& s) { s.zero_over = 1; }));
  CHECK(is_new([](plan::Stage& s) { s.sequence_parallel = true; }));
  CHECK(is_new([](plan::Stage& s) { s.context_parallel = 2; }));
  CHECK(is_new([](plan::Stage& s) { s.context_exchange = plan::ContextExchange::all_gather; }));
  CHECK(is_new([](plan::Stage& s) { s.expert_parallel = 2; }));
  CHECK(is_new([](plan::Stage& s) { s.imbalance = 1.5; }));
  CHECK(is_new([](plan::Stage& s) { s.part = {0, 4}; }));
  CHECK(is_new([](plan::Stage& s) { s.part = {2, 4}; }));
  CHECK_FALSE(is_new([](plan::Stage& s) { s.in_flight = 8; }));
  CHECK_FALSE(is_new([](plan::Stage& s) { s.k = 2; }));
  CHECK_FALSE(is_new([](plan::Stage& s) { s.after = {core::StageId(0)}; }));
  // Numbers behind sets are no further set.
  using Sets = std::vector<std::vector<core::OpId>>;
  CHECK(cost::StageKey("answer", one_stage()).add(Sets{{core::OpId(1)}}).add(1).add(5).add(9).bytes() !=
        cost::StageKey("answer", one_stage()).add(Sets{{core::OpId(1)}, {core::OpId(5)}}).add(9).bytes());
  CHECK(cost::StageKey("one", one_stage()).bytes() != cost::StageKey("other", one_stage()).bytes());
}
