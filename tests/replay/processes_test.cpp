// Replays by several processes, each of which also replays the same by itself: mpirun -n N starts this.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <set>
#include <thread>

#include "cut_model.hpp"
#include "distant_library.hpp"
#include "guest.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/device_worker.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "replay/cases.hpp"
#include "replay/fake_worker.hpp"
#include "replay/run/concurrent.hpp"
#include "shared_model.hpp"

using namespace penstock;
using core::DeviceId;
using replay::DevicePrograms;
using replay::test::CutSetting;
using replay::test::ReplayCase;

namespace {

replay::MpiProcesses* processes = nullptr;
bool ended = false;  ///< processes no longer wait for each other

replay::ReplayOptions options(bool together) {
  replay::ReplayOptions out;
  out.warm_up = 1;
  out.iterations = 2;
  out.throttle = false;
  out.patience = core::Seconds(20);
  out.processes = together ? processes : nullptr;
  return out;
}

bool all_have_devices(const DevicePrograms& program) {
  processes->deal(program.devices.size());
  std::set<int> hosts;
  for (std::size_t d = 0; d < program.devices.size(); ++d)
    if (!program.devices[d].empty()) hosts.insert(processes->host(DeviceId(d)));
  return std::ssize(hosts) == processes->size();
}

std::vector<replay::Worker*> own(std::vector<replay::Worker*> workers) {
  processes->deal(workers.size());
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
  auto out = std::make_unique<replay::test::GuestDevice>("guest " + std::to_string(device));
  out->has_library = true;
  out->distant = {replay::test::invite_distant, replay::test::join_distant};
  return out;
}

/// Workers of all devices.
struct ProcessTeam {
  explicit ProcessTeam(const replay::test::CutModel& c, MakeBackend make = host)
      : program(replay::lower(c.graph, {c.graph, c.plan})) {
    REQUIRE(all_have_devices(program));
    const replay::TrainingSetup setup{.seed = 3, .rule = {.rate = 0.01f}, .losses = true};
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      backends.push_back(make(d));
      owned.push_back(make_worker(*backends[d], c.problem(), c.plan, DeviceId(d), program, setup));
      workers.push_back(owned[d].get());
    }
  }
  DevicePrograms program;
  std::vector<std::unique_ptr<kernels::Backend>> backends;
  std::vector<std::unique_ptr<replay::DeviceWorker>> owned;
  std::vector<replay::Worker*> workers;
};

/// The newest weights of every stage on each of this process's devices, and what was lost by all.
struct TrainedWeights {
  std::vector<std::vector<double>> weights;
  std::vector<double> losses;
};
TrainedWeights train(const replay::test::CutModel& c, bool together, MakeBackend make = host) {
  const ProcessTeam team(c, make);
  const DevicePrograms& program = team.program;
  TrainedWeights out;
  if (together)
    out.losses =
        run(program, c.problem(), c.plan, own(team.workers), replay::ReplayManner::concurrent, options(true))
            .losses;
  else
    run_concurrent(program, c.problem(), c.plan, team.workers, options(false), {});
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

/// Weights, and losses where they are gathered.
void check_alike(const replay::test::CutModel& c) {
  const TrainedWeights together = train(c, true), alone = train(c, false);
  CHECK(together.weights == alone.weights);
  CHECK(together.weights.size() > 0);
  if (processes->rank() > 0) return;
  CHECK(together.losses == alone.losses);
  CHECK(together.losses.size() == 3);
}

graph::OpGraph chain() {
  models::Layers net("chain");
  auto x = net.input("x", {6});
  for (int i = 0; i < 8; ++i)
    x = net.linear("layer" + std::to_string(i), x, 5 + i % 4,
                   {.bias = true, .fused = models::Activation::tanh});
  return net.build();
}

graph::OpGraph transformer() {
  return models::build("transformer", {{"layers", "1"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "6"}});
}

graph::OpGraph mixture() {
  models::Layers net("mixture");
  const auto x = net.linear("dense", net.input("x", {4, 6}), 6);
  const auto scores = net.softmax("scores", net.linear("router", x, 4));
  net.linear("last", net.experts("experts", x, scores, {.chosen = 2, .inner = 5}), 3);
  return net.build();
}

/// Neighbouring devices go to different processes.
void scatter(replay::test::CutModel& model) {
  const auto count = static_cast<std::size_t>(processes->size());
  const std::size_t each = model.cluster.devices().size() / count;
  for (plan::Stage& stage : model.plan.stages)
    for (DeviceId& device : stage.devices)
      device = DeviceId(device.index() % count * each + device.index() / count);
}

/// Two devices of one group share twice in each pass.
std::string end_when_process_1_comes_to_its_second_collective(const std::function<void()>& what) {
  const auto c = replay::test::cut_model(chain(), {.rank = {0}, .tensor_parallel = 2});
  const DevicePrograms program = replay::lower(c.graph, {c.graph, c.plan});
  replay::test::FakeWorkers fakes(program, c.graph);
  const auto own_device = static_cast<std::size_t>(processes->rank());
  replay::test::FakeWorker& worker = *fakes.list[own_device];
  worker.work = [&](const replay::DeviceInstruction&) {
    worker.peers->share({}, {}, [](const auto&) {});
    if (own_device == 1) what();
    worker.peers->share({}, {}, [](const auto&) {});
  };
  ended = true;
  try {
    run_concurrent(program, c.problem(), c.plan, own(fakes.workers), options(true), {});
  } catch (const core::Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("all devices get the messages and the sums that those of one process get, bit by bit") {
  int programs = 0;
  for (std::uint64_t seed = 0; seed < 60 && programs < 12; ++seed) {
    const auto& family = replay::test::families()[seed % replay::test::families().size()];
    INFO(family.name, " ", seed);
    const ReplayCase c = replay::test::random_case(family, seed);
    const DevicePrograms program = replay::lower(c.graph, {c.graph, c.plan, c.order});
    if (!all_have_devices(program)) continue;
    replay::test::FakeWorkers together(program, c.graph), alone(program, c.graph);
    run(program, c.problem(), c.plan, own(together.workers), replay::ReplayManner::concurrent, options(true));
    run_concurrent(program, c.problem(), c.plan, alone.workers, options(false), {});
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
  const CutSetting cut{.rank = {0, 1, 2}, .mini_batch = 8};
  for (const char* name : {"gpt", "encoder_decoder"}) {
    const auto c = replay::test::shared_model(name, cut, {2, 1, 1});
    CHECK(train(c, true).weights == train(c, false).weights);
  }
}

TEST_CASE("weights and losses are those of one process, bit by bit") {
  for (const CutSetting& cut :
       {CutSetting{.rank = {0, 1, 2, 3}, .mini_batch = 8},
        CutSetting{.schedule = "zb_h1", .rank = {0, 1, 2, 3}, .mini_batch = 8},
        CutSetting{.rank = {0, 1}, .mini_batch = 8, .micro_batch = 4, .replicas = 2},
        CutSetting{.schedule = "gpipe", .rank = {0}, .mini_batch = 8, .micro_batch = 4, .replicas = 4}}) {
    CAPTURE(cut.schedule);
    const auto c = replay::test::cut_model(chain(), cut);
    check_alike(c);
  }
}

/// Plans whose replicas, or neighbours, are of several processes, with two of them and with four.
std::vector<CutSetting> far_cuts() {
  return {CutSetting{.rank = {0, 1, 2, 3}, .mini_batch = 8},
          CutSetting{.schedule = "zb_h1", .rank = {0, 1, 2, 3}, .mini_batch = 8},
          CutSetting{.schedule = "interleaved_1f1b",
                     .rank = {0, 1, 0, 1},
                     .mini_batch = 16,
                     .micro_batch = 2,
                     .replicas = 2},
          CutSetting{.schedule = "gpipe", .rank = {0}, .mini_batch = 8, .micro_batch = 4, .replicas = 4}};
}

TEST_CASE("devices beside the host send and sum by their library, to the same weights and losses") {
  for (const CutSetting& cut : far_cuts()) {
    CAPTURE(cut.schedule);
    const auto c = replay::test::cut_model(chain(), cut);
    auto& calls = replay::test::distant_calls() = {};
    const TrainedWeights together = train(c, true, guest), alone = train(c, false, guest);
    CHECK(together.weights == alone.weights);
    CHECK(together.weights.size() > 0);
    CHECK(calls.joined > 0);
    CHECK((cut.rank.size() == 1 ? calls.sums : calls.sends) > 0);
    if (processes->rank() == 0) CHECK(together.losses == alone.losses);
  }
}

TEST_CASE("recorded times of messages between devices and the host are in causal order") {
  const auto c = replay::test::cut_model(chain(), {.rank = {0, 1, 2, 3}, .mini_batch = 8});
  const ProcessTeam team(c, guest);
  const DevicePrograms& program = team.program;
  const auto records = run_concurrent(program, c.problem(), c.plan, own(team.workers), options(true), {});
  if (processes->rank() > 0) return;
  CHECK(records.iterations.size() == 2);
  for (const replay::IterationRecord& record : records.iterations)
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
    const ProcessTeam team(c, make);
    try {
      run(team.program, c.problem(), c.plan, own(team.workers), replay::ReplayManner::concurrent,
          options(true));
      FAIL("it ran");
    } catch (const core::Error& error) {
      CHECK_MESSAGE(std::string(error.what()).find(why) != std::string::npos, error.what());
      CHECK(error.code() == code);
    }
  }

  TEST_CASE("devices that no other process reaches") {
    ends_with(
        [](std::size_t d) -> std::unique_ptr<kernels::Backend> {
          return std::make_unique<replay::test::GuestDevice>("guest " + std::to_string(d));
        },
        "guest reaches no devices of other processes", core::ExitCode::bad_input);
  }

  TEST_CASE("two processes on one device") {
    ends_with(
        [](std::size_t d) -> std::unique_ptr<kernels::Backend> {
          return std::make_unique<replay::test::GuestDevice>("guest " +
                                                             std::to_string(d == 0 || d == 2 ? 7 : d));
        },
        processes->size() == 2 ? "processes 0 and 1 are both on guest 7"
                               : "processes 0 and 2 are both on guest 7",
        core::ExitCode::bad_input);
  }

  TEST_CASE("one process on the host, another not") {
    ends_with([](std::size_t d) { return d < 2 ? host(d) : guest(d); },
              "devices of the host and others do not run side by side", core::ExitCode::bad_input);
  }

  TEST_CASE("a library that fails in one process, while others wait in it") {
    if (processes->rank() == 1) replay::test::distant_calls().broken_sum = 2;
    ends_with(guest, "sum of gradients: broken", core::ExitCode::device_failed);
  }
}

// With 2 processes, groups have all devices in one, scattered groups half of them. With 4 processes, groups
// of 4 of 8 devices have two in each of two processes, scattered groups one in each.
TEST_CASE("groups within and across processes train as in one, bit by bit") {
  for (const CutSetting& cut :
       {CutSetting{.rank = {0}, .replicas = 2, .tensor_parallel = 2},
        CutSetting{.schedule = "zb_h1", .rank = {0, 1}, .micro_batch = 1, .tensor_parallel = 2},
        CutSetting{
            .schedule = "gpipe", .rank = {0, 1}, .tensor_parallel = 4, .recompute = plan::kRecomputeStage},
        CutSetting{.rank = {0, 1}, .replicas = 2, .tensor_parallel = 2},
        CutSetting{
            .rank = {0, 1}, .replicas = 2, .context_parallel = 2, .exchange = plan::ContextExchange::ring},
        CutSetting{.rank = {0, 1}, .replicas = 2, .expert_parallel = 2},
        CutSetting{.rank = {0, 1}, .micro_batch = 4, .replicas = 4, .expert_parallel = 2}})
    for (const bool scattered : {false, true}) {
      INFO(cut.schedule, ", groups of ", cut.tensor_parallel, scattered ? ", scattered" : "");
      auto c = replay::test::cut_model(cut.expert_parallel > 1 ? mixture() : transformer(), cut);
      if (scattered) scatter(c);
      check_alike(c);
    }
}

// 100 kB/s: the closed form is what a collective takes, in every process.
TEST_CASE("collectives across processes take their time, and the first process has all records") {
  auto c = replay::test::cut_model(transformer(), {.rank = {0}, .mini_batch = 2, .tensor_parallel = 4});
  c.cluster = support::tiny_cluster(4, std::int64_t{1} << 40, 1e5);
  const ProcessTeam team(c);
  auto throttled = options(true);
  throttled.throttle = true;
  const auto records = run_concurrent(team.program, c.problem(), c.plan, own(team.workers), throttled, {});
  if (processes->rank() > 0) return;
  const auto told = cost::stage_time(c.problem(), c.plan.stages[0], 2).collectives;
  CHECK(told.forward.value() > 0.001);
  for (const replay::IterationRecord& record : records.iterations)
    for (std::size_t d = 0; d < 4; ++d) {
      const auto& forward = record.instructions[d][0];
      CHECK(record.collectives[d][0] >= told.forward);
      CHECK(record.collectives[d][0] <= forward.end - forward.start);
    }
}

TEST_CASE("all that is noted is of one clock, though processes begin a quarter of a second apart") {
  const ReplayCase c = replay::test::even_chain("1f1b", replay::test::StagePlacement::row, 4, 4);
  const DevicePrograms program = replay::lower(c.graph, {c.graph, c.plan, c.order});
  replay::test::FakeWorkers fakes(program, c.graph);
  std::this_thread::sleep_for(std::chrono::milliseconds(250 * processes->rank()));
  const auto records = run_concurrent(program, c.problem(), c.plan, own(fakes.workers), options(true), {});
  if (processes->rank() > 0) return;
  for (const replay::IterationRecord& record : records.iterations)
    for (std::size_t d = 0; d < program.devices.size(); ++d)
      for (std::size_t p = 0; p < program.devices[d].size(); ++p)
        for (const replay::MessageId id : program.devices[d][p].sends) {
          const auto& sent = record.messages[static_cast<std::size_t>(id)];
          CHECK(sent.end >= sent.start);
          CHECK(std::abs((sent.start - record.instructions[d][p].end).value()) < 0.1);
          CHECK(std::abs((sent.end - sent.start).value()) < 0.1);
        }
}

// Started one by one: they end the replay, and with it what processes have in common.
TEST_SUITE("ends" * doctest::skip()) {
  TEST_CASE("a device fails in a collective: all end") {
    const auto fail = [] { throw core::BadInput("broken"); };
    const std::string task = "device 1, forward of micro-batch 0 on stage 0: broken";
    CHECK(end_when_process_1_comes_to_its_second_collective(fail) ==
          (processes->rank() == 1 ? task : "process 1: " + task));
  }

  TEST_CASE("a process dies in a collective: the other one ends") {
    const auto die = [] { std::raise(SIGKILL); };
    CHECK(end_when_process_1_comes_to_its_second_collective(die) ==
          "the group of device 0 waits for one of its devices; process 1 has not been heard of for 10 s");
  }
}

int main(int argc, char** argv) {
  const char* count = std::getenv("OMPI_COMM_WORLD_SIZE");
  replay::MpiProcesses started(count != nullptr ? std::atoi(count) : 1, 1);
  processes = &started;
  const int status = doctest::Context(argc, argv).run();
  if (ended) std::_Exit(status);
  return status;
}
