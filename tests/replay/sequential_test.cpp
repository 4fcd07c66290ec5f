#include "replay/run/sequential.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "replay/cases.hpp"
#include "replay/fake_worker.hpp"
#include "replay/run/traced.hpp"
#include "support/near.hpp"

using namespace penstock;
using replay::DeviceInstruction;
using replay::DevicePrograms;
using replay::lower;
using replay::test::FakeWorkers;
using replay::test::ReplayCase;
using replay::test::StagePlacement;
using schedule::ActionKind;

namespace {

/// The simulator's duration of the instruction.
core::Seconds duration(const ReplayCase& c, core::DeviceId device, const DeviceInstruction& i) {
  if (!i.stage.valid() || i.kind == ActionKind::reduce_gradient) return {};
  const cost::Problem problem = c.problem();
  const plan::Stage& stage = c.plan.stages[i.stage.index()];
  const auto replica = static_cast<std::size_t>(
      std::find(stage.devices.begin(), stage.devices.end(), device) - stage.devices.begin());
  if (i.kind == ActionKind::step) return cost::step_time(problem, stage, 0, c.cluster.type(device));
  const auto time = cost::stage_time(problem, stage, stage.operators, replica, i.samples.count).total();
  if (i.kind == ActionKind::forward || i.kind == ActionKind::recompute) return time.forward;
  if (i.kind == ActionKind::backward) return time.backward();
  return i.kind == ActionKind::input_gradient ? time.input_gradient : time.weight_gradient;
}

/// Replayed with workers that take the times of the cost model, by their own clocks.
trace::Trace replayed(const ReplayCase& c, int iterations = 1, std::int64_t first_workspace = 0) {
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers fakes(program, c.graph);
  core::Seconds clock;
  for (std::size_t d = 0; d < fakes.list.size(); ++d)
    fakes.list[d]->work = [&, d](const DeviceInstruction& i) { clock += duration(c, core::DeviceId(d), i); },
    fakes.list[d]->first_workspace = first_workspace;
  replay::ReplayOptions options;
  options.warm_up = 0;
  options.iterations = iterations;
  const auto records =
      run_sequential(program, c.problem(), c.plan, fakes.workers, options, [&] { return clock; });
  CHECK(fakes.wrong() == 0);
  CHECK(records.iterations.size() == static_cast<std::size_t>(iterations));
  return trace_of(program, c.problem(), c.plan, records.iterations.back(), records.peaks);
}

double seconds(core::Picoseconds time) {
  return to_seconds(time).value();
}

/// The latest of all differences between ends of spans that are the same; -1 where others are there.
double difference(const trace::Trace& a, const trace::Trace& b) {
  using Key = std::tuple<trace::TaskKind, core::DeviceId, core::DeviceId, core::StageId, std::int32_t,
                         core::Bytes, core::Picoseconds, core::Picoseconds>;
  const auto keys = [](const trace::Trace& trace) {
    std::vector<Key> out;
    for (const trace::Span& s : trace.spans)
      out.emplace_back(s.kind, s.device, s.peer, s.stage, s.micro_batch, s.bytes, s.start, s.end);
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto x = keys(a), y = keys(b);
  if (x.size() != y.size()) return -1;
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::get<0>(x[i]) != std::get<0>(y[i]) || std::get<1>(x[i]) != std::get<1>(y[i]) ||
        std::get<3>(x[i]) != std::get<3>(y[i]) || std::get<4>(x[i]) != std::get<4>(y[i]))
      return -1;
    most = std::max({most, std::abs(seconds(std::get<6>(x[i]) - std::get<6>(y[i]))),
                     std::abs(seconds(std::get<7>(x[i]) - std::get<7>(y[i])))});
  }
  return most;
}

}  // namespace

TEST_CASE("1F1B on an even chain takes (m + p - 1)(F + B)") {
  // Four stages, eight micro-batches, 1 s forward, 2 s backward: 11 * 3 s.
  const ReplayCase c = replay::test::even_chain("1f1b", StagePlacement::row, 4, 8);
  CHECK(seconds(replayed(c).iteration) == support::near(33, 1e-9));
  CHECK(seconds(replayed(c, 3).iteration) == support::near(33, 1e-9));
}

TEST_CASE("with the simulator's durations every task has the simulator's times") {
  // Pairs that run as one are an exception: they are replayed one after the other.
  int traces = 0;
  for (std::uint64_t seed = 0; seed < 112; ++seed) {
    const auto& family = replay::test::families()[seed % replay::test::families().size()];
    if (std::string(family.name) == "dualpipev") continue;
    INFO(family.name, " ", seed);
    const ReplayCase c = replay::test::random_case(family, seed);
    const trace::Trace ours = replayed(c),
                       simulated = sim::simulate(c.problem(), {c.problem().graph, c.plan, c.order});
    CHECK(ours.mini_batches == simulated.mini_batches);
    CHECK(seconds(ours.iteration) == support::near(seconds(simulated.iteration), 1e-9));
    const double off = difference(ours, simulated);
    CHECK(off >= 0);
    CHECK(off < 1e-8 * seconds(length(simulated)));
    ++traces;
  }
  CHECK(traces == 104);
}

TEST_CASE("pairs that run as one take no less one after the other, and get what they need") {
  const ReplayCase c = replay::test::even_chain("dualpipev", StagePlacement::zigzag, 4, 10);
  const double ours = seconds(replayed(c).iteration),
               simulated =
                   seconds(sim::simulate(c.problem(), {c.problem().graph, c.plan, c.order}).iteration);
  CHECK(ours <= simulated * 1.2);
  CHECK(ours >= simulated * 0.8);
}

TEST_CASE("the trace's peak is the worker's") {
  // gpipe, three micro-batches on one stage: 100 bytes each, and 7 while the third forward runs: 307.
  const ReplayCase c = replay::test::even_chain("gpipe", StagePlacement::row, 1, 3);
  const trace::Trace trace = replayed(c);
  const auto summary = trace::summarise(trace);
  CHECK(summary.peak_memory == core::Bytes(307));
  CHECK(at(trace.devices[0].fixed, plan::MemoryKind::workspace) == core::Bytes(7));
  // 250 more in the first forward: 100 + 257, though 300 are held later, without workspace.
  CHECK(trace::summarise(replayed(c, 1, 250)).peak_memory == core::Bytes(357));
}

TEST_CASE("a worker that throws is named with its task, and its kind of error is kept") {
  const ReplayCase c = replay::test::even_chain("1f1b", StagePlacement::row, 2, 4);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  const auto failure = [&](const std::function<void()>& fail) {
    FakeWorkers fakes(program, c.graph);
    fakes.list[1]->work = [&](const DeviceInstruction& i) {
      if (i.kind == ActionKind::backward && i.micro_batch == 2) fail();
    };
    run(program, c.problem(), c.plan, fakes.workers, replay::ReplayManner::sequential, {});
  };
  CHECK_THROWS_WITH_AS(failure([] { throw core::BadInput("no such extent"); }),
                       "device 1, backward of micro-batch 2 on stage 1: no such extent", core::Error);
  CHECK_THROWS_WITH_AS(failure([] { throw std::runtime_error("out of paper"); }),
                       "device 1, backward of micro-batch 2 on stage 1: out of paper", core::Error);
}

TEST_CASE("a message without room at its receiver, and a request to stop, end a replay") {
  const ReplayCase c = replay::test::even_chain("1f1b", StagePlacement::row, 2, 4);
  DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  program.open_at_start[1].clear();
  FakeWorkers fakes(program, c.graph);
  CHECK_THROWS_WITH_AS(
      run(program, c.problem(), c.plan, fakes.workers, replay::ReplayManner::sequential, {}),
      "device 0, backward of micro-batch 0 on stage 0 waits for the gradients of micro-batch "
      "0 on stage 1 from device 1, which never comes",
      core::Error);
  const std::atomic<bool> stop = true;
  replay::ReplayOptions options;
  options.stop = core::StopToken(&stop);
  CHECK_THROWS_AS(run(program, c.problem(), c.plan, fakes.workers, replay::ReplayManner::sequential, options),
                  core::InterruptedError);
}

TEST_CASE("by a real clock the makespan is that of the passes as they were timed") {
  // 1F1B, three stages, four micro-batches that sleep 1 ms forward and 2 ms backward: (4 + 3 - 1) * 3 ms.
  const ReplayCase c = replay::test::even_chain("1f1b", StagePlacement::row, 3, 4);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers fakes(program, c.graph);
  for (const auto& fake : fakes.list)
    fake->work = [](const DeviceInstruction& i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(i.kind == ActionKind::forward ? 1 : 2));
    };
  const auto result = run(program, c.problem(), c.plan, fakes.workers, replay::ReplayManner::sequential, {});
  REQUIRE(result.iterations.size() == 5);
  const double best = std::min_element(result.iterations.begin(), result.iterations.end())->value();
  CHECK(best >= 0.018);
  double passes = 0;  // one after the other 36 ms, more on a busy machine
  for (const trace::Span& span : result.trace.spans)
    if (trace::computes(span.kind)) passes += seconds(span.end - span.start);
  CHECK(seconds(result.trace.iteration) < passes);
  // The trace is that of the iteration of median time.
  auto times = result.iterations;
  std::sort(times.begin(), times.end());
  CHECK(seconds(result.trace.iteration) == support::near(times[2].value(), 1e-9));
}

TEST_CASE("iterations have bounds") {
  const ReplayCase c = replay::test::even_chain("gpipe", StagePlacement::row, 1, 1);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers fakes(program, c.graph);
  const auto with = [&](int warm_up, int iterations) {
    replay::ReplayOptions options;
    options.warm_up = warm_up;
    options.iterations = iterations;
    return run(program, c.problem(), c.plan, fakes.workers, replay::ReplayManner::sequential, options);
  };
  CHECK(with(0, 1).iterations.size() == 1);
  CHECK(with(2, 2).iterations.size() == 2);
  CHECK_THROWS_WITH_AS(with(0, 0), "a replay has 1 to 10000 iterations", core::BadInput);
  CHECK_THROWS_AS(with(0, replay::kMostIterations + 1), core::BadInput);
  CHECK_THROWS_WITH_AS(with(-1, 1), "a replay has 0 to 10000 iterations to warm up", core::BadInput);
}
