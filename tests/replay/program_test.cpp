#include "penstock/replay/program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "penstock/core/error.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/schedule/weight_versions.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "replay/cases.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using replay::DeviceInstruction;
using replay::DeviceMessage;
using replay::DevicePrograms;
using replay::lower;
using replay::MessageId;
using replay::test::ReplayCase;
using schedule::ActionKind;
using trace::TaskKind;

namespace {

bool updates(ActionKind kind) {
  return kind == ActionKind::reduce_gradient || kind == ActionKind::step || kind == ActionKind::barrier;
}

TaskKind kind_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return TaskKind::forward;
    case ActionKind::backward:
      return TaskKind::backward;
    case ActionKind::input_gradient:
      return TaskKind::input_gradient;
    case ActionKind::weight_gradient:
      return TaskKind::weight_gradient;
    default:
      return TaskKind::recompute;
  }
}

// Sender, receiver, sending stage, its micro-batch, bytes.
using Sent = std::tuple<core::DeviceId, core::DeviceId, core::StageId, std::int32_t, core::Bytes>;
using Computed = std::tuple<TaskKind, core::StageId, std::int32_t>;

std::vector<Sent> sent(const DevicePrograms& program) {
  std::vector<Sent> out;
  for (const DeviceMessage& m : program.messages)
    if (m.sender != m.receiver && m.bytes.value() > 0)
      out.emplace_back(m.sender, m.receiver, m.from, m.sent_in, m.bytes);
  std::sort(out.begin(), out.end());
  return out;
}
std::vector<Sent> sent(const trace::Trace& trace) {
  std::vector<Sent> out;
  for (const trace::Span& s : trace.spans)
    if (s.kind == TaskKind::transfer) out.emplace_back(s.device, s.peer, s.stage, s.micro_batch, s.bytes);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Computed> computed(const DevicePrograms& program, std::size_t device) {
  std::vector<Computed> out;
  for (const DeviceInstruction& i : program.devices[device])
    if (!updates(i.kind)) out.emplace_back(kind_of(i.kind), i.stage, i.micro_batch);
  return out;
}
std::vector<Computed> computed(const trace::Trace& trace, std::size_t device) {
  std::vector<Computed> out;
  for (const trace::Span& s : trace.spans)
    if (s.device == core::DeviceId(device) && s.kind < TaskKind::step)
      out.emplace_back(s.kind, s.stage, s.micro_batch);
  return out;
}

/// Devices in turn, one instruction each where what it receives has been sent and opened before. Returns how
/// many instructions remain when no device can go on.
std::size_t left_over(const DevicePrograms& program) {
  std::vector<int> ready(program.messages.size());  // 2: sent and opened
  for (const auto& opened : program.open_at_start)
    for (const MessageId m : opened) ++ready[static_cast<std::size_t>(m)];
  for (std::size_t m = 0; m < ready.size(); ++m) ready[m] += program.messages[m].bytes.value() == 0;
  std::vector<std::size_t> next(program.devices.size());
  std::size_t left = 0;
  for (const auto& list : program.devices) left += list.size();
  for (bool moved = true; std::exchange(moved, false);)
    for (std::size_t d = 0; d < next.size(); ++d) {
      if (next[d] == program.devices[d].size()) continue;
      const DeviceInstruction& i = program.devices[d][next[d]];
      if (std::any_of(i.receives.begin(), i.receives.end(),
                      [&](MessageId m) { return ready[static_cast<std::size_t>(m)] < 2; }))
        continue;
      for (const auto* list : {&i.sends, &i.opens})
        for (const MessageId m : *list) ++ready[static_cast<std::size_t>(m)];
      ++next[d], --left;
      moved = true;
    }
  CHECK(std::all_of(ready.begin(), ready.end(), [](int parts) { return parts == 2; }));
  return left;
}

/// Every stage computes every sample once.
void check_samples(const ReplayCase& c, const DevicePrograms& program) {
  for (std::size_t s = 0; s < c.plan.stages.size(); ++s) {
    std::vector<int> seen(static_cast<std::size_t>(program.mini_batches * c.plan.training.mini_batch));
    for (const auto& list : program.devices)
      for (const DeviceInstruction& i : list)
        if (i.kind == ActionKind::forward && i.stage.index() == s)
          for (std::int64_t n = i.samples.first; n < i.samples.end(); ++n)
            ++seen[static_cast<std::size_t>(n)];
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
}

/// True if messages from one stage bring exactly the samples of the instruction, each once.
bool receives_its_samples(const DevicePrograms& program, const DeviceInstruction& i) {
  std::map<core::StageId, std::int64_t> samples;
  for (const MessageId id : i.receives) {
    const DeviceMessage& m = program.messages[static_cast<std::size_t>(id)];
    if (m.samples.first < i.samples.first || m.samples.end() > i.samples.end()) return false;
    if (m.to != i.stage || m.needed_in != i.micro_batch) return false;
    samples[m.from] += m.samples.count;
  }
  return std::all_of(samples.begin(), samples.end(),
                     [&](const auto& from) { return from.second == i.samples.count; });
}

/// Checks receives_its_samples for every instruction.
void check_receives(const DevicePrograms& program) {
  for (const auto& list : program.devices)
    CHECK(std::all_of(list.begin(), list.end(),
                      [&](const DeviceInstruction& i) { return receives_its_samples(program, i); }));
}

/// Every device becomes a group of one to three, the same for all of a rank.
ReplayCase grouped(ReplayCase c, std::uint64_t seed) {
  core::Random random(seed);
  std::map<core::DeviceId, std::vector<core::DeviceId>> groups;
  std::size_t next = 0;
  for (plan::Stage& stage : c.plan.stages) {
    const int size = random.between(1, 3);
    std::vector<core::DeviceId> devices;
    for (const core::DeviceId device : stage.devices) {
      auto& group = groups[device];
      if (group.empty())
        for (int i = 0; i < size; ++i) group.emplace_back(next++);
      stage.tensor_parallel = static_cast<int>(group.size());
      devices.insert(devices.end(), group.begin(), group.end());
    }
    stage.devices = devices;
  }
  c.cluster = support::tiny_cluster(next);
  c.order = score::order_of(c.problem(), c.plan);
  return c;
}

std::string refusal(const std::function<void(plan::Plan&)>& change) {
  ReplayCase c = replay::test::even_chain("1f1b", replay::test::StagePlacement::row, 2, 4);
  change(c.plan);
  try {
    lower(c.graph, {c.graph, c.plan, c.order});
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("two stages, two micro-batches, drawn") {
  // gpipe, a on device 0, b on device 1; a has no weights, so there is no STEP. There is room for both
  // forwards, and for gradients of two micro-batches, from the beginning.
  //   device 0: F0 sends 0   F1 sends 2   B0 receives 1   B1 receives 3
  //   device 1: F0 receives 0   F1 receives 2   B0 sends 1   B1 sends 3
  const ReplayCase c = replay::test::even_chain("gpipe", replay::test::StagePlacement::row, 2, 2);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  REQUIRE(program.messages.size() == 4);
  CHECK(program.open_at_start == std::vector<std::vector<MessageId>>{{1, 3}, {0, 2}});
  REQUIRE(program.devices[0].size() == 4);
  CHECK(program.devices[0][1].sends == std::vector<MessageId>{2});
  CHECK(program.devices[0][3].receives == std::vector<MessageId>{3});
  CHECK(program.devices[1][1].samples == replay::SampleRange{1, 1});
  const DeviceMessage& gradient = program.messages[1];
  CHECK(gradient.gradient);
  CHECK((gradient.from.index() == 1 && gradient.to.index() == 0));
  CHECK(gradient.tensors == std::vector{core::OpId(0)});
  CHECK(gradient.bytes == core::Bytes(1000));
}

TEST_CASE("room for one micro-batch ahead of the most held, and for two of gradients") {
  // 1f1b on two stages, four micro-batches of one sample. Stage 1 holds one at most: there is room for two
  // at the start, the third may come after B0. Stage 0 takes gradients 0 and 1 at once, 2 after B0.
  const ReplayCase c = replay::test::even_chain("1f1b", replay::test::StagePlacement::row, 2, 4);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  CHECK(program.open_at_start == std::vector<std::vector<MessageId>>{{1, 3}, {0, 2}});
  const auto opens = [&](std::size_t device) {
    std::vector<std::pair<std::int32_t, MessageId>> out;  // after which backward
    for (const DeviceInstruction& i : program.devices[device])
      for (const MessageId m : i.opens)
        out.emplace_back(i.kind == ActionKind::backward ? i.micro_batch : -1, m);
    return out;
  };
  CHECK(opens(1) == std::vector<std::pair<std::int32_t, MessageId>>{{0, 4}, {1, 6}});
  CHECK(opens(0) == std::vector<std::pair<std::int32_t, MessageId>>{{0, 5}, {1, 7}});
}

TEST_CASE("random plans: passes and messages are those of the simulator, and no wait is endless") {
  int programs = 0;
  for (std::uint64_t seed = 0; seed < 210; ++seed) {
    const auto& family = replay::test::families()[seed % replay::test::families().size()];
    INFO(family.name, " ", seed);
    const ReplayCase c = replay::test::random_case(family, seed);
    const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
    const trace::Trace trace = sim::simulate(c.problem(), {c.problem().graph, c.plan, c.order});
    CHECK(program.mini_batches == trace.mini_batches);
    CHECK(sent(program) == sent(trace));
    for (std::size_t d = 0; d < program.devices.size(); ++d)
      CHECK(computed(program, d) == computed(trace, d));
    CHECK(left_over(program) == 0);
    check_samples(c, program);
    check_receives(program);
    ++programs;
  }
  CHECK(programs == 210);
}

TEST_CASE("random tensor-parallel plans: passes and messages are those of the simulator") {
  int parts = 0;
  for (std::uint64_t seed = 0; seed < 70; ++seed) {
    const auto& family = replay::test::families()[seed % replay::test::families().size()];
    INFO(family.name, " ", seed);
    const ReplayCase c = grouped(replay::test::random_case(family, seed), seed);
    const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
    const trace::Trace trace = sim::simulate(c.problem(), {c.problem().graph, c.plan, c.order});
    CHECK(sent(program) == sent(trace));
    for (std::size_t d = 0; d < program.devices.size(); ++d)
      CHECK(computed(program, d) == computed(trace, d));
    CHECK(left_over(program) == 0);
    for (const DeviceMessage& m : program.messages) parts += m.part > 0;
  }
  CHECK(parts > 1000);
}

TEST_CASE("without replicas the weights are those that weight_versions counts") {
  for (const char* name : {"pipedream", "pipedream_2bw", "pipedream_vsync", "pipemare"}) {
    INFO(name);
    ReplayCase c = replay::test::even_chain(name, replay::test::StagePlacement::row, 3, 6);
    graph::GraphBuilder builder("chain");
    for (int v = 0; v < 3; ++v) builder.add(support::unit_op("v" + std::to_string(v), 1e9, 100));
    for (std::size_t v = 1; v < 3; ++v) builder.add_edge(core::OpId(v - 1), core::OpId(v));
    c.graph = builder.build();
    const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
    std::vector<schedule::RankOrder> rows;  // only passes
    for (const schedule::RankOrder& row : c.order.ranks) {
      rows.emplace_back();
      for (const schedule::Action& a : row)
        if (!updates(a.kind)) rows.back().push_back(a);
    }
    const auto& policy = schedule::weight_policy(schedule::family_named(name).weights);
    const auto counted = schedule::weight_versions(rows, policy, 6).staleness;
    for (std::size_t d = 0; d < 3; ++d) {
      std::size_t p = 0;
      for (const DeviceInstruction& i : program.devices[d])
        if (!updates(i.kind)) CHECK(i.weights == i.micro_batch / 6 - counted[d][p++]);
    }
  }
}

TEST_CASE("replicas that hide a reduction use what has been updated, not what is summed") {
  // pipedream, a on devices 0 and 1, b on device 2, mini-batches of two: each replica of a runs one
  // micro-batch of a mini-batch. The STEP of mini-batch 0 comes before the first pass of mini-batch 2.
  ReplayCase c = replay::test::even_chain("pipedream", replay::test::StagePlacement::row, 2, 2);
  graph::GraphBuilder builder("chain");
  for (int v = 0; v < 2; ++v) builder.add(support::unit_op("v" + std::to_string(v), 1e9, 100));
  builder.add_edge(core::OpId(0), core::OpId(1));
  c.graph = builder.build();
  c.cluster = support::tiny_cluster(3);
  c.plan.stages[0].devices = {core::DeviceId(0), core::DeviceId(1)};
  c.plan.stages[1].devices = {core::DeviceId(2)};
  c.order = schedule::plan_order(c.plan);
  const DevicePrograms program = lower(c.graph, {c.graph, c.plan, c.order});
  int made = 0;
  for (const DeviceInstruction& i : program.devices[0]) {
    made += i.kind == ActionKind::step;
    if (i.kind == ActionKind::forward) {
      CHECK(i.weights == made);
      CHECK(made >= i.micro_batch / 2 - 1);
    }
  }
  CHECK(made == program.mini_batches);
}

TEST_CASE("a plan that cannot be replayed is refused by name") {
  CHECK(refusal([](plan::Plan&) {}) == "none");
  CHECK(refusal([](plan::Plan& p) { p.stages[0].zero = 1; }) == "stage 0: ZeRO is not replayed");
  CHECK(refusal([](plan::Plan& p) { p.stages[0].sequence_parallel = true; }) ==
        "stage 0: sequence parallelism is not replayed");
  CHECK(refusal([](plan::Plan& p) { p.training.compression.activations = 0.5; }) ==
        "compressed messages are not replayed");
  const auto held = [](const char* precision) {
    return refusal([&](plan::Plan& p) { p.training.precision = plan::mixed_precision(precision); });
  };
  CHECK(held("fp32") == "none");
  CHECK(held("mixed_bf16") ==
        "numbers of four bytes are replayed with all else in fp32: leave precision out, or say fp32");
  CHECK(refusal([](plan::Plan& p) { p.schedule = "xpipe"; }) ==
        "xpipe predicts weights, which is not replayed");
}
