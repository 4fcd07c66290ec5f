// Stages that share parameters sum their gradients before they update them.

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "replay/shared_model.hpp"

using namespace penstock;
using core::Picoseconds;
using replay::test::CutModel;
using replay::test::shared_chain;
using replay::test::shared_model;
using sim::ReductionMethod;
using trace::Span;
using trace::TaskKind;

namespace {

trace::Trace simulated(const CutModel& model, const sim::SimulationOptions& options = {}) {
  return sim::simulate(model.problem(), {model.problem().graph, model.plan}, options);
}

std::vector<std::string> violations(const CutModel& model, const trace::Trace& trace,
                                    const sim::SimulationOptions& options = {}) {
  return check::trace_violations(model.problem(), {model.problem().graph, model.plan}, trace, options);
}

std::vector<Span*> shared(trace::Trace& trace) {
  std::vector<Span*> out;
  for (Span& span : trace.spans)
    if (span.shared) out.push_back(&span);
  return out;
}

}  // namespace

TEST_CASE("the sum starts with the last gradient and holds up both updates") {
  // Two micro-batches of two samples, whose messages of 64 bytes share a cable of 1 kB/s: 128 ms, twice there
  // and twice back. Then a ring of devices 0 and 2: 80 bytes.
  const CutModel chain = shared_chain({1, 1, 1});
  trace::Trace trace = simulated(chain);
  const auto sums = shared(trace);
  REQUIRE(sums.size() == 2);
  for (const Span* span : sums) {
    CHECK(span->stage == core::StageId(0));
    CHECK(span->bytes == core::Bytes(80));
    CHECK(span->start == Picoseconds(4 * 128'000'000'000));
    CHECK(span->end - span->start == Picoseconds(80'000'000'000));
  }
  CHECK(sums[0]->device == core::DeviceId(0));
  CHECK(sums[1]->device == core::DeviceId(2));
  for (const Span& span : trace.spans)
    if (span.kind == TaskKind::step) CHECK((span.start == sums[0]->end) == (span.stage != core::StageId(1)));
  CHECK(violations(chain, trace) == std::vector<std::string>{});
}

TEST_CASE("a stage whose only weights are a copy updates it") {
  const trace::Trace trace = simulated(shared_chain({1, 1, 1}));
  CHECK(std::ranges::count(trace.spans, TaskKind::step, &Span::kind) == 3);
}

TEST_CASE("the judge accepts sums among stages of every kind of plan and collective") {
  struct SharedCase {
    std::string schedule;
    std::vector<std::int32_t> rank;
    std::vector<std::size_t> replicas;
  };
  const std::vector<SharedCase> plans = {{"1f1b", {0, 1, 2}, {2, 1, 3}},
                                         {"gpipe", {0, 1}, {1, 3}},
                                         {"zb_h1", {0, 1, 2}, {2, 2, 2}},
                                         {"interleaved_1f1b", {0, 1, 0, 1}, {2, 1}},
                                         {"zbv", {0, 1, 1, 0}, {2, 2}}};
  for (const char* model : {"gpt", "encoder_decoder"})
    for (const SharedCase& given : plans)
      for (const auto collective :
           {sim::collective("closed_form"), sim::collective("automatic"), sim::collective("ring"),
            sim::collective("tree"), sim::collective("halving_doubling")})
        for (const std::int64_t bucket : {0, 300}) {
          CutModel cut = shared_model(model,
                                      {.schedule = given.schedule,
                                       .rank = given.rank,
                                       .mini_batch = 24,
                                       .micro_batch = 6,
                                       .sequential = true},
                                      given.replicas);
          CAPTURE(model);
          CAPTURE(given.schedule);
          CAPTURE(sim::name(collective));
          sim::SimulationOptions options;
          options.collective = collective;
          cut.plan.training.bucket = core::Bytes(bucket);
          trace::Trace trace = simulated(cut, options);
          CHECK(!shared(trace).empty());
          CHECK(violations(cut, trace, options) == std::vector<std::string>{});
        }
}

TEST_CASE("a device that computes during a sum of shared parameters is slowed down") {
  // On interleaved stages, other chunks of a rank may still be at work.
  CutModel cut = shared_model("encoder_decoder",
                              {.schedule = "interleaved_1f1b",
                               .rank = {0, 1, 0, 1},
                               .mini_batch = 24,
                               .micro_batch = 6,
                               .sequential = true},
                              {2, 3});
  const trace::Trace before = simulated(cut);
  auto types = cut.cluster.types();
  types[0].overlap_slowdown = 2;
  cut.cluster = cluster::Cluster("slow", types, cut.cluster.devices(), 1, cut.cluster.links());
  const trace::Trace trace = simulated(cut);
  CHECK(trace.iteration > before.iteration);
  CHECK(violations(cut, trace) == std::vector<std::string>{});
}

TEST_CASE("the judge finds a sum that is early, late, missing, or not due") {
  const CutModel chain = shared_chain({1, 1, 2});
  for (const auto collective : {sim::collective("closed_form"), sim::collective("ring")}) {
    sim::SimulationOptions options;
    options.collective = collective;
    const auto planted = [&](auto&& change) {
      trace::Trace trace = simulated(chain, options);
      change(trace);
      return violations(chain, trace, options).size();
    };
    CHECK(planted([](trace::Trace&) {}) == 0);
    CHECK(planted([](trace::Trace& trace) {
            for (Span* span : shared(trace)) span->start -= Picoseconds(1000), span->end -= Picoseconds(1000);
          }) > 0);
    CHECK(planted([](trace::Trace& trace) {
            for (Span* span : shared(trace)) span->end += Picoseconds(1000);
          }) > 0);
    CHECK(planted([](trace::Trace& trace) { std::erase_if(trace.spans, [](auto& s) { return s.shared; }); }) >
          0);
    CHECK(planted([](trace::Trace& trace) { shared(trace)[0]->bytes += core::Bytes(1); }) > 0);
    CHECK(planted([](trace::Trace& trace) {
            for (Span* span : shared(trace)) span->stage = core::StageId(1);
          }) > 0);
  }
}

TEST_CASE("stages on the same group of devices sum what they share without a message") {
  const graph::OpGraph graph = models::build(
      "gpt", {{"layers", "1"}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "32"}, {"vocabulary", "64"}});
  const CutModel model =
      replay::test::cut_model(graph, {.schedule = "zbv", .rank = {0, 0}, .tensor_parallel = 2});
  const sim::SimulationOptions options{.collective = sim::collective("automatic"),
                                       .pass_collectives = sim::PassCollectives::links};
  trace::Trace trace = simulated(model, options);
  CHECK(shared(trace).empty());
  CHECK(violations(model, trace, options) == std::vector<std::string>{});
}

TEST_CASE("without a flush the sum is left out, and copies count all the same") {
  CutModel chain = shared_chain({1, 1, 1});
  chain.plan.schedule = "pipedream_2bw";
  chain.costs = support::LaunchCosts(std::vector<support::LaunchCosts::PassTime>(4, {1e-3, 0}));
  trace::Trace trace = simulated(chain);
  CHECK(shared(trace).empty());
  CHECK(at(trace.devices[2].fixed, plan::MemoryKind::weights) == core::Bytes(80));
  CHECK(violations(chain, trace) == std::vector<std::string>{});
}
