// How devices of a tensor-parallel group meet, in both manners: their clock, their failures.

#include <doctest/doctest.h>

#include "cut_model.hpp"
#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/device_worker.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "replay/groups/relay.hpp"
#include "replay/run/concurrent.hpp"
#include "replay/run/sequential.hpp"
#include "replay/worker/sharding.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::DeviceId;
using core::Seconds;
using replay::test::CutModel;
using replay::test::CutSetting;

namespace {

CutModel small_gpt(const CutSetting& cut) {
  return replay::test::cut_model(models::build("gpt", {{"vocabulary", "13"},
                                                       {"layers", "1"},
                                                       {"hidden", "8"},
                                                       {"heads", "4"},
                                                       {"sequence", "4"},
                                                       {"tied_head", "no"}}),
                                 cut);
}

/// A dense layer and a mixture in each of two stages.
CutModel small_mixture(const CutSetting& cut) {
  models::Layers net("mixture");
  auto x = net.input("x", {4, 6});
  for (const std::string layer : {"layer0", "layer1"}) {
    x = net.linear(layer + ".dense", x, 6);
    const auto scores = net.softmax(layer + ".scores", net.linear(layer + ".router", x, 4));
    x = net.experts(layer + ".experts", x, scores, {.chosen = 2, .inner = 5});
  }
  return replay::test::cut_model(net.build(), cut);
}

CutModel small_model(const CutSetting& cut) {
  return cut.expert_parallel > 1 ? small_mixture(cut) : small_gpt(cut);
}

/// A worker with exchangeable behaviour.
class WilfulWorker : public replay::Worker {
 public:
  explicit WilfulWorker(std::unique_ptr<replay::DeviceWorker> worker) : worker_(std::move(worker)) {}
  std::function<bool(const replay::DeviceInstruction&)> instead = [](const auto&) { return false; };

  void join(replay::GroupPeers& peers) override { worker_->join(peers); }
  void run(const replay::DeviceInstruction& i) override {
    if (!instead(i)) worker_->run(i);
  }
  std::vector<replay::BufferRegion> incoming(const replay::DeviceMessage& m) override {
    return worker_->incoming(m);
  }
  std::vector<replay::BufferRegion> outgoing(const replay::DeviceMessage& m) override {
    return worker_->outgoing(m);
  }
  std::vector<replay::BufferRegion> gradients(core::StageId stage) override {
    return worker_->gradients(stage);
  }
  std::vector<replay::BufferRegion> shared_gradients(core::StageId stage,
                                                     const std::vector<core::OpId>& owners) override {
    return worker_->shared_gradients(stage, owners);
  }
  kernels::Backend& backend() override { return worker_->backend(); }
  std::vector<double> losses() const override { return worker_->losses(); }
  WorkerMemory memory() const override { return worker_->memory(); }
  replay::DeviceWorker& worker() { return *worker_; }

 private:
  std::unique_ptr<replay::DeviceWorker> worker_;
};

struct WilfulTeam {
  explicit WilfulTeam(const CutModel& model)
      : program(replay::lower(model.graph, {model.graph, model.plan})) {
    replay::TrainingSetup setup;
    setup.losses = true;
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      backends.push_back(kernels::open_device("host", 1));
      owned.push_back(std::make_unique<WilfulWorker>(
          make_worker(*backends.back(), model.problem(), model.plan, DeviceId(d), program, setup)));
      workers.push_back(owned.back().get());
    }
  }
  std::vector<std::vector<double>> weights(const CutModel& model) {
    std::vector<std::vector<double>> out;
    for (const plan::Stage& stage : model.plan.stages)
      for (const DeviceId device : stage.devices)
        for (const core::OpId op : stage.operators)
          for (const auto& buffer : owned[device.index()]->worker().weights_of(op))
            out.push_back(kernels::read_values(*backends[device.index()], *buffer));
    return out;
  }
  replay::DevicePrograms program;
  std::vector<std::unique_ptr<kernels::Backend>> backends;
  std::vector<std::unique_ptr<WilfulWorker>> owned;
  std::vector<replay::Worker*> workers;
};

replay::ReplayOptions once() {
  replay::ReplayOptions options;
  options.warm_up = 0;
  options.iterations = 1;
  options.throttle = false;
  options.patience = Seconds(0.3);
  return options;
}

const replay::TimeInterval& record_at(const replay::ReplayRecords& records, std::size_t device,
                                      std::size_t position) {
  return records.iterations.front().instructions[device][position];
}

std::string failure(WilfulTeam& team, const CutModel& model, replay::ReplayManner manner) {
  try {
    if (manner == replay::ReplayManner::concurrent)
      run_concurrent(team.program, model.problem(), model.plan, team.workers, once(), {});
    else
      run_sequential(team.program, model.problem(), model.plan, team.workers, once());
  } catch (const core::Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("strips of one tensor have in common what both have") {
  core::Random random(3);
  for (int i = 0; i < 400; ++i) {
    const auto shard = [&](std::int64_t all) {
      std::int64_t rows = random.between(1, 4);
      while (all % rows != 0) --rows;
      replay::TensorShard out{rows, all / rows};
      for (int at = 0, spans = random.between(1, 3); spans > 0; --spans) {
        const int begin = random.between(at, static_cast<int>(out.width));
        at = random.between(begin, static_cast<int>(out.width));
        out.spans.push_back({begin, at});
      }
      return out;
    };
    const replay::TensorShard a = shard(24), b = shard(24);
    const auto places = [](const replay::TensorShard& s) {  // by number of the tensor; -1: not here
      std::vector<std::int64_t> out(24, -1);
      std::int64_t next = 0;
      for (std::int64_t row = 0; row < s.rows; ++row)
        for (const auto& [begin, end] : s.spans)
          for (std::int64_t column = begin; column < end; ++column)
            out[static_cast<std::size_t>(row * s.width + column)] = next++;
      CHECK(next == s.count());
      return out;
    };
    std::vector<std::pair<std::int64_t, std::int64_t>> found, expected;
    each_common(a, b, [&](std::int64_t x, std::int64_t y, std::int64_t count) {
      for (std::int64_t k = 0; k < count; ++k) found.emplace_back(x + k, y + k);
    });
    const auto in_a = places(a), in_b = places(b);
    for (std::size_t n = 0; n < 24; ++n)
      if (in_a[n] >= 0 && in_b[n] >= 0) expected.emplace_back(in_a[n], in_b[n]);
    CHECK(found == expected);
  }
}

// Member 0 computes 1 s, then 2 s; member 1 computes 3 s, then 1 s; between them a collective of 5 s.
//   member 0: 1, waits until 3, collective until 8, ends at 10; member 1: 3, collective until 8, ends at 9.
TEST_CASE("in a relay a collective begins when the last one comes") {
  double time = 0;
  replay::TaskRelay relay(2, [&] { return Seconds(time); });
  std::vector<double> seen;
  const auto task = [&](std::size_t member, double before, double after) {
    return [&relay, &time, &seen, member, before, after] {
      time += before;
      const double own = 10 * before;
      relay.member(member).share({std::as_bytes(std::span(&own, 1))}, Seconds(5), [&](const auto& all) {
        for (const auto& shared : all) seen.push_back(*reinterpret_cast<const double*>(shared[0].data()));
        time += 100;  // what it takes here does not count
      });
      time += after;
    };
  };
  const auto ends = relay.run({task(0, 1, 2), task(1, 3, 1)});
  CHECK(ends == std::vector{Seconds(10), Seconds(9)});
  CHECK(seen == std::vector<double>{10, 30, 10, 30});
  CHECK_THROWS_WITH(relay.run({task(0, 1, 1), [] { throw core::BadInput("no"); }}), "no");
  CHECK_THROWS_WITH_AS(relay.run({task(0, 1, 1), [] {}}), doctest::Contains("come to the same collectives"),
                       core::Error);
}

// Where kernels take no time, what is left of a pass are its collectives: those of the cost model.
TEST_CASE("passes of a group have the collectives that the simulator counts") {
  for (const CutSetting& cut :
       {CutSetting{.rank = {0, 1}, .tensor_parallel = 2},
        CutSetting{.rank = {0, 1}, .replicas = 2, .tensor_parallel = 2},
        CutSetting{.rank = {0, 1}, .context_parallel = 2, .exchange = plan::ContextExchange::all_gather},
        CutSetting{
            .rank = {0, 1}, .replicas = 2, .context_parallel = 2, .exchange = plan::ContextExchange::ulysses},
        CutSetting{.rank = {0, 1}, .replicas = 2, .expert_parallel = 2},
        CutSetting{.rank = {0, 1}, .replicas = 2, .context_parallel = 2, .expert_parallel = 4}}) {
    const CutModel model = small_model(cut);
    CAPTURE(cut.context_parallel);
    CAPTURE(cut.expert_parallel);
    WilfulTeam team(model);
    const auto records = run_sequential(team.program, model.problem(), model.plan, team.workers, once(),
                                        [] { return Seconds(0); });
    for (std::size_t d = 0; d < team.program.devices.size(); ++d)
      for (std::size_t p = 0; p < team.program.devices[d].size(); ++p) {
        const replay::DeviceInstruction& i = team.program.devices[d][p];
        if (i.micro_batch < 0) continue;
        const plan::Stage& stage = model.plan.stages[i.stage.index()];
        const auto told =
            cost::stage_time(model.problem(), stage, stage.operators, 0, i.samples.count).collectives;
        const replay::TimeInterval& when = record_at(records, d, p);
        const bool forward = i.kind == schedule::ActionKind::forward;
        CHECK((when.end - when.start).value() ==
              support::near((forward ? told.forward : told.backward()).value(), 1e-9));
        CHECK((when.end > when.start) == (told.forward.value() > 0));
        CHECK(records.iterations[0].collectives[d][p].value() ==
              support::near((when.end - when.start).value()));
      }
  }
}

TEST_CASE("groups side by side and taking turns: the same weights, bit by bit, and the loss of one device") {
  for (const CutSetting& cut :
       {CutSetting{.rank = {0, 1}, .replicas = 2, .tensor_parallel = 2},
        CutSetting{.rank = {0, 1}, .replicas = 2, .context_parallel = 2},
        CutSetting{.rank = {0, 1}, .context_parallel = 2, .exchange = plan::ContextExchange::ulysses},
        CutSetting{.rank = {0, 1}, .context_parallel = 4, .exchange = plan::ContextExchange::ring},
        CutSetting{.rank = {0, 1}, .replicas = 2, .expert_parallel = 2},
        CutSetting{.rank = {0}, .micro_batch = 4, .replicas = 4, .expert_parallel = 2}}) {
    const CutModel model = small_model(cut),
                   alone = cut.expert_parallel > 1 ? small_mixture({.rank = {0}}) : small_gpt({.rank = {0}});
    WilfulTeam together(model), in_turn(model), one(alone);
    run_sequential(one.program, alone.problem(), alone.plan, one.workers, once());
    const auto records =
        run_concurrent(together.program, model.problem(), model.plan, together.workers, once(), {});
    run_sequential(in_turn.program, model.problem(), model.plan, in_turn.workers, once());
    CHECK(together.weights(model) == in_turn.weights(model));
    double loss = 0;
    for (const auto& part : records.losses)
      if (!part.empty()) loss += part[0];
    CHECK(loss == support::near(one.workers[0]->losses()[0], 1e-5));
  }
}

TEST_CASE("side by side a throttled collective takes its time") {
  CutModel model = small_gpt({.rank = {0}, .mini_batch = 2, .tensor_parallel = 2});
  model.cluster = support::tiny_cluster(2, std::int64_t{1} << 40, 1e5);  // 100 kB/s
  WilfulTeam team(model);
  auto options = once();
  options.throttle = true;
  const auto records = run_concurrent(team.program, model.problem(), model.plan, team.workers, options, {});
  const auto told = cost::stage_time(model.problem(), model.plan.stages[0], 2).collectives;
  const auto forward = record_at(records, 0, 0);
  CHECK(told.forward.value() > 0.001);
  CHECK(forward.end - forward.start >= told.forward);
  CHECK(records.iterations[0].collectives[0][0] >= told.forward);
  CHECK(records.iterations[0].collectives[0][0] <= forward.end - forward.start);
}

TEST_CASE("a failure in one device of a group ends the others, and names the device") {
  const CutModel model = small_gpt({.rank = {0, 1}, .tensor_parallel = 2});
  for (const auto manner : {replay::ReplayManner::concurrent, replay::ReplayManner::sequential}) {
    WilfulTeam team(model);
    team.owned[3]->instead = [](const replay::DeviceInstruction& i) -> bool {
      if (i.kind == schedule::ActionKind::backward) throw core::BadInput("broken");
      return false;
    };
    CHECK(failure(team, model, manner) == "device 3, backward of micro-batch 0 on stage 1: broken");
  }
  const CutModel lonely = small_gpt({.rank = {0}, .tensor_parallel = 2});
  WilfulTeam team(lonely);
  team.owned[1]->instead = [](const replay::DeviceInstruction&) { return true; };  // never comes
  CHECK(failure(team, lonely, replay::ReplayManner::concurrent).find("nothing has moved for 0.3 s") !=
        std::string::npos);
}

TEST_CASE("a device of a group holds its part of the weights") {
  const CutModel model = replay::test::cut_model(
      models::build("transformer", {{"layers", "2"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "3"}}),
      {.rank = {0, 1}, .tensor_parallel = 4});
  WilfulTeam team(model);
  for (std::size_t d = 0; d < 8; ++d) {
    const auto memory = team.workers[d]->memory().now;
    CHECK(plan::at(memory, plan::MemoryKind::weights) ==
          cost::stage_load(model.problem(), model.plan.stages[d / 4], d % 4).parameters);
  }
}
