// The executors and the worker that trains, together: the weights are those of devices that take turns.

#include <doctest/doctest.h>

#include "cut_model.hpp"
#include "models/layers.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/replay.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "round_robin.hpp"

using namespace penstock;
using replay::ReplayManner;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;

namespace {

graph::OpGraph two_towers() {
  models::Layers net("towers");
  const models::Dense tanh{.bias = true, .fused = models::Activation::tanh};
  const auto a = net.linear("a1", net.linear("a0", net.input("a", {5}), 6, tanh), 7, tanh);
  const auto b = net.linear("b1", net.linear("b0", net.input("b", {4}), 6, tanh), 5, tanh);
  net.linear("head1", net.linear("head0", net.concat("both", {a, b}), 6, tanh), 3);
  return net.build();
}

/// A warm-up and two iterations that count, each device with a backend of its own.
void check_run(const CutSetting& cut, ReplayManner manner) {
  CAPTURE(cut.schedule);
  const CutModel c = cut_model(two_towers(), cut);
  const replay::TrainingSetup setup{.seed = 3, .rule = {.rate = 0.01f}};
  const auto program = replay::lower(c.graph, {c.graph, c.plan});
  std::vector<std::unique_ptr<kernels::Backend>> backends;
  std::vector<std::unique_ptr<replay::DeviceWorker>> owned;
  std::vector<replay::Worker*> workers;
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    backends.push_back(kernels::open_device("host", 1));
    owned.push_back(make_worker(*backends[d], c.problem(), c.plan, core::DeviceId(d), program, setup));
    workers.push_back(owned[d].get());
  }
  const auto result =
      replay::run(program, c.problem(), c.plan, workers, manner, {.warm_up = 1, .iterations = 2});
  CHECK(result.trace.devices.size() >= workers.size());

  replay::test::RoundRobin turns(*backends[0], c.problem(), c.plan, program, setup);
  for (int i = 0; i < 3; ++i) turns.run();
  replay::test::Weights found;
  for (std::size_t s = 0; s < c.plan.stages.size(); ++s)
    for (const core::OpId op : c.plan.stages[s].operators)
      for (const auto& buffer : owned[c.plan.stages[s].devices[0].index()]->weights_of(op))
        found[op].push_back(kernels::read_values(*backends[0], *buffer));
  CHECK(replay::test::distance(found, turns.weights()) < 1e-6);
}

}  // namespace

TEST_CASE("a run in sequential emulation trains") {
  for (const std::string schedule : {"1f1b", "gpipe", "zb_h1"})
    check_run({.schedule = schedule, .mini_batch = 8}, ReplayManner::sequential);
  check_run({.mini_batch = 8, .micro_batch = 4, .replicas = 2, .recompute = plan::kRecomputeStage},
            ReplayManner::sequential);
}

TEST_CASE("a run in sequential emulation without a flush trains, replicas that hide their sums too") {
  check_run({.schedule = "pipedream", .mini_batch = 2}, ReplayManner::sequential);
  check_run({.schedule = "pipedream_2bw", .mini_batch = 16, .replicas = 2}, ReplayManner::sequential);
}

TEST_CASE("a run side by side trains, stages of one device too") {
  check_run({.schedule = "gpipe", .rank = {0}, .mini_batch = 8}, ReplayManner::concurrent);
  check_run({.schedule = "interleaved_1f1b", .rank = {0, 0, 0}, .mini_batch = 8}, ReplayManner::concurrent);
}
