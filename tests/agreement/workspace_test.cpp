// Two witnesses of a device's peak: what a replay holds, and the memory model with the kernels' scratch as a
// calibration has it. Kernels run hollow: nothing is computed, so models may be large.

#include <doctest/doctest.h>

#include <set>

#include "models/catalogue.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/calibrated.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "replay/cut_model.hpp"
#include "replay/hollow_backend.hpp"
#include "replay/round_robin.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using plan::MemoryKind;
using replay::test::CutSetting;

namespace {

using Given = std::map<std::string, std::string>;

/// The workspace of an operator's passes, at one sample and at `most`; each takes a second.
std::vector<cost::KernelPoint> points(kernels::Backend& host, const graph::Operator& op, std::int64_t most) {
  std::vector<cost::KernelPoint> out;
  for (const auto pass : {graph::Pass::forward, graph::Pass::input_gradient, graph::Pass::weight_gradient})
    for (const std::int64_t samples : std::set{std::int64_t{1}, most}) {
      const auto kernel = host.make_kernel(op, samples, kernels::Precision::fp32);
      if (!kernel->has(pass)) continue;
      out.push_back(support::point(static_cast<graph::Pass>(pass), samples, 1));
      out.back().workspace = kernel->workspace(pass);
    }
  return out;
}

cost::Calibration measured(kernels::Backend& host, const graph::OpGraph& graph, std::int64_t most) {
  cost::Calibration out = support::bare_calibration();
  out.leave_one_out = {{}};  // not used here
  std::set<cost::KernelKey> seen;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto& op = graph.op(core::OpId(v));
    const auto key = cost::key_of(op, cluster::Precision::fp32);
    if (kernels::has_kernel(op.kind) && seen.insert(key).second)
      out.kernels.push_back(
          {key, cost::work_of(graph, core::OpId(v), cluster::Precision::fp32), points(host, op, most)});
  }
  return out;
}

/// The peak of the one stage of a tensor-parallel group, by the memory model; its matrices divided in turn in
/// these ways.
double divided_peak(const graph::OpGraph& graph, const std::vector<plan::Partition>& ways) {
  const auto host = kernels::open_device("host", 1);
  const auto hollow = replay::test::hollow(*host);
  auto c =
      replay::test::cut_model(graph, {.rank = {0}, .mini_batch = 16, .micro_batch = 4, .tensor_parallel = 2});
  std::size_t matrices = 0;
  for (const core::OpId id : c.plan.stages[0].operators)
    if (c.graph.op(id).kind == graph::OpKind::linear)
      c.plan.stages[0].partition[id] = ways[matrices++ % ways.size()];
  const cost::CalibratedCosts costs(measured(*host, c.graph, 4));
  const cost::Problem problem{c.graph, c.cluster, costs, c.plan.training};
  const auto program = replay::lower(c.graph, {c.graph, c.plan, schedule::plan_order(c.plan)});
  replay::test::RoundRobin replayed(*hollow, problem, c.plan, program, {});
  replayed.run();
  const auto judged = score::stage_memories(problem, c.plan)[0], real = replayed.worker(0).memory().at_peak;
  return plan::total(real) / plan::total(judged);
}

/// The replay makes room for messages as soon as it may: what the judge counts, not the simulator.
void compare(const graph::OpGraph& graph, const CutSetting& cut) {
  const auto host = kernels::open_device("host", 1);
  const auto hollow = replay::test::hollow(*host);
  const auto c = replay::test::cut_model(graph, cut);
  const cost::CalibratedCosts costs(measured(*host, graph, cut.micro_batch));
  const cost::Problem problem{c.graph, c.cluster, costs, c.plan.training};
  const auto order = schedule::plan_order(c.plan);
  const auto program = replay::lower(c.graph, {c.graph, c.plan, order});
  replay::test::RoundRobin replayed(*hollow, problem, c.plan, program, {});
  replayed.run();
  const auto judged = score::stage_memories(problem, c.plan);
  const auto summary = trace::summarise(sim::simulate(problem, {problem.graph, c.plan, order}, {}));
  for (std::size_t s = 0; s < judged.size(); ++s) {
    CAPTURE(s);
    const auto real = replayed.worker(s).memory().at_peak;
    const auto kind = [&](MemoryKind k) {
      return core::show(at(judged[s], k)) + " for " + core::show(at(real, k));
    };
    INFO("workspace ", kind(MemoryKind::workspace), ", activations ", kind(MemoryKind::activations),
         ", buffers ", kind(MemoryKind::buffers));
    CHECK(plan::total(judged[s]) / plan::total(real) == support::near(1, 0.02));
    CHECK(at(summary.devices[s].at_peak, MemoryKind::workspace) == at(judged[s], MemoryKind::workspace));
    if (judged.size() == 1) CHECK(at(real, MemoryKind::workspace) == at(judged[s], MemoryKind::workspace));
  }
}

/// [device] of a split schedule: memory at its fullest, by the simulator.
std::vector<double> split_peaks(const std::string& model, const Given& given, const CutSetting& cut) {
  const auto host = kernels::open_device("host", 1);
  const auto hollow = replay::test::hollow(*host);
  const auto c = replay::test::cut_model(models::build(model, given), cut);
  const cost::CalibratedCosts costs(measured(*host, c.graph, cut.micro_batch));
  const cost::Problem problem{c.graph, c.cluster, costs, c.plan.training};
  const schedule::ScheduledPlan scheduled{c.graph, c.plan};
  const auto program = replay::lower(c.graph, scheduled);
  replay::test::RoundRobin replayed(*hollow, problem, c.plan, program, {});
  replayed.run();
  const auto summary = trace::summarise(sim::simulate(problem, scheduled, {}));
  std::vector<double> out;
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    const auto real = replayed.worker(d).memory().at_peak;
    out.push_back(plan::total(real) / plan::total(summary.devices[d].at_peak));
  }
  return out;
}

void compare(const std::string& model, const Given& given, const CutSetting& cut) {
  CAPTURE(model);
  CAPTURE(cut.rank.size());
  compare(models::build(model, given), cut);
}

CutSetting stages(std::vector<std::int32_t> rank) {
  return {.rank = std::move(rank), .mini_batch = 16, .micro_batch = 4};
}

const Given kLayers = {{"sequence", "64"}, {"layers", "2"}, {"hidden", "64"}, {"heads", "4"}};

}  // namespace

TEST_CASE("a replay's peak equals the memory model") {
  const std::vector<std::pair<std::string, Given>> zoo = {
      {"mmt", kLayers},
      {"case_study", kLayers},
      {"transformer", kLayers},
      {"clip",
       {{"resolution", "64"},
        {"text_layers", "2"},
        {"text_hidden", "32"},
        {"text_heads", "4"},
        {"image_layers", "2"},
        {"image_hidden", "64"},
        {"image_heads", "4"}}},
      {"candle_uno", {{"towers", "2"}, {"width", "128"}}},
      {"dlrm",
       {{"branches", "3"},
        {"table_rows", "500"},
        {"bag_size", "10"},
        {"tower_input", "128"},
        {"width", "128"}}},
      {"encoder_decoder",
       {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"feed_forward", "128"}, {"vocabulary", "500"}}},
      {"gpt",
       {{"layers", "2"},
        {"hidden", "64"},
        {"heads", "4"},
        {"sequence", "64"},
        {"vocabulary", "500"},
        {"attention", "split"},
        {"tied_head", "no"}}}};
  for (const auto& [model, given] : zoo) {
    compare(model, given, stages({0}));
    if (model != "encoder_decoder") compare(model, given, stages({0, 1}));  // its stages would share weights
  }
}

TEST_CASE("a replay's peak equals the memory model if partitions alternate") {
  using plan::Partition;
  const auto whole = Partition::whole, batch = Partition::batch, column = Partition::column,
             row = Partition::row;
  const auto graph = models::build(
      "transformer",
      {{"sequence", "64"}, {"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"feed_forward", "256"}});
  for (const auto& ways : std::vector<std::vector<Partition>>{{column, row},
                                                              {column, column},
                                                              {row, row},
                                                              {row, column},
                                                              {whole, row},
                                                              {batch, column},
                                                              {row, batch}}) {
    CAPTURE(static_cast<int>(ways[0]));
    CAPTURE(static_cast<int>(ways[1]));
    CHECK(divided_peak(graph, ways) == support::near(1, 0.02));
  }
}

/// The largest scratch counts beside all that is deferred, though it falls into the pass that defers it or
/// when some of it is used up.
TEST_CASE("a replay of split backward passes takes no more than the simulator counts, and little less") {
  const Given gpt = {{"layers", "2"},       {"hidden", "64"},       {"heads", "4"},     {"sequence", "64"},
                     {"vocabulary", "500"}, {"attention", "split"}, {"tied_head", "no"}};
  for (const char* schedule : {"zb_h1", "zb_h2"}) {
    CAPTURE(schedule);
    const CutSetting cut{.schedule = schedule, .rank = {0}, .mini_batch = 32, .micro_batch = 4};
    for (const double peak : {split_peaks("transformer", kLayers, cut)[0], split_peaks("gpt", gpt, cut)[0]}) {
      CHECK(peak <= 1);
      CHECK(peak > 0.89);
    }
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a replay's peak of larger models equals the memory model") {
    const std::vector<std::pair<std::string, Given>> zoo = {
        {"resnet50", {}}, {"inception_v3", {}}, {"vgg16", {}}, {"bert", {{"sequence", "128"}}}};
    for (const auto& [model, given] : zoo) {
      compare(model, given, stages({0}));
      compare(model, given, stages({0, 1}));
    }
  }
}
