// Parameters that stages share: concurrently and in sequential emulation, beside the simulator, and what is
// refused.

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/check/trace_violations.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/ties.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/device_worker.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "replay/fake_worker.hpp"
#include "replay/run/concurrent.hpp"
#include "replay/run/sequential.hpp"
#include "replay/run/traced.hpp"
#include "replay/shared_model.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::DeviceId;
using core::StageId;
using replay::DeviceInstruction;
using replay::DevicePrograms;
using replay::test::CutModel;
using replay::test::CutSetting;
using replay::test::shared_chain;
using replay::test::shared_model;
using schedule::ActionKind;
using trace::Span;

namespace {

struct SharedSetup {
  std::string schedule;
  std::vector<std::int32_t> rank;
  std::vector<std::size_t> replicas;
  plan::Recomputation recompute{};
};
const std::vector<SharedSetup> kPlans = {{"1f1b", {0, 1, 2}, {1, 1, 2}},
                                         {"gpipe", {0, 1}, {3, 1}, plan::kRecomputeStage},
                                         {"zb_h1", {0, 1}, {2, 2}},
                                         {"interleaved_1f1b", {0, 1, 0, 1}, {1, 2}},
                                         {"zbv", {0, 1, 1, 0}, {2, 1}}};

CutModel model_of(const std::string& name, const SharedSetup& given) {
  const CutSetting cut{.schedule = given.schedule,
                       .rank = given.rank,
                       .mini_batch = 12,
                       .micro_batch = 3,
                       .recompute = given.recompute,
                       .sequential = true,
                       .optimizer = plan::Optimizer::adam};
  return shared_model(name, cut, given.replicas);
}

DevicePrograms program_of(const CutModel& model) {
  return replay::lower(model.graph, {model.graph, model.plan});
}

/// Real workers, a backend each.
struct SharedTeam {
  SharedTeam(const CutModel& m, const DevicePrograms& program) : model(m) {
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      backends.push_back(kernels::open_device("host", 1));
      owned.push_back(make_worker(*backends[d], m.problem(), m.plan, DeviceId(d), program, {}));
      workers.push_back(owned[d].get());
    }
  }
  /// By owner: what every operator that uses its parameters has on every device.
  std::map<core::OpId, std::vector<std::vector<double>>> weights() {
    std::map<core::OpId, std::vector<std::vector<double>>> out;
    for (const plan::Stage& stage : model.plan.stages)
      for (const DeviceId device : stage.devices)
        for (const core::OpId op : stage.operators)
          for (const auto& buffer : owned[device.index()]->weights_of(op))
            out[model.graph.owner(op)].push_back(kernels::read_values(*backends[device.index()], *buffer));
    return out;
  }

  const CutModel& model;
  std::vector<std::unique_ptr<kernels::Backend>> backends;
  std::vector<std::unique_ptr<replay::DeviceWorker>> owned;
  std::vector<replay::Worker*> workers;
};

core::Seconds duration(const CutModel& m, DeviceId device, const DeviceInstruction& i) {
  if (!i.stage.valid() || i.kind == ActionKind::reduce_gradient) return {};
  const cost::Problem problem = m.problem();
  const plan::Stage& stage = m.plan.stages[i.stage.index()];
  const auto replica = static_cast<std::size_t>(
      std::find(stage.devices.begin(), stage.devices.end(), device) - stage.devices.begin());
  if (i.kind == ActionKind::step) return cost::step_time(problem, stage, 0, m.cluster.type(device));
  const auto time = cost::stage_time(problem, stage, stage.operators, replica, i.samples.count).total();
  if (i.kind == ActionKind::forward || i.kind == ActionKind::recompute) return time.forward;
  if (i.kind == ActionKind::backward) return time.backward();
  return i.kind == ActionKind::input_gradient ? time.input_gradient : time.weight_gradient;
}

/// Replayed with workers that take the times of the cost model.
trace::Trace imitated(const CutModel& m) {
  const DevicePrograms program = program_of(m);
  replay::test::FakeWorkers fakes(program, m.graph);
  core::Seconds clock;
  for (std::size_t d = 0; d < fakes.list.size(); ++d)
    fakes.list[d]->work = [&, d](const DeviceInstruction& i) { clock += duration(m, DeviceId(d), i); };
  replay::ReplayOptions options;
  options.warm_up = 0;
  options.iterations = 1;
  const auto records =
      run_sequential(program, m.problem(), m.plan, fakes.workers, options, [&] { return clock; });
  return trace_of(program, m.problem(), m.plan, records.iterations.back(), records.peaks);
}

using Key = std::tuple<DeviceId, StageId, bool, core::Bytes, std::int64_t, std::int64_t>;

/// All-reduces, in nanoseconds.
std::vector<Key> sums(const trace::Trace& trace) {
  std::vector<Key> out;
  const auto rounded = [](core::Picoseconds time) { return (time.value() + 500) / 1000; };
  for (const Span& s : trace.spans)
    if (s.kind == trace::TaskKind::all_reduce)
      out.emplace_back(s.device, s.stage, s.shared, s.bytes, rounded(s.start), rounded(s.end));
  std::sort(out.begin(), out.end());
  return out;
}

void check_bits(const CutModel& model) {
  const DevicePrograms program = program_of(model);
  SharedTeam parallel(model, program), alone(model, program);
  replay::ReplayOptions options;
  options.iterations = 2;
  run_concurrent(program, model.problem(), model.plan, parallel.workers, options, {});
  run_sequential(program, model.problem(), model.plan, alone.workers, options);
  const auto weights = parallel.weights();
  CHECK(weights == alone.weights());
  for (const auto& shared : program.shared) {
    const auto& copies = weights.at(shared.owners.front());
    CHECK(copies.size() >= 2);
    for (const auto& copy : copies) CHECK(copy == copies.front());
  }
}

void check_simulated(const CutModel& m) {
  const auto order = schedule::plan_order(m.plan);
  const auto simulated = sim::simulate(m.problem(), {m.problem().graph, m.plan, order});
  const auto replayed = imitated(m);
  CHECK(std::ranges::any_of(simulated.spans, &Span::shared));
  CHECK(sums(replayed) == sums(simulated));
  CHECK(to_seconds(replayed.iteration).value() ==
        support::near(to_seconds(simulated.iteration).value(), 1e-9));
  CHECK(check::trace_violations(m.problem(), {m.problem().graph, m.plan, order}, simulated) ==
        std::vector<std::string>{});
}

}  // namespace

TEST_CASE("concurrently and in sequential emulation, copies have the same bits after several iterations") {
  for (const std::string name : {"gpt", "encoder_decoder"})
    for (const SharedSetup& given : kPlans) {
      CAPTURE(name);
      CAPTURE(given.schedule);
      check_bits(model_of(name, given));
    }
}

TEST_CASE("the simulator has the same sums, of the same bytes at the same time") {
  for (const std::string name : {"gpt", "encoder_decoder"})
    for (const SharedSetup& given : kPlans) {
      CAPTURE(name);
      CAPTURE(given.schedule);
      check_simulated(model_of(name, given));
    }
}

TEST_CASE("two sums that ranks are ready for in opposite orders do not wait for each other") {
  const CutModel crossed = replay::test::crossed_chain();
  CHECK(program_of(crossed).shared.size() == 2);
  check_bits(crossed);
  check_simulated(crossed);
}

TEST_CASE("weights, gradients and state of copies take what the simulator counts") {
  for (const std::string name : {"gpt", "encoder_decoder"})
    for (const SharedSetup& given : kPlans) {
      CAPTURE(name);
      CAPTURE(given.schedule);
      const CutModel m = model_of(name, given);
      const DevicePrograms program = program_of(m);
      SharedTeam team(m, program);
      const auto simulated = trace::summarise(sim::simulate(m.problem(), {m.problem().graph, m.plan}));
      for (std::size_t d = 0; d < program.devices.size(); ++d)
        for (const auto kind :
             {plan::MemoryKind::weights, plan::MemoryKind::gradients, plan::MemoryKind::optimizer})
          CHECK(at(team.workers[d]->memory().at_peak, kind) == at(simulated.devices[d].at_peak, kind));
    }
}

TEST_CASE("a program sums what is shared after the gradients of both stages, once per device") {
  // Table on devices 0 and 1, middle on 2, head on 3. The table is all that stage 0 has: nothing of its own
  // to reduce.
  const CutModel chain = shared_chain({2, 1, 1});
  const DevicePrograms program = program_of(chain);
  const auto passes = [&](std::size_t d) {
    std::vector<ActionKind> out;
    for (const DeviceInstruction& i : program.devices[d]) out.push_back(i.kind);
    return out;
  };
  const std::vector<ActionKind> table = {ActionKind::forward,         ActionKind::forward,
                                         ActionKind::backward,        ActionKind::backward,
                                         ActionKind::reduce_gradient, ActionKind::step};
  CHECK(passes(0) == table);
  CHECK(passes(1) == table);
  CHECK(program.devices[0][4].shared == 0);
  CHECK(passes(2).back() == ActionKind::step);
  CHECK(std::ranges::count(passes(2), ActionKind::reduce_gradient) == 0);
  CHECK(std::ranges::count(passes(3), ActionKind::reduce_gradient) == 1);
}

TEST_CASE("an update before the sum it needs is refused") {
  const CutModel chain = shared_chain({1, 1, 1});
  auto order = schedule::plan_order(chain.plan);
  auto& row = order.ranks[0];
  std::rotate(row.begin(), row.end() - 1, row.end());  // STEP first
  CHECK_THROWS_WITH_AS(replay::lower(chain.graph, {chain.graph, chain.plan, order}),
                       "0STEP comes before the sum of what the stage shares with others", core::BadInput);
}
