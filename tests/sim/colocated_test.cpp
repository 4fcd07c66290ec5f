// Plans with colocated stages: by hand, and at random against the verifier and the bounds.

#include "penstock/plan/colocated.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/core/random.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/judged_plan.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::Picoseconds;
using core::Random;
using core::StageId;
using support::FlopCosts;
using support::stage_of;
using trace::TaskKind;

namespace {

/// a, with 1 kB of weights, -> b -> c
graph::OpGraph weighted_chain() {
  graph::GraphBuilder builder("chain");
  builder.add(support::unit_op("a", 1e9, 250));
  builder.add(support::unit_op("b"));
  builder.add(support::unit_op("c"));
  builder.add_edge(OpId(0), OpId(1));
  builder.add_edge(OpId(1), OpId(2));
  return builder.build();
}

/// Puts `whole` before the others, on the devices of the ranks that are named.
void colocate(plan::Plan& plan, plan::Stage whole, const std::vector<std::size_t>& ranks) {
  whole.devices.clear();
  for (const std::size_t r : ranks) {
    const auto& devices = plan.stages[r].devices;
    whole.devices.insert(whole.devices.end(), devices.begin(), devices.end());
  }
  const auto parts = plan::parts_of(whole, plan.stages);
  plan.stages.insert(plan.stages.begin(), parts.begin(), parts.end());
}

/// a on both devices, a sample of every two on each; b on the first, c on the second.
plan::Plan two_devices() {
  plan::Plan plan;
  plan.training.mini_batch = 4;
  plan.stages = {stage_of(1, 2, 1, 1), stage_of(2, 3, 1, 1)};
  plan.stages[1].devices = {DeviceId(1)};
  colocate(plan, stage_of(0, 1, 0, 2), {0, 1});
  return plan;
}

graph::OpGraph small_vlm() {
  return models::build("vlm", {{"resolution", "8"},
                               {"patch", "4"},
                               {"vision_layers", "2"},
                               {"vision_hidden", "16"},
                               {"vision_heads", "4"},
                               {"text", "4"},
                               {"vocabulary", "32"},
                               {"layers", "3"},
                               {"hidden", "16"},
                               {"heads", "4"},
                               {"kv_heads", "4"},
                               {"feed_forward", "32"}});
}

std::vector<OpId> operators(const graph::OpGraph& graph, bool vision) {
  std::vector<OpId> out;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).name.starts_with("vision") == vision) out.emplace_back(v);
  return out;
}

template <class T>
std::vector<T> slice(const std::vector<T>& all, std::size_t i, std::size_t of) {
  return {all.begin() + static_cast<std::ptrdiff_t>(all.size() * i / of),
          all.begin() + static_cast<std::ptrdiff_t>(all.size() * (i + 1) / of)};
}

/// Puts `whole` behind the others, on the devices of the first ranks.
void colocate_behind(plan::Plan& plan, plan::Stage whole, std::size_t ranks) {
  whole.devices.clear();
  const auto first = static_cast<std::size_t>(
      std::ranges::find_if(plan.stages, [](const auto& stage) { return !stage.part; }) - plan.stages.begin());
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto& devices = plan.stages[first + r].devices;
    whole.devices.insert(whole.devices.end(), devices.begin(), devices.end());
  }
  const auto parts = plan::parts_of(whole, plan.stages);
  plan.stages.insert(plan.stages.end(), parts.begin(), parts.end());
}

/// A language model of one to three ranks, one of which may have two stages. Its encoder is one or two
/// colocated stages on some or all of these, and its last operators are up to two behind the pipeline.
plan::Plan random_plan(const graph::OpGraph& graph, Random& random, std::size_t& devices) {
  plan::Plan out;
  out.training.mini_batch = 16;
  if (random.chance(0.5)) out.training.bucket = core::Bytes(random.between(1, 20'000));
  const auto ranks = static_cast<std::size_t>(random.between(1, 3));
  const std::size_t chunks = ranks < 3 && random.chance(0.3) ? 2 : 1;
  const char* const schedules[] = {"1f1b", "gpipe", "zb_h1"};
  out.schedule = chunks == 2 ? "interleaved_1f1b" : schedules[random.between(0, 2)];
  const int tensor = 1 << random.between(0, 1), replicas = 1 << random.between(0, 1);
  const std::int64_t micro_batch = replicas * random.between(1, 2);
  const auto decoder = operators(graph, false), encoder = operators(graph, true);
  // A replica takes a sample at least, and most schedules hold no more than a micro-batch for sure.
  const std::int64_t most = static_cast<std::int64_t>(ranks) * tensor * replicas;
  const bool any = out.schedule == "1f1b" || out.schedule == "gpipe";
  const std::int64_t behind = any ? (most <= 8 && random.chance(0.5) ? 8 : 16) : micro_batch;
  const auto tails = static_cast<std::size_t>(behind < most ? 0 : random.between(0, 2));
  devices = 0;
  for (std::size_t s = 0; s < ranks * chunks; ++s) {
    plan::Stage stage;
    stage.operators = slice(decoder, s, ranks * chunks + tails);
    if (s >= ranks) stage.devices = out.stages[s - ranks].devices;
    for (int d = 0; s < ranks && d < tensor * replicas; ++d) stage.devices.emplace_back(devices++);
    stage.tensor_parallel = tensor;
    stage.micro_batch = micro_batch;
    out.stages.push_back(stage);
  }
  std::vector<std::size_t> hosts;
  for (std::size_t r = 0; r < ranks; ++r)
    if (r == 0 || random.chance(0.8)) hosts.insert(random.chance(0.5) ? hosts.begin() : hosts.end(), r);
  for (std::size_t stages = random.chance(0.3) ? 2 : 1, s = stages; s-- > 0;) {
    plan::Stage stage;
    stage.operators = slice(encoder, s, stages);
    stage.tensor_parallel = tensor * replicas > 1 ? 1 << random.between(0, 1) : 1;
    stage.micro_batch = random.chance(0.5) ? 16 : 12 + 4 * random.between(0, 1);
    if (16 % stage.micro_batch != 0) stage.micro_batch = 16;
    stage.zero = random.between(0, 1);
    if (random.chance(0.3)) stage.recompute = plan::kRecomputeStage;
    std::vector<std::size_t> shifted;
    const auto front = static_cast<std::size_t>(
        std::ranges::count_if(out.stages, [](const auto& other) { return bool(other.part); }));
    for (const std::size_t r : hosts) shifted.push_back(front + r);
    colocate(out, stage, shifted);
  }
  for (std::size_t t = 0; t < tails; ++t) {
    plan::Stage stage;
    stage.operators = slice(decoder, ranks * chunks + t, ranks * chunks + tails);
    stage.tensor_parallel = tensor * replicas > 1 ? 1 << random.between(0, 1) : 1;
    stage.micro_batch = behind;
    stage.zero = random.between(0, 1);
    colocate_behind(out, stage, random.chance(0.5) ? ranks : 1);
  }
  return out;
}

}  // namespace

TEST_CASE("all forwards of a colocated stage, the pipeline, all its backwards, one sum: by hand") {
  // A forward takes 1 s, a backward 2 s; a message of a sample takes d = 1 us, and so does the sum of 1 kB.
  // a runs samples 0 and 2 on device 0, 1 and 3 on device 1, until 2 s. Then 1F1B of b and c over four
  // micro-batches: the last backward of c ends at 15 s + 3 d, that of b at 17 s + 4 d. Device 0 then runs
  // both backwards of a until 21 s + 4 d, device 1 its second one, whose gradient comes last, until 19 s + 5
  // d.
  const auto g = weighted_chain();
  const auto cluster = support::tiny_cluster(2);
  const FlopCosts costs;
  plan::Plan plan = two_devices();
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  REQUIRE(score::violations(problem, plan) == std::vector<std::string>{});
  const auto scheduled = score::scheduled(problem, plan);
  const auto trace = sim::simulate(problem, scheduled);

  const double d = 1e-6,
               step = costs.step_time(core::Bytes(1000), plan.training, cluster.type(DeviceId(0))).value();
  CHECK(to_seconds(trace.iteration).value() == support::near(21 + 5 * d + step, 1e-12));
  for (const auto& span : trace.spans) {
    if (span.kind == TaskKind::backward && span.stage == StageId(1) && span.micro_batch == 1)
      CHECK(to_seconds(span.start).value() == support::near(17 + 5 * d, 1e-12));
    if (span.kind == TaskKind::all_reduce) {
      CHECK(span.shared);
      CHECK(span.bytes == core::Bytes(1000));
      CHECK(to_seconds(span.start).value() == support::near(21 + 4 * d, 1e-12));
      CHECK(to_seconds(span.end - span.start).value() == support::near(d, 1e-12));
    }
  }
  // Both of a device's samples, 1 kB each, are held from the forwards until the backwards.
  const auto& memory = trace.devices[1].memory;
  CHECK(std::ranges::any_of(memory, [](const auto& p) {
    return p.time >= Picoseconds(2'000'000'000'000) && p.activations == core::Bytes(2000);
  }));
  CHECK(check::trace_violations(problem, scheduled, trace) == std::vector<std::string>{});
  // On paper: what a takes on either device, 2 x 3 s, beside the pipeline.
  const auto pipeline = score::estimate(problem, plan::PipelineOf(plan).plan).iteration;
  CHECK(score::estimate(problem, plan).iteration.value() == support::near(pipeline.value() + 6, 1e-4));
}

TEST_CASE("a stage behind the pipeline, whose sum travels while the pipeline goes back: by hand") {
  // a on device 0 and b on device 1 side by side, c of both behind them, a sample each of every two; one
  // micro-batch of all. A forward takes 1 s a sample, a backward 2 s; a message of a sample takes 1 us, the
  // sum of c's 4 GB 4 s.
  graph::GraphBuilder builder("join");
  builder.add(support::unit_op("a"));
  builder.add(support::unit_op("b"));
  builder.add(support::unit_op("c", 1e9, 1'000'000'000));
  builder.add_edge(OpId(0), OpId(2));
  builder.add_edge(OpId(1), OpId(2));
  const auto g = builder.build();
  const auto cluster = support::tiny_cluster(2);
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.schedule = "gpipe";
  plan.stages = {stage_of(0, 1, 1, 2), stage_of(1, 2, 1, 2)};
  plan.stages[1].devices = {DeviceId(1)};
  colocate_behind(plan, stage_of(2, 3, 0, 2), 2);
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  REQUIRE(score::violations(problem, plan) == std::vector<std::string>{});
  const auto scheduled = score::scheduled(problem, plan);
  const auto trace = sim::simulate(problem, scheduled);
  CHECK(check::trace_violations(problem, scheduled, trace) == std::vector<std::string>{});
  // Forwards until 2 s, then 1 us for the other's sample; c until 5 s, 1 us back; a and b until 9 s.
  const double d = 1e-6,
               step = costs.step_time(core::Bytes(4'000'000'000), plan.training, cluster.type(DeviceId(0)))
                          .value();
  CHECK(to_seconds(trace.iteration).value() == support::near(9 + 2 * d + step, 1e-9));
  for (const auto& span : trace.spans)
    if (span.kind == TaskKind::all_reduce) {
      CHECK(span.shared);
      CHECK(to_seconds(span.start).value() == support::near(5 + d, 1e-9));
      CHECK(to_seconds(span.end).value() == support::near(9 + d, 1e-9));
    }
}

TEST_CASE("on one rank, with degrees of its own, a colocated stage sums its gradients as any other does") {
  const auto g = small_vlm();
  plan::Plan plan;
  plan.training.mini_batch = 8;
  plan.stages = {stage_of(0, 1, 4, 4)};
  plan.stages[0].operators = operators(g, false);
  plan.stages[0].tensor_parallel = 2;
  plan::Stage encoder;
  encoder.operators = operators(g, true);
  encoder.micro_batch = 8;
  colocate(plan, encoder, {0});
  const auto cluster = support::tiny_cluster(4);
  const FlopCosts costs;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  REQUIRE(score::violations(problem, plan) == std::vector<std::string>{});
  const auto scheduled = score::scheduled(problem, plan);
  const auto trace = sim::simulate(problem, scheduled);
  CHECK(std::ranges::none_of(trace.spans, &trace::Span::shared));
  CHECK(check::trace_violations(problem, scheduled, trace) == std::vector<std::string>{});
  // Devices 0 and 1 run a replica of the encoder each, and one of the decoder together.
  Picoseconds ends, begins(INT64_MAX);
  for (const auto& span : trace.spans) {
    if (span.device.index() > 1) continue;
    if (span.kind == TaskKind::forward && span.stage == StageId(0)) ends = std::max(ends, span.end);
    if (span.kind == TaskKind::forward && span.stage == StageId(1)) begins = std::min(begins, span.start);
  }
  CHECK(begins >= ends);
}

TEST_CASE("no copy of a colocated plan represents all") {
  // Two replicas on each of two ranks; the encoder's first two are on the second rank, so that samples go
  // from any copy to any other.
  const auto g = small_vlm();
  plan::Plan plan;
  plan.training.mini_batch = 8;
  const auto decoder = operators(g, false);
  for (std::size_t s = 0; s < 2; ++s) {
    plan.stages.push_back(stage_of(0, 1, 0, 4));
    plan.stages[s].operators = slice(decoder, s, 2);
    plan.stages[s].devices = {DeviceId(2 * s), DeviceId(2 * s + 1)};
  }
  plan::Stage encoder;
  encoder.operators = operators(g, true);
  encoder.micro_batch = 4;
  colocate(plan, encoder, {1, 0});
  const auto cluster = support::tiny_cluster(4, std::int64_t{1} << 40, 1e3);  // slow cables
  const FlopCosts costs;
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  REQUIRE(score::violations(problem, plan) == std::vector<std::string>{});
  const auto scheduled = score::scheduled(problem, plan);
  CHECK(sim::simulate_time(problem, scheduled) == sim::simulate(problem, scheduled).iteration);
}

TEST_CASE("random colocated plans: no violation, and nothing below a bound") {
  const auto g = small_vlm();
  int spanning = 0, unlike = 0, behind = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::size_t devices = 0;
    const plan::Plan plan = random_plan(g, random, devices);
    spanning += std::ranges::any_of(plan.stages, &plan::Stage::spans_ranks);
    behind += plan::behind_pipeline(plan) < plan.stages.size() && plan.stages.back().spans_ranks();
    unlike += plan.stages.front().tensor_parallel != plan.stages.back().tensor_parallel;
    support::judge_somewhere(g, plan, devices, random);
  }
  CHECK(spanning > 50);
  CHECK(behind > 15);
  CHECK(unlike > 40);
}

TEST_CASE("the verifier reports samples that no part computes, and an update before the sum") {
  const auto g = weighted_chain();
  const auto cluster = support::tiny_cluster(2);
  const FlopCosts costs;
  plan::Plan plan = two_devices();
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const auto scheduled = score::scheduled(problem, plan);
  auto trace = sim::simulate(problem, scheduled);
  const auto told = [](const std::vector<std::string>& found, const char* words) {
    return std::ranges::any_of(found, [&](const auto& v) { return v.find(words) != std::string::npos; });
  };
  for (auto& span : trace.spans)
    if (span.kind == TaskKind::step && span.device == DeviceId(1))
      span.start -= Picoseconds(1'500'000'000'000), span.end -= Picoseconds(1'500'000'000'000);
  const auto early = check::trace_violations(problem, scheduled, trace);
  CHECK(told(early, "updates stage 1 before what it shares is summed"));
  CHECK(told(early, "updates stage 1 before all that have its weights are done"));

  // Two parts that both believe to be the first compute samples 0 and 2 twice, and the others never.
  plan::Plan twice = plan;
  twice.stages[1].part.before = 0;
  const auto found = check::trace_violations(problem, {g, twice}, sim::simulate(problem, {g, twice}));
  CHECK(told(found, "run the same operators"));
}

TEST_CASE("the verifier reports a sum after the pipeline that does not come first") {
  // a on two devices, b on two others, c on all four.
  graph::GraphBuilder builder("join");
  for (const char* name : {"a", "b", "c"}) builder.add(support::unit_op(name, 1e9, 250));
  builder.add_edge(OpId(0), OpId(2));
  builder.add_edge(OpId(1), OpId(2));
  const auto g = builder.build();
  const auto cluster = support::tiny_cluster(4);
  const FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 4;
  plan.stages = {stage_of(0, 1, 2, 4), stage_of(1, 2, 2, 4)};
  plan.stages[1].devices = {DeviceId(2), DeviceId(3)};
  colocate_behind(plan, stage_of(2, 3, 0, 4), 2);
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const auto scheduled = score::scheduled(problem, plan);
  auto trace = sim::simulate(problem, scheduled);
  CHECK(check::trace_violations(problem, scheduled, trace) == std::vector<std::string>{});
  Picoseconds pipeline;
  for (const auto& span : trace.spans)
    if (span.kind == TaskKind::all_reduce && !span.shared) pipeline = span.start;
  for (auto& span : trace.spans)
    if (span.shared) span.end = pipeline + (span.end - span.start), span.start = pipeline;
  const auto found = check::trace_violations(problem, scheduled, trace);
  CHECK(std::ranges::any_of(found, [](const auto& v) {
    return v.find("reduces stage 0 before the sum of stage 2, which comes first") != std::string::npos;
  }));
}
