// Replays by several processes, each of which also replays the same by itself: mpirun -n N starts this.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "cut_model.hpp"
#include "models/layers.hpp"
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

/// The newest weights of every stage on each of this process's devices, and what was lost by all.
struct Trained {
  std::vector<std::vector<double>> weights;
  std::vector<double> losses;
};
Trained train(const replay::test::CutModel& c, bool together) {
  const replay::TrainingSetup setup{.seed = 3, .rule = {.rate = 0.01f}, .losses = true};
  const Program program = replay::lower(c.graph, c.plan, schedule::plan_order(c.plan));
  REQUIRE(all_have_devices(program));
  const auto backend = kernels::open_device("host", 1);
  std::vector<std::unique_ptr<replay::DeviceWorker>> owned;
  std::vector<replay::Worker*> workers;
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    owned.push_back(make_worker(*backend, c.problem(), c.plan, DeviceId(d), program, setup));
    workers.push_back(owned[d].get());
  }
  Trained out;
  if (together)
    out.losses =
        run(program, c.problem(), c.plan, own(workers), replay::Manner::parallel, options(true)).losses;
  else
    run_parallel(program, c.problem(), c.plan, workers, options(false), {});
  for (const plan::Stage& stage : c.plan.stages)
    for (const DeviceId device : stage.devices)
      for (const core::OpId op : stage.operators)
        if (processes->has(device))
          for (const auto& buffer : owned[device.index()]->weights_of(op))
            out.weights.push_back(kernels::read_values(*backend, *buffer));
  if (!together)
    for (const auto& worker : owned) {
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
