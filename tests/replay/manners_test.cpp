// Real training side by side and one device at a time: the same weights, bit by bit.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "cut_model.hpp"
#include "guest.hpp"
#include "lazy.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/cuda_graph.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "replay/run/concurrent.hpp"
#include "replay/run/cores.hpp"
#include "replay/run/sequential.hpp"
#include "replay/run/traced.hpp"
#include "support/near.hpp"
#include "support/skip.hpp"

using namespace penstock;
using replay::test::CutModel;
using replay::test::CutSetting;

namespace {

graph::OpGraph small_chain() {
  models::Layers net("chain");
  auto x = net.input("x", {6});
  for (int i = 0; i < 12; ++i)
    x = net.linear("layer" + std::to_string(i), x, 5 + i % 4,
                   {.bias = true, .fused = models::Activation::tanh});
  return net.build();
}

using Open = std::function<std::unique_ptr<kernels::Backend>(std::size_t device)>;

std::unique_ptr<kernels::Backend> host(std::size_t) {
  return kernels::open_device("host", 1);
}
std::unique_ptr<kernels::Backend> guest(std::size_t device) {
  return std::make_unique<replay::test::GuestDevice>("guest " + std::to_string(device));
}

/// A worker for every device, with a backend of its own.
struct MannerTeam {
  MannerTeam(const CutModel& model, const replay::DevicePrograms& program, const Open& open = host)
      : plan(model.plan) {
    replay::TrainingSetup setup;
    setup.rule.rate = 1e-3f;
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      backends.push_back(open(d));
      owned.push_back(
          make_worker(*backends.back(), model.problem(), model.plan, core::DeviceId(d), program, setup));
      workers.push_back(owned.back().get());
    }
  }
  /// Weights of all operators on all replicas.
  std::vector<std::vector<double>> weights() {
    std::vector<std::vector<double>> out;
    for (const plan::Stage& stage : plan.stages)
      for (const core::DeviceId device : stage.devices)
        for (const core::OpId op : stage.operators)
          for (const auto& buffer : owned[device.index()]->weights_of(op))
            out.push_back(kernels::read_values(*backends[device.index()], *buffer));
    return out;
  }

  const plan::Plan& plan;
  std::vector<std::unique_ptr<kernels::Backend>> backends;
  std::vector<std::unique_ptr<replay::DeviceWorker>> owned;
  std::vector<replay::Worker*> workers;
};

replay::ReplayOptions two_iterations() {
  replay::ReplayOptions options;
  options.iterations = 2;
  options.throttle = false;
  return options;
}

/// The error of `run` for devices opened like this; empty if it runs.
std::string refusal(const CutModel& model, const Open& open) {
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  MannerTeam team(model, program, open);
  try {
    run(program, model.problem(), model.plan, team.workers, replay::ReplayManner::concurrent,
        two_iterations());
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

std::vector<std::int32_t> placement(const std::string& family) {
  schedule::ScheduleShape shape;
  shape.ranks = 4;
  shape.micro_batches = 8;
  return schedule::make_schedule(family, shape).rank_of_stage;
}

}  // namespace

TEST_CASE("how a program is run does not show in the weights, and its trace has the peak of the worker") {
  for (const char* family : {"1f1b", "interleaved_1f1b", "zbv", "pipedream", "pipedream_2bw"})
    for (const std::size_t replicas : {1, 2}) {
      CAPTURE(std::string(family));
      CAPTURE(replicas);
      const CutModel model = replay::test::cut_model(small_chain(), {.schedule = family,
                                                                     .rank = placement(family),
                                                                     .mini_batch = 16,
                                                                     .micro_batch = 2,
                                                                     .replicas = replicas});
      const auto program = replay::lower(model.graph, {model.graph, model.plan});
      MannerTeam together(model, program), alone(model, program);
      const auto options = two_iterations();
      const auto side_by_side = run_concurrent(program, model.problem(), model.plan, together.workers,
                                               options, replay::allowed_cores());
      run_sequential(program, model.problem(), model.plan, alone.workers, options);
      CHECK(together.weights() == alone.weights());
      const auto summary = trace::summarise(
          trace_of(program, model.problem(), model.plan, side_by_side.iterations.back(), side_by_side.peaks));
      for (std::size_t d = 0; d < together.workers.size(); ++d)
        CHECK(summary.devices[d].peak == plan::total(together.workers[d]->memory().at_peak));
    }
}

TEST_CASE("a cross entropy and its gradient are written over the logits, as the simulator counts") {
  models::Layers net("classes");
  const auto x = net.linear("layer", net.input("x", {3, 4}), 5, {.bias = true});
  net.loss("loss", net.linear("head", x, 1000), graph::LossKernel::in_place);
  const CutModel model =
      replay::test::cut_model(net.build(), {.rank = {0}, .mini_batch = 4, .micro_batch = 2});
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  MannerTeam team(model, program);
  run_sequential(program, model.problem(), model.plan, team.workers, two_iterations());
  const auto simulated = trace::summarise(sim::simulate(model.problem(), {model.graph, model.plan}));
  const auto& measured = team.workers[0]->memory().at_peak;
  CHECK(plan::total(measured) == simulated.devices[0].peak);
  // Two samples of three rows: the softmax where the logits were, and one gradient.
  CHECK(at(measured, plan::MemoryKind::activations) == core::Bytes(2 * 3 * (4 + 5 + 1000) * 4));
}

TEST_CASE("side by side no device holds gradients any longer than one at a time does") {
  for (const char* family : {"pipedream", "pipedream_2bw"}) {
    CAPTURE(std::string(family));
    const CutModel model = replay::test::cut_model(
        small_chain(), {.schedule = family, .rank = {0}, .mini_batch = 16, .micro_batch = 2, .replicas = 2});
    const auto program = replay::lower(model.graph, {model.graph, model.plan});
    MannerTeam together(model, program), alone(model, program);
    run_concurrent(program, model.problem(), model.plan, together.workers, two_iterations(),
                   replay::allowed_cores());
    run_sequential(program, model.problem(), model.plan, alone.workers, two_iterations());
    for (std::size_t d = 0; d < together.workers.size(); ++d)
      CHECK(plan::total(together.workers[d]->memory().at_peak) ==
            plan::total(alone.workers[d]->memory().at_peak));
  }
}

TEST_CASE("devices that are not the host's exchange messages and sums among themselves, to the same bits") {
  for (const auto& [family, replicas] :
       {std::pair<const char*, std::size_t>("1f1b", 3), {"zbv", 2}, {"pipedream", 1}}) {
    CAPTURE(std::string(family));
    const CutModel model = replay::test::cut_model(small_chain(), {.schedule = family,
                                                                   .rank = placement(family),
                                                                   .mini_batch = 24,
                                                                   .micro_batch = 3,
                                                                   .replicas = replicas});
    const auto program = replay::lower(model.graph, {model.graph, model.plan});
    MannerTeam guests(model, program, guest), hosts(model, program);
    const auto of_guest = [&](std::size_t d) -> auto& {
      return dynamic_cast<replay::test::GuestDevice&>(*guests.backends[d]);
    };
    for (std::size_t d = 0; d < guests.backends.size(); ++d) of_guest(d).reads = 0;
    run(program, model.problem(), model.plan, guests.workers, replay::ReplayManner::concurrent,
        two_iterations());
    run_sequential(program, model.problem(), model.plan, hosts.workers, two_iterations());
    for (std::size_t d = 0; d < guests.backends.size(); ++d) {
      CHECK(of_guest(d).reads == 0);
      CHECK(of_guest(d).copies > 0);
    }
    CHECK(guests.weights() == hosts.weights());
  }
}

TEST_CASE("parts of a message are whole numbers, which devices other than the host's exchange") {
  const CutModel model = replay::test::cut_model(
      small_chain(), {.rank = {0, 1}, .mini_batch = 4, .micro_batch = 1, .tensor_parallel = 3});
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  MannerTeam guests(model, program, guest), hosts(model, program), alone(model, program, guest);
  run_sequential(program, model.problem(), model.plan, alone.workers, two_iterations());
  run_sequential(program, model.problem(), model.plan, hosts.workers, two_iterations());
  run(program, model.problem(), model.plan, guests.workers, replay::ReplayManner::concurrent,
      two_iterations());
  CHECK(alone.weights() == hosts.weights());
  CHECK(guests.weights() == hosts.weights());
}

TEST_CASE("replicas whose devices have a library sum by it: one per set of devices, to the same gradients") {
  const CutModel model = replay::test::cut_model(
      small_chain(),
      {.schedule = "zbv", .rank = {0, 1, 1, 0}, .mini_batch = 16, .micro_batch = 2, .replicas = 2});
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  MannerTeam guests(model, program, guest), hosts(model, program);
  int libraries = 0, sums = 0;
  for (auto& backend : guests.backends) dynamic_cast<replay::test::GuestDevice&>(*backend).has_library = true;
  run(program, model.problem(), model.plan, guests.workers, replay::ReplayManner::concurrent,
      two_iterations());
  for (auto& backend : guests.backends) {
    libraries += dynamic_cast<replay::test::GuestDevice&>(*backend).libraries;
    sums += dynamic_cast<replay::test::GuestDevice&>(*backend).sums;
  }
  CHECK(libraries == 2);
  CHECK(sums == 3 * 4);  // 3 iterations of 4 stages
  run_sequential(program, model.problem(), model.plan, hosts.workers, two_iterations());
  CHECK(guests.weights() == hosts.weights());
}

TEST_CASE("an iteration put on all streams at once trains equally, in any order of the streams") {
  for (const auto& [family, replicas] :
       {std::pair<const char*, std::size_t>("gpipe", 1), {"1f1b", 3}, {"interleaved_1f1b", 2}, {"zbv", 2}})
    for (const std::uint64_t seed : {1, 2, 3}) {
      CAPTURE(std::string(family));
      CAPTURE(seed);
      const CutModel model = replay::test::cut_model(
          small_chain(), {.schedule = family,
                          .rank = placement(family),
                          .mini_batch = 24,
                          .micro_batch = 3,
                          .replicas = replicas,
                          .recompute = seed == 3 ? plan::kRecomputeStage : plan::Recomputation()});
      const auto program = replay::lower(model.graph, {model.graph, model.plan});
      replay::test::LazyDevices devices(seed);
      MannerTeam lazy(model, program,
                      [&](std::size_t d) { return std::make_unique<replay::test::LazyDevice>(devices, d); });
      MannerTeam hosts(model, program);
      std::vector<replay::DeviceWorker*> workers;
      for (const auto& worker : lazy.owned) workers.push_back(worker.get());
      replay::ReplayOptions once = two_iterations();
      once.warm_up = 0, once.iterations = 1;
      run_sequential(program, model.problem(), model.plan, lazy.workers, once);
      CHECK(run_as_cuda_graph(program, model.graph, model.plan, workers, 2, {}).size() == 2);
      once.iterations = 1 + 4;  // one before, two to get ready, two that count
      run_sequential(program, model.problem(), model.plan, hosts.workers, once);
      CHECK(lazy.weights() == hosts.weights());
    }
}

TEST_CASE("a plan that does not flush is no graph, and a request to stop ends launches") {
  const auto as_cuda_graph = [](const char* family, core::StopToken stop) {
    const CutModel model = replay::test::cut_model(
        small_chain(), {.schedule = family, .rank = placement(family), .mini_batch = 16, .micro_batch = 2});
    const auto program = replay::lower(model.graph, {model.graph, model.plan});
    MannerTeam team(model, program);
    std::vector<replay::DeviceWorker*> workers;
    for (const auto& worker : team.owned) workers.push_back(worker.get());
    return run_as_cuda_graph(program, model.graph, model.plan, workers, 1, stop);
  };
  CHECK_THROWS_WITH_AS(as_cuda_graph("pipedream", {}),
                       "a plan that does not flush is no graph: its weights lie elsewhere after an iteration",
                       core::BadInput);
  const std::atomic<bool> stopped = true;
  CHECK_THROWS_AS(as_cuda_graph("1f1b", core::StopToken(&stopped)), core::InterruptedError);
}

TEST_CASE("side by side every device has a place of its own, and all are of the host or none") {
  const CutModel model = replay::test::cut_model(small_chain(), {.rank = {0, 1}});
  CHECK(refusal(model, guest) == "");
  CHECK(refusal(model, [](std::size_t) { return guest(7); }) ==
        "more than one device is on guest 7, and side by side each needs its own; replay it with "
        "--sequential, or on "
        "partitions");
  CHECK(refusal(model, [](std::size_t d) { return d == 0 ? host(d) : guest(d); }) ==
        "devices of the host and others do not run side by side");
}

TEST_CASE("two partitions of a GPU train as one device does") {
  const auto present = kernels::devices_present();
  if (std::ranges::find(present, "cuda:0") == present.end()) {
    support::skip("there is no CUDA device");
    return;
  }
  for (const std::size_t replicas : {1, 2}) {
    CAPTURE(replicas);
    const CutModel model = replay::test::cut_model(
        small_chain(),
        {.rank = replicas == 1 ? std::vector{0, 1} : std::vector{0}, .mini_batch = 16, .replicas = replicas});
    const auto program = replay::lower(model.graph, {model.graph, model.plan});
    MannerTeam partitions(model, program, [](std::size_t) { return kernels::open_device("cuda:0/2"); });
    MannerTeam whole(model, program, [](std::size_t) { return kernels::open_device("cuda:0"); });
    MannerTeam hosts(model, program);
    run(program, model.problem(), model.plan, partitions.workers, replay::ReplayManner::concurrent,
        two_iterations());
    run(program, model.problem(), model.plan, whole.workers, replay::ReplayManner::sequential,
        two_iterations());
    run_sequential(program, model.problem(), model.plan, hosts.workers, two_iterations());
    std::vector<replay::DeviceWorker*> workers;
    for (const auto& worker : partitions.owned) workers.push_back(worker.get());
    const auto apart = partitions.weights();
    CHECK(run_as_cuda_graph(program, model.graph, model.plan, workers, 2, {}).size() == 2);
    CHECK(partitions.weights() != apart);
    const auto expected = hosts.weights(), together = whole.weights();
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (std::size_t k = 0; k < expected[i].size(); ++k) {
        CHECK(apart[i][k] == support::near(expected[i][k], 1e-4));
        CHECK(together[i][k] == support::near(expected[i][k], 1e-4));
      }
  }
}
