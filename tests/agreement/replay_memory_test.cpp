// Two witnesses of memory: the fullest moment of a replay's devices, and the simulator.

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "models/parameters.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/random.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "replay/cut_model.hpp"
#include "replay/round_robin.hpp"
#include "support/near.hpp"

using namespace penstock;
using plan::MemoryKind;
using replay::test::cut_model;
using replay::test::CutModel;
using replay::test::CutSetting;

namespace {

using Given = std::map<std::string, std::string>;

/// Compares memory that does not depend on the arrival times of messages. Workspace is left out: scratch of
/// kernels is known to calibrations only (workspace_test).
/// `spare`: the share by which activations may differ: a graph counts per sample, and so leaves out the
/// statistics of batch norms. If cores are computed again, tensors that split backward passes leave to weight
/// gradients count from the first core on. The last core is fullest before the layers in front have freed
/// theirs.
void compare(const CutModel& c, double spare = 1e-9, bool tell = false) {
  const auto host = kernels::open_device("host", 1);
  const auto order = schedule::plan_order(c.plan);
  const auto program = replay::lower(c.graph, {c.graph, c.plan, order});
  replay::test::RoundRobin replayed(*host, c.problem(), c.plan, program, {});
  replayed.run();
  const auto summary = trace::summarise(sim::simulate(c.problem(), {c.problem().graph, c.plan, order}, {}));
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    CAPTURE(d);
    const auto memory = replayed.worker(d).memory();
    const auto& real = memory.at_peak;
    const auto& simulated = summary.devices[d].at_peak;
    for (const auto kind :
         {MemoryKind::weights, MemoryKind::gradients, MemoryKind::optimizer, MemoryKind::versions})
      CHECK_MESSAGE(at(real, kind) == at(simulated, kind), plan::name(kind));
    const auto waiting = at(real, MemoryKind::buffers), all = at(simulated, MemoryKind::buffers);
    if (c.plan.stages.front().recompute == plan::kRecomputeCore && c.plan.schedule == "zb_h1") {
      CHECK(waiting <= all);
      CHECK(waiting > all / 2);
    } else if (program.devices.size() == 1) {
      CHECK(waiting == all);
    }
    CHECK(at(memory.most, MemoryKind::activations) / at(simulated, MemoryKind::activations) ==
          support::near(1, spare));
    if (tell)
      MESSAGE(c.graph.name(), " ", c.plan.schedule, ", device ", d, ": ",
              plan::total(real) / plan::total(simulated), " of the simulated bytes; workspace ",
              core::show(at(real, MemoryKind::workspace)), " for ",
              core::show(at(simulated, MemoryKind::workspace)), ", buffers ",
              core::show(at(real, MemoryKind::buffers)), " for ",
              core::show(at(simulated, MemoryKind::buffers)));
  }
}

void compare(const std::string& model, const Given& given, const CutSetting& cut, double spare = 1e-9,
             bool tell = false) {
  CAPTURE(model);
  CAPTURE(cut.schedule);
  compare(cut_model(models::build(model, given), cut), spare, tell);
}

graph::OpGraph as_its_builder_lists_it(const std::string& model, const Given& given) {
  const auto& info = *std::ranges::find(models::catalogue(), model, &models::ModelInfo::name);
  return info.build(models::Parameters(info, given));
}

const Given kTransformer = {
    {"layers", "6"}, {"hidden", "16"}, {"heads", "4"}, {"sequence", "8"}, {"feed_forward", "32"}};
const Given kGpt = {{"vocabulary", "97"}, {"layers", "3"},        {"hidden", "16"},   {"heads", "4"},
                    {"sequence", "8"},    {"attention", "split"}, {"tied_head", "no"}};

}  // namespace

TEST_CASE("a replay's weights, versions and activations take what the simulator counts") {
  compare("transformer", kTransformer, {.mini_batch = 16});
  compare("transformer", kTransformer,
          {.schedule = "gpipe", .mini_batch = 16, .optimizer = plan::Optimizer::adam});
  compare("transformer", kTransformer,
          {.schedule = "gpipe", .mini_batch = 16, .recompute = plan::kRecomputeStage});
  compare("transformer", kTransformer,
          {.schedule = "gpipe", .mini_batch = 16, .recompute = plan::kRecomputeLayers});
  compare("transformer", kTransformer, {.schedule = "zb_h1", .mini_batch = 16});
  Given with_loss = kGpt;
  with_loss["loss"] = "yes";
  compare("gpt", with_loss, {.schedule = "zb_h1", .mini_batch = 16});
  compare("transformer", kTransformer, {.mini_batch = 16, .replicas = 2});
  compare("gpt", kGpt, {.mini_batch = 16});
  // Without other memory: buffers are what weight gradients wait with. Where the value's product comes before
  // the scores, as the zoo's builder lists it, all of them wait when the device is fullest. In canonical
  // order it is fullest at another moment, with more workspace: 38720 of 43968 bytes wait then.
  for (const char* schedule : {"zb_h1", "zb_h2"})
    compare(cut_model(as_its_builder_lists_it("gpt", kGpt),
                      {.schedule = schedule, .rank = {0}, .mini_batch = 16}));
  for (const plan::Recomputation& layers :
       {plan::kRecomputeLayers, plan::Recomputation{plan::Recomputation::SegmentScope::layers, false, 1},
        plan::Recomputation{plan::Recomputation::SegmentScope::layers, false, 2}, plan::kRecomputeCore})
    compare("gpt", kGpt, {.rank = {0}, .mini_batch = 16, .recompute = layers});
  for (const char* layers : {"1", "3"}) {
    auto gpt = kGpt;
    gpt["layers"] = layers;
    compare("gpt", gpt,
            {.schedule = "zb_h1", .rank = {0}, .mini_batch = 16, .recompute = plan::kRecomputeCore});
  }
  // Sums that a function works on in place last from block to block.
  compare("resnet50", {{"resolution", "32"}},
          {.rank = {0}, .mini_batch = 4, .recompute = plan::kRecomputeLayers}, 0.02);
  compare("dlrm", {{"table_rows", "50"}, {"tower_input", "16"}, {"width", "16"}}, {.mini_batch = 16});
}

TEST_CASE("devices of a tensor-parallel group take what the simulator counts") {
  for (const int devices : {2, 4})
    for (const auto& recompute : {plan::Recomputation(), plan::kRecomputeStage, plan::kRecomputeLayers})
      compare(
          "transformer", kTransformer,
          {.rank = {0}, .mini_batch = 16, .replicas = 2, .tensor_parallel = devices, .recompute = recompute});
}

/// Three layers; every matrix divided in any way, the rest by its neighbours or by samples.
CutModel alternating(std::uint64_t seed) {
  core::Random random(seed);
  models::Layers net("alternating");
  const auto function = [&] {
    const models::Activation all[] = {models::Activation::none, models::Activation::gelu,
                                      models::Activation::tanh};
    return all[random.between(0, 2)];
  };
  auto x = net.input("x", {4, 8});
  for (const std::string layer : {"layer0.", "layer1.", "layer2."}) {
    const auto a = net.linear(layer + "wide", net.layer_norm(layer + "norm", x), 16, {.fused = function()});
    const auto b = net.activation(layer + "gelu", a, models::Activation::gelu);
    x = net.add(layer + "add", {x, net.linear(layer + "narrow", b, 8)});
    if (random.chance(0.3)) x = net.attention(layer + "attention", x, x, x, 4);
  }
  net.linear("head", x, 8);
  CutSetting cut{.rank = {0}, .mini_batch = 16, .micro_batch = 8};
  if (random.chance(0.5)) cut.rank = {0, 1};
  cut.tensor_parallel = random.chance(0.5) ? 2 : 4;
  const plan::Recomputation again[] = {{},
                                       plan::kRecomputeStage,
                                       plan::kRecomputeLayers,
                                       {plan::Recomputation::SegmentScope::layers, false, 1}};
  cut.recompute = again[random.between(0, 3)];
  CutModel out = cut_model(net.build(), cut);
  for (plan::Stage& stage : out.plan.stages)
    for (const core::OpId id : stage.operators) {
      const graph::OpKind kind = out.graph.op(id).kind;
      const bool matrix = kind == graph::OpKind::linear || kind == graph::OpKind::attention;
      // By rows, a fused GELU keeps its argument; else the host's does, too, which the model computes again.
      if (graph::as<graph::Linear>(out.graph.op(id)).function == graph::Function::gelu)
        stage.partition[id] = plan::Partition::row;
      else if (matrix)
        stage.partition[id] = static_cast<plan::Partition>(random.between(0, 3));
      else if (kind == graph::OpKind::norm || random.chance(0.3))
        stage.partition[id] = random.chance(0.5) ? plan::Partition::whole : plan::Partition::batch;
    }
  return out;
}

TEST_CASE("devices whose operators are divided in turn otherwise keep what the simulator counts") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    compare(alternating(seed));
  }
}

TEST_CASE("a replay without a flush holds the versions that the simulator counts") {
  compare("transformer", kTransformer, {.schedule = "pipedream", .mini_batch = 2});
  compare("transformer", kTransformer, {.schedule = "pipedream_2bw", .mini_batch = 8});
  // Replicas: gradients of one mini-batch wait for their sum while those of the next one are added up, and
  // then make room for the version that they make.
  for (const std::string schedule : {"pipedream", "pipedream_2bw"})
    for (const std::size_t replicas : {2, 3}) {
      CAPTURE(replicas);
      compare("transformer", kTransformer, {.schedule = schedule, .mini_batch = 24, .replicas = replicas});
      compare("transformer", kTransformer,
              {.schedule = schedule, .rank = {0}, .mini_batch = 12, .replicas = replicas});
    }
}

TEST_SUITE("slow") {
  TEST_CASE("a replay of larger models takes what the simulator counts") {
    const Given transformer = {
        {"layers", "6"}, {"hidden", "256"}, {"heads", "4"}, {"sequence", "128"}, {"feed_forward", "1024"}};
    for (const std::string schedule : {"1f1b", "gpipe", "zb_h1"})
      compare("transformer", transformer,
              {.schedule = schedule, .mini_batch = 24, .micro_batch = 4, .optimizer = plan::Optimizer::adam},
              1e-9, true);
    compare("resnet50", {{"resolution", "64"}}, {.mini_batch = 16, .micro_batch = 4}, 1e-9, true);
    compare("inception_v3", {{"resolution", "75"}}, {.mini_batch = 16, .micro_batch = 4}, 1e-9, true);
  }
}
