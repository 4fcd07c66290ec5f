// Replays by several processes, each of which also replays the same by itself: mpirun -n N starts this.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "cut_model.hpp"
#include "distant_library.hpp"
#include "guest.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/device_worker.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "replay/cases.hpp"
#include "replay/fake_worker.hpp"
#include "replay/parallel.hpp"
#include "shared_model.hpp"

using namespace penstock;
using core::DeviceId;
using replay::Program;
using replay::test::Case;
using replay::test::Cut;

namespace {

const replay::Processes* processes = nullptr;

replay::ReplayOptions options(bool together) {
  replay::ReplayOptions out;
  out.warm_up = 1;
  out.iterations = 2;
  out.throttle = false;
  out.patience = core::Seconds(20);
  out.processes = together ? processes : nullptr;
  return out;
}

bool all_have_devices(const Program& program) {
  std::set<int> hosts;
  for (std::size_t d = 0; d < program.devices.size(); ++d)
    if (!program.devices[d].empty()) hosts.insert(processes->host(DeviceId(d)));
  return std::ssize(hosts) == processes->size();
}

std::vector<replay::Worker*> own(std::vector<replay::Worker*> workers) {
  for (std::size_t d = 0; d < workers.size(); ++d)
    if (!processes->has(DeviceId(d))) workers[d] = nullptr;
  return workers;
}

using MakeBackend = std::unique_ptr<kernels::Backend> (*)(std::size_t device);

std::unique_ptr<kernels::Backend> host(std::size_t) {
  return kernels::open_device("host", 1);
}

/// A device beside the host, which other processes reach.
std::unique_ptr<kernels::Backend> guest(std::size_t device) {
  auto out = std::make_unique<replay::test::Guest>("guest " + std::to_string(device));
  out->has_library = true;
  out->distant = {replay::test::invite_distant, replay::test::join_distant};
  return out;
}

/// A worker per device of the plan.
struct Team {
  Team(const replay::test::CutModel& c, const Program& program, MakeBackend make) {
    const replay::TrainingSetup setup{.seed = 3, .rule = {.rate = 0.01f}, .losses = true};
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      backends.push_back(make(d));
      owned.push_back(make_worker(*backends[d], c.problem(), c.plan, DeviceId(d), program, setup));
      workers.push_back(owned[d].get());
    }
  }
  std::vector<std::unique_ptr<kernels::Backend>> backends;
  std::vector<std::unique_ptr<replay::DeviceWorker>> owned;
  std::vector<replay::Worker*> workers;
};

Program program_of(const replay::test::CutModel& c) {
  return replay::lower(c.graph, c.plan, schedule::plan_order(c.plan));
}

/// The newest weights of every stage on each of this process's devices, and what was lost by all.
struct Trained {
  std::vector<std::vector<double>> weights;
  std::vector<double> losses;
};
Trained train(const replay::test::CutModel& c, bool together, MakeBackend make = host) {
  const Program program = program_of(c);
  REQUIRE(all_have_devices(program));
  const Team team(c, program, make);
  Trained out;
  if (together)
    out.losses =
        run(program, c.problem(), c.plan, own(team.workers), replay::Manner::parallel, options(true)).losses;
  else
    run_parallel(program, c.problem(), c.plan, team.workers, options(false), {});
  for (const plan::Stage& stage : c.plan.stages)
    for (const DeviceId device : stage.devices)
      for (const core::OpId op : stage.operators)
        if (processes->has(device))
          for (const auto& buffer : team.owned[device.index()]->weights_of(op))
            out.weights.push_back(kernels::read_values(*team.backends[device.index()], *buffer));
  if (!together)
    for (const auto& worker : team.owned) {
      const auto part = worker->losses();
      out.losses.resize(std::max(out.losses.size(), part.size()));
      for (std::size_t i = 0; i < part.size(); ++i) out.losses[i] += part[i];
    }
  return out;
}

graph::OpGraph chain() {
  models::Layers net("chain");
  auto x = net.input("x", {6});
  for (int i = 0; i < 8; ++i)
    x = net.linear("layer" + std::to_string(i), x, 5 + i % 4,
                   {.bias = true, .fused = models::Activation::tanh});
  return net.build();
}

}  // namespace

TEST_CASE("all devices get the messages and the sums that those of one process get, bit by bit") {
  int programs = 0;
  for (std::uint64_t seed = 0; seed < 60 && programs < 12; ++seed) {
    const auto& family = replay::test::families()[seed % replay::test::families().size()];
    INFO(family.name, " ", seed);
    const Case c = replay::test::random_case(family, seed);
    const Program program = replay::lower(c.graph, c.plan, c.order);
    if (!all_have_devices(program)) continue;
    replay::test::Fakes together(program, c.graph), alone(program, c.graph);
    run(program, c.problem(), c.plan, own(together.workers), replay::Manner::parallel, options(true));
    run_parallel(program, c.problem(), c.plan, alone.workers, options(false), {});
    CHECK(together.wrong() == 0);
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      if (!processes->has(DeviceId(d))) continue;
      CHECK(together.list[d]->summed == alone.list[d]->summed);
      CHECK(together.list[d]->steps == alone.list[d]->steps);
    }
    ++programs;
  }
  CHECK(programs == 12);
}

TEST_CASE("copies of shared parameters are those of one process, bit by bit") {
  const Cut cut{.rank = {0, 1, 2}, .mini_batch = 8};
  for (const char* name : {"gpt", "encoder_decoder"}) {
    const auto c = replay::test::shared_model(name, cut, {2, 1, 1});
    CHECK(train(c, true).weights == train(c, false).weights);
  }
}

TEST_CASE("weights and losses are those of one process, bit by bit") {
  for (const Cut& cut :
       {Cut{.rank = {0, 1, 2, 3}, .mini_batch = 8},
        Cut{.schedule = "zb_h1", .rank = {0, 1, 2, 3}, .mini_batch = 8},
        Cut{.rank = {0, 1}, .mini_batch = 8, .micro_batch = 4, .replicas = 2},
        Cut{.schedule = "gpipe", .rank = {0}, .mini_batch = 8, .micro_batch = 4, .replicas = 4}}) {
    CAPTURE(cut.schedule);
    const auto c = replay::test::cut_model(chain(), cut);
    const Trained together = train(c, true), alone = train(c, false);
    CHECK(together.weights == alone.weights);
    CHECK(together.weights.size() > 0);
    if (processes->rank() > 0) continue;
    CHECK(together.losses == alone.losses);
    CHECK(together.losses.size() == 3);
  }
}

/// Plans whose replicas, or neighbours, are of several processes, with two of them and with four.
std::vector<Cut> far_cuts() {
  return {Cut{.rank = {0, 1, 2, 3}, .mini_batch = 8},
          Cut{.schedule = "zb_h1", .rank = {0, 1, 2, 3}, .mini_batch = 8},
          Cut{.schedule = "interleaved_1f1b",
              .rank = {0, 1, 0, 1},
              .mini_batch = 16,
              .micro_batch = 2,
              .replicas = 2},
          Cut{.schedule = "gpipe", .rank = {0}, .mini_batch = 8, .micro_batch = 4, .replicas = 4}};
}

TEST_CASE("devices beside the host send and sum by their library, to the same weights and losses") {
  for (const Cut& cut : far_cuts()) {
    CAPTURE(cut.schedule);
    const auto c = replay::test::cut_model(chain(), cut);
    auto& calls = replay::test::distant_calls() = {};
    const Trained together = train(c, true, guest), alone = train(c, false, guest);
    CHECK(together.weights == alone.weights);
    CHECK(together.weights.size() > 0);
    CHECK(calls.joined > 0);
    CHECK((cut.replicas > 1 ? calls.sums : calls.sends) > 0);
    if (processes->rank() == 0) CHECK(together.losses == alone.losses);
  }
}

TEST_CASE("what is noted of messages of devices beside the host is in the order of what happened") {
  const auto c = replay::test::cut_model(chain(), {.rank = {0, 1, 2, 3}, .mini_batch = 8});
  const Program program = program_of(c);
  const Team team(c, program, guest);
  const auto records = run_parallel(program, c.problem(), c.plan, own(team.workers), options(true), {});
  if (processes->rank() > 0) return;
  CHECK(records.iterations.size() == 2);
  for (const replay::Record& record : records.iterations)
    for (std::size_t d = 0; d < program.devices.size(); ++d)
      for (std::size_t p = 0; p < program.devices[d].size(); ++p)
        for (const replay::MessageId id : program.devices[d][p].receives) {
          const auto& message = record.messages[static_cast<std::size_t>(id)];
          if (!message.happened()) continue;
          CHECK(message.end.value() >= message.start.value() - 0.01);  // of two clocks
          CHECK(record.instructions[d][p].start.value() >= message.end.value() - 1e-9);
        }
}

/// Each in processes of its own, which end with it.
TEST_SUITE("ends" * doctest::skip()) {
  void ends_with(MakeBackend make, const char* why, core::ExitCode code) {
    const auto c = replay::test::cut_model(
        chain(), {.schedule = "gpipe", .rank = {0}, .mini_batch = 8, .micro_batch = 4, .replicas = 4});
    const Program program = program_of(c);
    const Team team(c, program, make);
    try {
      run(program, c.problem(), c.plan, own(team.workers), replay::Manner::parallel, options(true));
      FAIL("it ran");
    } catch (const core::Error& error) {
      CHECK_MESSAGE(std::string(error.what()).find(why) != std::string::npos, error.what());
      CHECK(error.code() == code);
    }
  }

  TEST_CASE("devices that no other process reaches") {
    ends_with(
        [](std::size_t d) -> std::unique_ptr<kernels::Backend> {
          return std::make_unique<replay::test::Guest>("guest " + std::to_string(d));
        },
        "guest reaches no devices of other processes", core::ExitCode::bad_input);
  }

  TEST_CASE("two processes on one device") {
    ends_with(
        [](std::size_t d) -> std::unique_ptr<kernels::Backend> {
          return std::make_unique<replay::test::Guest>("guest " + std::to_string(d < 2 ? 7 : d));
        },
        "processes 0 and 1 are both on guest 7", core::ExitCode::bad_input);
  }

  TEST_CASE("one process on the host, another not") {
    ends_with([](std::size_t d) { return d % 2 == 0 ? host(d) : guest(d); },
              "devices of the host and others do not run side by side", core::ExitCode::bad_input);
  }

  TEST_CASE("a library that fails in one process, while others wait in it") {
    if (processes->rank() == 1) replay::test::distant_calls().broken_sum = 2;
    const auto began = std::chrono::steady_clock::now();
    ends_with(guest, "sum of gradients: broken", core::ExitCode::device_failed);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
  }
}

TEST_CASE("all that is noted is of one clock, though processes begin a quarter of a second apart") {
  const Case c = replay::test::even_chain("1f1b", replay::test::Placement::row, 4, 4);
  const Program program = replay::lower(c.graph, c.plan, c.order);
  replay::test::Fakes fakes(program, c.graph);
  std::this_thread::sleep_for(std::chrono::milliseconds(250 * processes->rank()));
  const auto records = run_parallel(program, c.problem(), c.plan, own(fakes.workers), options(true), {});
  if (processes->rank() > 0) return;
  for (const replay::Record& record : records.iterations)
    for (std::size_t d = 0; d < program.devices.size(); ++d)
      for (std::size_t p = 0; p < program.devices[d].size(); ++p)
        for (const replay::MessageId id : program.devices[d][p].sends) {
          const auto& sent = record.messages[static_cast<std::size_t>(id)];
          CHECK(sent.end >= sent.start);
          CHECK(std::abs((sent.start - record.instructions[d][p].end).value()) < 0.1);
          CHECK(std::abs((sent.end - sent.start).value()) < 0.1);
        }
}

int main(int argc, char** argv) {
  const char* count = std::getenv("OMPI_COMM_WORLD_SIZE");
  const replay::Processes started(count != nullptr ? std::atoi(count) : 1);
  processes = &started;
  return doctest::Context(argc, argv).run();
}
