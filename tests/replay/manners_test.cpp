// Real training side by side and one device at a time: the same weights, bit by bit.

#include <doctest/doctest.h>

#include "cut_model.hpp"
#include "models/layers.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/device_worker.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/trace/summary.hpp"
#include "replay/parallel.hpp"
#include "replay/recomposed.hpp"
#include "replay/traced.hpp"

using namespace penstock;
using replay::test::Cut;
using replay::test::CutModel;

namespace {

graph::OpGraph small_chain() {
  models::Layers net("chain");
  auto x = net.input("x", {6});
  for (int i = 0; i < 12; ++i)
    x = net.linear("layer" + std::to_string(i), x, 5 + i % 4,
                   {.bias = true, .fused = models::Activation::tanh});
  return net.build();
}

/// A worker for every device, with a backend of its own.
struct Team {
  Team(const CutModel& model, const replay::Program& program) : plan(model.plan) {
    replay::TrainingSetup setup;
    setup.rule.rate = 1e-3f;
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      backends.push_back(kernels::open_device("host", 1));
      owned.push_back(
          make_worker(*backends.back(), model.problem(), model.plan, core::DeviceId(d), program, setup));
      workers.push_back(owned.back().get());
    }
  }
  /// Of all operators on all replicas.
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

std::vector<std::int32_t> placement(const std::string& family) {
  schedule::GridShape shape;
  shape.ranks = 4;
  shape.micro_batches = 8;
  return schedule::make_grid(family, shape).rank_of_stage;
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
      const auto program = replay::lower(model.graph, model.plan, schedule::plan_order(model.plan));
      Team together(model, program), alone(model, program);
      replay::ReplayOptions options;
      options.iterations = 2;
      options.throttle = false;
      const auto side_by_side = run_parallel(program, model.problem(), model.plan, together.workers, options,
                                             replay::allowed_cores());
      run_recomposed(program, model.problem(), model.plan, alone.workers, options);
      CHECK(together.weights() == alone.weights());
      const auto summary = trace::summarise(
          trace_of(program, model.problem(), model.plan, side_by_side.iterations.back(), side_by_side.peaks));
      for (std::size_t d = 0; d < together.workers.size(); ++d)
        CHECK(summary.devices[d].peak == plan::total(together.workers[d]->memory().at_peak));
    }
}
