// Messages between stages.

#include "penstock/program/messages.hpp"

#include <doctest/doctest.h>

#include <tuple>

#include "penstock/core/random.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::StageId;
using program::StageMessage;

namespace {

/// Two stages of one operator each.
plan::Plan two_stages(std::int64_t mini_batch, std::int64_t micro_a, std::int64_t micro_b) {
  plan::Plan plan;
  plan.training.mini_batch = mini_batch;
  plan.stages = {{{core::OpId(0)}, {}, micro_a, 1, mini_batch, {}},
                 {{core::OpId(1)}, {}, micro_b, 1, mini_batch, {}}};
  return plan;
}

void give(plan::Stage& stage, std::size_t first, std::size_t devices, int group) {
  for (std::size_t d = 0; d < devices; ++d) stage.devices.emplace_back(first + d);
  stage.tensor_parallel = group;
}

program::Program lowered(const plan::Plan& plan) {
  const auto graph = support::tiny_graph(2, {{0, 1}});
  return program::lower(graph, {graph, plan});
}

// Gradient, sending and receiving device, first and last sample, part.
using Seen = std::tuple<bool, std::int32_t, std::int32_t, std::int64_t, std::int64_t, std::int32_t>;

std::vector<Seen> seen(const program::Program& program) {
  std::vector<Seen> out;
  for_each_message(program, {StageId(0), StageId(1), core::Bytes(1)}, [&](const StageMessage& m) {
    out.emplace_back(m.gradient, m.from.device, m.to.device, m.samples.first, m.samples.end() - 1, m.part);
  });
  return out;
}

}  // namespace

TEST_CASE("two replicas hand three what they have in common, and are handed its gradients") {
  // Six samples at once. 0: samples 0-2, 1: 3-5. On the other side 0: 0-1, 1: 2-3, 2: 4-5.
  plan::Plan plan = two_stages(6, 6, 6);
  give(plan.stages[0], 0, 2, 1);
  give(plan.stages[1], 2, 3, 1);
  CHECK(seen(lowered(plan)) == std::vector<Seen>{{false, 0, 0, 0, 1, 0},
                                                 {true, 0, 0, 0, 1, 0},
                                                 {false, 0, 1, 2, 2, 0},
                                                 {true, 1, 0, 2, 2, 0},
                                                 {false, 1, 1, 3, 3, 0},
                                                 {true, 1, 1, 3, 3, 0},
                                                 {false, 1, 2, 4, 5, 0},
                                                 {true, 2, 1, 4, 5, 0}});
}

TEST_CASE("groups of one and of two: two parts, to each device of the larger group one") {
  plan::Plan plan = two_stages(1, 1, 1);
  give(plan.stages[0], 0, 1, 1);
  give(plan.stages[1], 1, 2, 2);
  CHECK(seen(lowered(plan)) ==
        std::vector<Seen>{
            {false, 0, 0, 0, 0, 0}, {false, 0, 1, 0, 0, 1}, {true, 0, 0, 0, 0, 0}, {true, 1, 0, 0, 0, 1}});
}

TEST_CASE("a message comes between the pass that makes it and the one that waits for it") {
  // gpipe, two micro-batches: F0 F1 B0 B1 on both.
  plan::Plan plan = two_stages(2, 1, 1);
  plan.schedule = "gpipe";
  give(plan.stages[0], 0, 1, 1);
  give(plan.stages[1], 1, 1, 1);
  std::vector<std::tuple<std::int32_t, std::int32_t, std::int32_t>> at;
  for_each_message(lowered(plan), {StageId(0), StageId(1), core::Bytes(1)},
                   [&](const StageMessage& m) { at.emplace_back(m.from.position, m.to.position, m.gate); });
  CHECK(at == decltype(at){{0, 0, -1}, {2, 2, -1}, {1, 1, -1}, {3, 3, -1}});
}

TEST_CASE("random sizes: every sample travels once each way, between the shares it is of") {
  // The slow twin computes the share of every sample.
  core::Random random(1);
  int messages = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const bool in_turn = trial % 2 == 0;
    const std::int64_t mini_batch = 12, sizes[] = {1, 2, 3, 4, 6, 12};
    // Replicas that take turns share a mini-batch in whole rounds, of one size.
    const std::int64_t a = in_turn ? 1 : sizes[random.between(0, 5)],
                       b = in_turn ? 1 : sizes[random.between(0, 5)];
    plan::Plan plan = two_stages(mini_batch, a, b);
    plan.schedule = in_turn ? "pipedream" : "gpipe";
    const std::size_t turns[] = {1, 2, 3, 4, 6};
    const auto replicas = [&] {
      return in_turn ? turns[random.between(0, 4)] : static_cast<std::size_t>(random.between(1, 5));
    };
    const std::size_t x = replicas(), y = replicas();
    give(plan.stages[0], 0, x, 1);
    give(plan.stages[1], x, y, 1);
    const program::Program program = lowered(plan);
    std::vector<int> sent[2];
    for (auto& list : sent) list.resize(static_cast<std::size_t>(program.stages[0].samples()));
    const auto replica_of = [&](const plan::Stage& stage, std::int64_t sample) {
      const std::int64_t n = stage.replicas();
      if (in_turn) return sample / stage.micro_batch % n;
      std::int64_t r = 0;
      while (stage.micro_batch * (r + 1) / n <= sample % stage.micro_batch) ++r;
      return r;
    };
    for_each_message(program, {StageId(0), StageId(1), core::Bytes(1)}, [&](const StageMessage& m) {
      ++messages;
      for (std::int64_t n = m.samples.first; n < m.samples.end(); ++n) {
        ++sent[m.gradient][static_cast<std::size_t>(n)];
        CHECK(m.from.share.replica == replica_of(plan.stages[m.from.stage.index()], n));
        CHECK(m.to.share.replica == replica_of(plan.stages[m.to.stage.index()], n));
        CHECK(m.from.share.number == n / plan.stages[m.from.stage.index()].micro_batch);
      }
    });
    for (const auto& list : sent) CHECK(list == std::vector<int>(list.size(), 1));
  }
  CHECK(messages > 3000);
}
