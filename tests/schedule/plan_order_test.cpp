#include "penstock/schedule/plan_order.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

plan::Plan one_stage(std::int64_t mini_batch, std::int64_t micro_batch, std::int64_t in_flight, int k) {
  plan::Plan p;
  p.training.mini_batch = mini_batch;
  p.stages.push_back({{core::OpId(0)}, {core::DeviceId(0)}, micro_batch, k, in_flight, {}});
  return p;
}

/// One sample per micro-batch, one operator per stage; `replicas` devices per entry of `ranks`, the rank of
/// each stage.
plan::Plan chain(const std::vector<int>& ranks, std::int64_t mini_batch, const std::string& schedule,
                 std::size_t replicas = 1) {
  plan::Plan p;
  p.schedule = schedule;
  p.training.mini_batch = mini_batch;
  for (std::size_t s = 0; s < ranks.size(); ++s) {
    p.stages.push_back(
        {{core::OpId(s)}, {}, schedule == "pipedream" ? 1 : static_cast<std::int64_t>(replicas), 1, 0, {}});
    for (std::size_t r = 0; r < replicas; ++r)
      p.stages.back().devices.emplace_back(static_cast<std::size_t>(ranks[s]) * replicas + r);
  }
  return p;
}

plan::Plan derived(plan::Plan p) {
  std::vector<std::pair<int, int>> edges;
  for (int s = 0; s + 1 < static_cast<int>(p.stages.size()); ++s) edges.emplace_back(s, s + 1);
  schedule::derive_in_flight(p, plan::StageGraph(support::tiny_graph(p.stages.size(), edges), p));
  return p;
}

std::string row(const plan::Plan& p, std::size_t rank = 0) {
  std::string out;
  const auto order = schedule::plan_order(p);
  for (const auto& action : order.ranks[rank]) out += (out.empty() ? "" : " ") + token(action);
  return out;
}

std::string message(const plan::Plan& p) {
  try {
    schedule::plan_order(p);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("1F1B warms up to the in-flight count, then alternates") {
  CHECK(row(one_stage(4, 1, 1, 1)) == "0F0 0B0 0F1 0B1 0F2 0B2 0F3 0B3 0STEP");
  CHECK(row(one_stage(8, 2, 6, 1)) == "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3 0STEP");
  // More in flight than there are micro-batches: fill and drain.
  CHECK(row(one_stage(2, 1, 5, 1)) == "0F0 0F1 0B0 0B1 0STEP");
}

TEST_CASE("2F2B runs backwards and forwards in pairs") {
  CHECK(row(one_stage(6, 1, 4, 2)) == "0F0 0F1 0F2 0F3 0B0 0B1 0F4 0F5 0B2 0B3 0B4 0B5 0STEP");
}

TEST_CASE("no run exceeds what may be in flight") {
  CHECK(row(one_stage(4, 1, 2, 4)) == "0F0 0F1 0B0 0B1 0F2 0F3 0B2 0B3 0STEP");
  CHECK(row(one_stage(3, 1, 1, 2)) == "0F0 0B0 0F1 0B1 0F2 0B2 0STEP");
}

TEST_CASE("fill-drain runs all forwards first") {
  auto p = one_stage(3, 1, 3, 1);
  p.schedule = "gpipe";
  CHECK(row(p) == "0F0 0F1 0F2 0B0 0B1 0B2 0STEP");
}

TEST_CASE("replicas reduce their gradients before the step") {
  CHECK(row(derived(chain({0}, 4, "1f1b", 2))) == "0F0 0B0 0F1 0B1 0REDUCE_GRAD 0STEP");
}

TEST_CASE("a family of schedules gives its rows to stages that share devices") {
  // Two ranks, two chunks each, two micro-batches: Megatron-LM's interleaving starts with both chunks'
  // forwards. Each stage steps once the device has computed everything.
  const auto p = derived(chain({0, 1, 0, 1}, 2, "interleaved_1f1b"));
  CHECK(row(p) == "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1 0STEP 2STEP");
  CHECK(p.stages[0].in_flight == 2);
  // A V of four stages on two ranks.
  CHECK(row(derived(chain({0, 1, 1, 0}, 4, "zbv"))).starts_with("0F0 0F1 0F2"));
}

TEST_CASE("a plan that a family does not support is refused with the reason") {
  CHECK(message(chain({0, 1, 0, 1}, 4, "zbv")) ==
        "zbv runs stage 2 on the devices of rank 1, the plan on those of rank 0");
  CHECK(message(chain({0, 1, 0, 1}, 4, "1f1b")) ==
        "1f1b runs one stage on a device; stage 2 shares its devices with another");
  CHECK(message(chain({0, 1, 2, 3}, 8, "dualpipe")) ==
        "dualpipe holds several copies of the model, a plan has one");
  CHECK(message(chain({0, 1}, 4, "zbw")).starts_with("unknown schedule 'zbw'"));
  CHECK(message(chain({0, 1, 2, 3}, 8, "bpipe")) ==
        "bpipe parks activations on other devices, a plan keeps them on its own");
  auto runs = chain({0, 1}, 4, "zb_h1");
  runs.stages[1].k = 2;
  CHECK(message(runs) == "zb_h1 runs passes in an order of its own; k of a stage must be 1");
  auto uneven = chain({0, 1}, 4, "zb_h1");
  uneven.stages[1].micro_batch = 2;
  CHECK(message(uneven) == "zb_h1 needs the same micro-batch size in all stages");
}

TEST_CASE("ranks run all of a colocated stage before and behind their pipeline, whatever its order is") {
  // Operator 0 on both ranks, 1 and 2 a stage of each; two micro-batches of two samples before four of one.
  plan::Plan p = chain({0, 1, 0}, 4, "1f1b");
  for (plan::Stage& stage : p.stages) stage.operators[0] = core::OpId(stage.operators[0].index() + 1);
  p.stages.pop_back();
  plan::Stage whole{{core::OpId(0)}, {core::DeviceId(1), core::DeviceId(0)}, 2, 1, 0, {}};
  whole.recompute = plan::kRecomputeStage;
  const auto parts = plan::parts_of(whole, p.stages);
  p.stages.insert(p.stages.begin(), parts.begin(), parts.end());
  p = derived(p);
  CHECK(p.stages[0].in_flight == 4);
  CHECK(p.stages[2].in_flight == 2);
  // The parts' devices come first, so that the rank of the last stage is the first.
  CHECK(row(p, 0) == "0F0 0F1 3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 0R0 0B0 0R1 0B1 0REDUCE_GRAD 0STEP 3STEP");
  CHECK(row(p, 1) == "1F0 1F1 2F0 2F1 2B0 2F2 2B1 2F3 2B2 2B3 1R0 1B0 1R1 1B1 1REDUCE_GRAD 1STEP 2STEP");
  p.schedule = "zb_h1";
  CHECK(row(p, 0).starts_with("0F0 0F1 3F0 3I0 "));
}

TEST_CASE("parts of a model beside others hold the mini-batch; counts by an order are samples") {
  // Operator 0 on both ranks, in front of 1 and 2 on one each: all eight micro-batches before the pipeline.
  plan::Plan p = chain({0, 1, 0}, 8, "1f1b");
  for (plan::Stage& stage : p.stages) stage.operators[0] = core::OpId(stage.operators[0].index() + 1);
  p.stages.pop_back();
  const auto parts =
      plan::parts_of({{core::OpId(0)}, {core::DeviceId(1), core::DeviceId(0)}, 2, 1, 0, {}}, p.stages);
  p.stages.insert(p.stages.begin(), parts.begin(), parts.end());
  p = derived(p);
  CHECK(p.stages[0].in_flight == 8);
  CHECK(p.stages[1].in_flight == 8);
  CHECK(p.stages[2].in_flight == 2);
  // ZB-H1 on two ranks holds two micro-batches on each, of three samples.
  plan::Plan pairs = chain({0, 1}, 12, "zb_h1");
  for (plan::Stage& stage : pairs.stages) stage.micro_batch = 3;
  pairs = derived(pairs);
  CHECK(pairs.stages[0].in_flight == 6);
  CHECK(pairs.stages[1].in_flight == 6);
}

TEST_CASE("a stage behind the pipeline runs within its rows, a micro-batch ahead where it can") {
  // Operators 0 and 1 on a rank each, 2 on both; micro-batches of one sample.
  const auto with_tail = [](const char* schedule, std::int64_t micro_batch, std::vector<int> ranks = {0, 1}) {
    plan::Plan p = chain(ranks, 4, schedule);
    plan::Stage whole{
        {core::OpId(ranks.size())}, {core::DeviceId(0), core::DeviceId(1)}, micro_batch, 1, 0, {}};
    const auto parts = plan::parts_of(whole, p.stages);
    p.stages.insert(p.stages.end(), parts.begin(), parts.end());
    std::vector<std::pair<int, int>> edges;
    for (int s = 0; s < static_cast<int>(ranks.size()); ++s) edges.emplace_back(s, s + 1);
    schedule::derive_in_flight(p, plan::StageGraph(support::tiny_graph(ranks.size() + 1, edges), p));
    CHECK(schedule::order_violations(p, schedule::plan_order(p)) == std::vector<std::string>{});
    return p;
  };
  const auto p = with_tail("1f1b", 1);
  CHECK(p.stages[0].in_flight == 3);
  CHECK(p.stages[1].in_flight == 2);
  CHECK(p.stages[2].in_flight == 1);
  CHECK(row(p, 0) ==
        "0F0 0F1 0F2 2F0 2B0 2F1 2B1 0B0 0F3 2F2 2B2 0B1 2F3 2B3 2REDUCE_GRAD 0B2 0B3 0STEP 2STEP");
  CHECK(row(p, 1) ==
        "1F0 1F1 3F0 3B0 3F1 3B1 1B0 1F2 3F2 3B2 1B1 1F3 3F3 3B3 3REDUCE_GRAD 1B2 1B3 1STEP 3STEP");
  CHECK(row(with_tail("gpipe", 1), 1) ==
        "1F0 1F1 1F2 1F3 3F0 3B0 3F1 3B1 1B0 3F2 3B2 1B1 3F3 3B3 3REDUCE_GRAD 1B2 1B3 1STEP 3STEP");
  // Two samples at a time, which the pipeline hands over one by one. With three in flight the second two are
  // not there before the first backward pass.
  plan::Plan pairs = with_tail("1f1b", 2);
  CHECK(pairs.stages[1].in_flight == 4);
  pairs.stages[1].in_flight = 3;
  CHECK(row(pairs, 1) == "1F0 1F1 1F2 3F0 3B0 1B0 1F3 3F1 3B1 3REDUCE_GRAD 1B1 1B2 1B3 1STEP 3STEP");
  pairs.stages[1].in_flight = 1;
  CHECK(
      message(pairs) ==
      "stage 3 takes 2 samples at a time, and the pipeline that it is behind goes back before it has run so "
      "many forward: 1f1b holds fewer");
  // With halves of backward passes, and two stages on a rank.
  CHECK(row(with_tail("zb_h1", 1), 1).starts_with("1F0 3F0 3B0 1I0 "));
  CHECK(row(with_tail("zbv", 1, {0, 1, 1, 0}), 0).find("3F0 4F0 4B0 3I0") != std::string::npos);
}

TEST_CASE("stages behind the pipeline run in turn, the last one's backward pass first") {
  plan::Plan p = chain({0, 1}, 2, "gpipe");
  for (const std::size_t op : {2, 3})
    for (const plan::Stage& part :
         plan::parts_of({{core::OpId(op)}, {core::DeviceId(0), core::DeviceId(1)}, 2, 1, 0, {}}, p.stages))
      p.stages.push_back(part);
  p = derived(p);
  CHECK(row(p, 0) == "0F0 0F1 2F0 4F0 4B0 4REDUCE_GRAD 2B0 2REDUCE_GRAD 0B0 0B1 0STEP 2STEP 4STEP");
}

TEST_CASE("without a flush mini-batches follow each other") {
  // Two stages on a device each, two micro-batches: the first holds two, and steps right after each
  // mini-batch.
  const auto p = derived(chain({0, 1}, 2, "pipedream"));
  CHECK(schedule::mini_batches(p) == 21);  // one more than the steady part: what the first stage holds
  CHECK(schedule::steady_part(p).begin == 10);
  CHECK(schedule::steady_part(p).end == 20);
  CHECK(row(p).starts_with("0F0 0F1 0B0 0F2 0B1 0STEP 0F3 0B2 0F4 0B3 0STEP"));
  CHECK(schedule::order_violations(p, schedule::plan_order(p)).empty());
  // On two replicas each runs every other micro-batch; the reduction hides behind one mini-batch.
  const auto twins = derived(chain({0}, 4, "pipedream", 2));
  CHECK(row(twins).starts_with("0F0 0B0 0F1 0B1 0REDUCE_GRAD 0F2 0B2 0F3 0B3 0REDUCE_GRAD 0STEP 0F4"));
}

TEST_CASE("a stage that recomputes runs its forward again before each backward pass") {
  auto p = one_stage(2, 1, 2, 1);
  p.stages[0].recompute = plan::kRecomputeStage;
  CHECK(row(p) == "0F0 0F1 0R0 0B0 0R1 0B1 0STEP");
  auto split = derived(chain({0, 1}, 2, "zb_h1"));
  split.stages[1].recompute = plan::kRecomputeStage;
  CHECK(row(split, 1) == "1F0 1R0 1I0 1F1 1R1 1I1 1W0 1W1 1STEP");
}

TEST_CASE("in an order by in-flight counts no more than one micro-batch is recomputed at a time") {
  // score::stage_memories takes it for granted.
  for (const char* name : {"gpipe", "1f1b", "pipedream", "pipedream_2bw"})
    for (const int k : {1, 2, 4}) {
      CAPTURE(name);
      CAPTURE(k);
      plan::Plan p = chain({0, 1, 2, 3}, 8, name);
      for (auto& stage : p.stages)
        stage.recompute = plan::kRecomputeStage, stage.k = p.schedule == "1f1b" ? k : 1;
      p = derived(p);
      REQUIRE(schedule::per_stage(p));
      CHECK(schedule::most_recomputed(schedule::plan_order(p)) == std::vector<std::int32_t>(4, 1));
    }
}

TEST_CASE("weights held beside the current ones: none with a flush, otherwise by the policy") {
  CHECK(schedule::weight_copies(derived(chain({0, 1, 2}, 3, "1f1b"))) == std::vector{0, 0, 0});
  // PipeDream with an update per micro-batch: p - r versions. 2BW: two. PipeMare and XPipe: one more buffer.
  CHECK(schedule::weight_copies(derived(chain({0, 1, 2}, 1, "pipedream"))) == std::vector{2, 1, 0});
  CHECK(schedule::weight_copies(derived(chain({0, 1, 2}, 3, "pipedream_2bw"))) == std::vector{1, 1, 1});
  CHECK(schedule::weight_copies(derived(chain({0, 1, 2}, 1, "pipemare"))) == std::vector{1, 1, 1});
  CHECK(schedule::weight_copies(derived(chain({0, 1, 2}, 1, "xpipe"))) == std::vector{1, 1, 1});
  // Three micro-batches per update: the first stage's in-flight three meet at most one update.
  CHECK(schedule::weight_copies(derived(chain({0, 1, 2}, 3, "pipedream"))) == std::vector{1, 1, 0});
}

TEST_CASE("order faults are found") {
  const auto p = one_stage(2, 1, 1, 1);
  const auto f0 = schedule::forward(0, 0), f1 = schedule::forward(0, 1), b0 = schedule::backward(0, 0),
             b1 = schedule::backward(0, 1);
  const auto faulty = [&](const schedule::RankOrder& order) {
    return !schedule::order_violations(p, schedule::Schedule{{order}, {0}}).empty();
  };
  CHECK(!faulty({f0, b0, f1, b1}));
  CHECK(faulty({f0, f1, b0, b1}));  // two in flight, one allowed
  CHECK(faulty({b0, f0, f1, b1}));
  CHECK(faulty({f0, b0, f1}));
  CHECK(faulty({f0, b0, f1, b1, f1}));
  CHECK(!faulty({f1, b1, f0, b0}));
}
