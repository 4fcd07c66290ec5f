#include "replay/run/concurrent.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "replay/cases.hpp"
#include "replay/fake_worker.hpp"
#include "replay/links/ring.hpp"
#include "replay/run/cores.hpp"
#include "replay/run/sequential.hpp"
#include "replay/run/traced.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::Seconds;
using replay::DeviceInstruction;
using replay::DevicePrograms;
using replay::lower;
using replay::test::FakeWorkers;
using replay::test::ReplayCase;
using replay::test::StagePlacement;
using schedule::ActionKind;

namespace {

void sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

replay::ReplayOptions brief(int iterations, bool throttle) {
  replay::ReplayOptions options;
  options.warm_up = 0;
  options.iterations = iterations;
  options.throttle = throttle;
  return options;
}

/// Devices share what cores there are: tests run on any machine.
replay::ReplayRecords side_by_side(const ReplayCase& c, const DevicePrograms& program, FakeWorkers& fakes,
                                   const replay::ReplayOptions& options) {
  return run_concurrent(program, c.problem(), c.plan, fakes.workers, options, replay::allowed_cores());
}

double iteration(const ReplayCase& c, const DevicePrograms& program, const replay::ReplayRecords& records) {
  return replay::iteration_time(program, c.plan, records.iterations.back()).value();
}

/// A stage of `numbers` weights on so many devices, two micro-batches.
ReplayCase replicas(std::size_t count, std::int64_t numbers) {
  ReplayCase c =
      replay::test::even_chain("gpipe", StagePlacement::row, 1, static_cast<std::int64_t>(2 * count));
  graph::GraphBuilder builder("one");
  builder.add(support::unit_op("a", 1e9, numbers));
  c.graph = builder.build();
  c.cluster = support::tiny_cluster(count);
  c.plan.stages[0].devices.clear();
  for (std::size_t d = 0; d < count; ++d) c.plan.stages[0].devices.emplace_back(d);
  c.plan.stages[0].micro_batch = static_cast<std::int64_t>(count);
  c.plan.stages[0].in_flight = c.plan.training.mini_batch;
  c.order = schedule::plan_order(c.plan);
  return c;
}

/// Error and duration of a replay of two stages, four micro-batches.
struct ReplayFailure {
  std::string text;
  core::ExitCode code = core::ExitCode::done;
  double seconds = 0;
};
ReplayFailure failure(
    const std::function<void(DevicePrograms&, FakeWorkers&, replay::ReplayOptions&)>& change) {
  const ReplayCase c = replay::test::even_chain("1f1b", StagePlacement::row, 2, 4);
  DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers fakes(program, c.graph);
  replay::ReplayOptions options = brief(2, true);
  change(program, fakes, options);
  ReplayFailure out;
  const auto begin = std::chrono::steady_clock::now();
  try {
    side_by_side(c, program, fakes, options);
  } catch (const core::Error& error) {
    out.text = error.what();
    out.code = error.code();
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace

TEST_CASE("side by side or one by one, devices get the same messages and the same sums, bit by bit") {
  int programs = 0;
  for (std::uint64_t seed = 0; seed < 14; ++seed) {
    const auto& family = replay::test::families()[seed % replay::test::families().size()];
    INFO(family.name, " ", seed);
    const ReplayCase c = replay::test::random_case(family, seed);
    const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
    FakeWorkers together(program, c.graph), alone(program, c.graph);
    side_by_side(c, program, together, brief(1, false));
    run_sequential(program, c.problem(), c.plan, alone.workers, brief(1, false));
    CHECK(together.wrong() == 0);
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      CHECK(together.list[d]->summed == alone.list[d]->summed);
      CHECK(together.list[d]->steps == alone.list[d]->steps);
    }
    ++programs;
  }
  CHECK(programs == 14);
}

TEST_CASE("replicas end with the same bits, which are the sum") {
  // 1, 2, 5 numbers on 2 and 3 replicas: parts may be empty. Device d has 1/(d + i + 1).
  for (const std::size_t count : {2, 3})
    for (const std::size_t numbers : {1, 2, 5}) {
      const ReplayCase c = replicas(count, static_cast<std::int64_t>(numbers));
      const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
      FakeWorkers fakes(program, c.graph, numbers);
      side_by_side(c, program, fakes, brief(2, true));
      for (std::size_t d = 0; d < count; ++d) {
        CHECK(fakes.list[d]->steps == 2);
        CHECK(fakes.list[d]->summed == fakes.list[0]->summed);
      }
      for (std::size_t i = 0; i < numbers; ++i) {
        double sum = 0;
        for (std::size_t d = 0; d < count; ++d) sum += 1.0 / static_cast<double>(d + i + 1);
        CHECK(fakes.list[0]->summed.at(core::StageId(0))[i] == support::near(sum, 1e-6));
      }
    }
}

// 4 MB a slice: among two replicas 2,097,153 numbers go in one slice, twice as many in two.
TEST_CASE("large gradients travel in slices and end with the same bits as summed by one") {
  for (const std::size_t numbers : {2'097'153, 4'194'305}) {
    const ReplayCase c = replicas(2, static_cast<std::int64_t>(numbers));
    const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
    FakeWorkers together(program, c.graph, numbers), alone(program, c.graph, numbers);
    side_by_side(c, program, together, brief(1, false));
    run_sequential(program, c.problem(), c.plan, alone.workers, brief(1, false));
    for (std::size_t d = 0; d < 2; ++d) CHECK((together.list[d]->summed == alone.list[d]->summed));
  }
}

// Three replicas pass sums on, in as many slices as 25.2 MB need; compare with the two replicas above.
TEST_CASE("three replicas hand slices on while they add others") {
  const std::size_t numbers = 6'300'001;
  const ReplayCase c = replicas(3, static_cast<std::int64_t>(numbers));
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers fakes(program, c.graph, numbers);
  side_by_side(c, program, fakes, brief(1, false));
  for (std::size_t d = 0; d < 3; ++d) CHECK((fakes.list[d]->summed == fakes.list[0]->summed));
  const auto& sums = fakes.list[0]->summed.at(core::StageId(0));
  for (const std::size_t i : {0, 1'000'000, 2'100'000, 4'200'001, 6'300'000}) {
    double sum = 0;
    for (std::size_t d = 0; d < 3; ++d) sum += 1.0 / static_cast<double>(d + i + 1);
    CHECK(sums[i] == support::near(sum, 1e-6));
  }
}

TEST_CASE("devices work side by side: an iteration takes less than its passes one after the other") {
  // Four micro-batches on three stages that sleep 2 ms forward and 4 ms backward. They take (m + p - 1)(F +
  // B) = 36 ms where one after the other takes m p (F + B) = 72 ms. However busy the machine: less than its
  // own passes add up to.
  const ReplayCase c = replay::test::even_chain("1f1b", StagePlacement::row, 3, 4);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers fakes(program, c.graph);
  for (const auto& fake : fakes.list)
    fake->work = [](const DeviceInstruction& i) { sleep(i.kind == ActionKind::forward ? 0.002 : 0.004); };
  const auto records = side_by_side(c, program, fakes, brief(3, true));
  for (const auto& record : records.iterations) {
    double passes = 0;
    for (const auto& device : record.instructions)
      for (const replay::TimeInterval& interval : device) passes += (interval.end - interval.start).value();
    const double took = replay::iteration_time(program, c.plan, record).value();
    CHECK(took >= 0.036);
    CHECK(took < passes);
  }
}

TEST_CASE("a message takes no less than its route, and arrives before it is used") {
  // One micro-batch, two stages, nothing to compute, 1 kB each way. That is 10 ms of latency per cable, two
  // cables, and 50 ms at 20 kB/s: 140 ms in all.
  ReplayCase c = replay::test::even_chain("gpipe", StagePlacement::row, 2, 1);
  c.cluster = support::tiny_cluster(2, std::int64_t{1} << 40, 20e3, 0.01);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers slow(program, c.graph), fast(program, c.graph);
  CHECK(iteration(c, program, side_by_side(c, program, slow, brief(1, true))) >= 0.14);
  side_by_side(c, program, fast, brief(1, false));
  CHECK(slow.wrong() + fast.wrong() == 0);
}

TEST_CASE("a worker that throws ends all others at once, named with its task") {
  const ReplayFailure own = failure([](DevicePrograms&, FakeWorkers& fakes, auto&) {
    fakes.list[1]->work = [](const DeviceInstruction& i) {
      if (i.kind == ActionKind::forward && i.micro_batch == 2) throw core::BadInput("no such extent");
    };
  });
  CHECK(own.text == "device 1, forward of micro-batch 2 on stage 1: no such extent");
  CHECK(own.code == core::ExitCode::bad_input);
  CHECK(own.seconds < 2);
  const ReplayFailure foreign = failure([](DevicePrograms&, FakeWorkers& fakes, auto&) {
    fakes.list[0]->work = [](const DeviceInstruction& i) {
      if (i.kind == ActionKind::backward) throw std::bad_alloc();
    };
  });
  CHECK(foreign.text.starts_with("device 0, backward of micro-batch 0 on stage 0: "));
  CHECK(foreign.code == core::ExitCode::device_failed);
}

TEST_CASE("a device that waits too long for a message fails, and names the message") {
  const ReplayFailure failed =
      failure([](DevicePrograms& program, FakeWorkers&, replay::ReplayOptions& options) {
        program.open_at_start[1].clear();
        options.patience = Seconds(0.05);
      });
  CHECK(failed.code == core::ExitCode::device_failed);
  CHECK(failed.text.find("waits for the ") != std::string::npos);
  CHECK(failed.text.find("; nothing has moved for 0.05 s") != std::string::npos);
  CHECK(failed.seconds < 2);
}

TEST_CASE("no wait times out while another device works") {
  const ReplayFailure failed =
      failure([](DevicePrograms&, FakeWorkers& fakes, replay::ReplayOptions& options) {
        fakes.list[0]->work = [](const DeviceInstruction& i) {
          if (i.kind == ActionKind::forward && i.micro_batch == 0) sleep(0.1);
        };
        options.patience = Seconds(0.03);
      });
  CHECK(failed.text == "");
}

TEST_CASE("a request to stop ends all threads") {
  std::atomic<bool> stop = false;
  const ReplayFailure failed =
      failure([&](DevicePrograms&, FakeWorkers& fakes, replay::ReplayOptions& options) {
        options.stop = core::StopToken(&stop);
        fakes.list[0]->work = [&](const DeviceInstruction& i) { stop = stop || i.micro_batch == 1; };
      });
  CHECK(failed.code == core::ExitCode::interrupted);
  CHECK(failed.seconds < 2);
}

TEST_CASE("more devices than cores are refused side by side, not in sequential emulation") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(replay::allowed_cores().front()), &one);
  sched_setaffinity(0, sizeof one, &one);
  const ReplayCase c = replay::test::even_chain("gpipe", StagePlacement::row, 2, 2);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  FakeWorkers fakes(program, c.graph);
  CHECK_THROWS_WITH_AS(
      run(program, c.problem(), c.plan, fakes.workers, replay::ReplayManner::concurrent, brief(1, true)),
      "2 devices side by side need as many cores, and this process may use 1; replay it with --sequential",
      core::BadInput);
  const auto result =
      run(program, c.problem(), c.plan, fakes.workers, replay::ReplayManner::sequential, brief(2, true));
  CHECK(result.iterations.size() == 2);
  CHECK(result.trace.spans.size() == 8 + 4);
  sched_setaffinity(0, sizeof before, &before);
}
