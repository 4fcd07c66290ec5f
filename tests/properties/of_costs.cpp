// Operators, collectives and schedules.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "penstock/collective/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/communication.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "penstock/sim/schedule_times.hpp"
#include "properties/property.hpp"

namespace penstock::properties {
namespace {

using core::Bytes;
using core::DeviceId;
using core::OpId;

std::vector<DeviceId> everybody(const BuiltProblem& world) {
  if (world.cluster().size() < 2) throw NotConcerned();
  std::vector<DeviceId> out;
  for (std::size_t d = 0; d < world.cluster().size(); ++d) out.emplace_back(d);
  return out;
}

double total(const BuiltProblem& world, OpId op, std::int64_t samples, const cost::OpShard& part = {}) {
  return world.costs()
      .part_time(world.graph(), op, world.cluster().types().front(), samples, part)
      .total()
      .value();
}

template <class Of>
std::string every_operator(const BuiltProblem& world, const Of& of) {
  for (std::size_t v = 0; v < world.graph().size(); ++v)
    if (auto bad = of(OpId(v)); !bad.empty())
      return "operator " + world.graph().op(OpId(v)).name + ": " + bad;
  return "";
}

std::string more_samples(const BuiltProblem& world) {
  return every_operator(world, [&](OpId op) {
    for (const std::int64_t n : {1, 2, 4, 8})
      if (auto bad = not_above(total(world, op, n), total(world, op, 2 * n), fmt::format("{} samples", n));
          !bad.empty())
        return bad;
    return std::string();
  });
}

std::string sublinear(const BuiltProblem& world) {
  return every_operator(world, [&](OpId op) {
    for (const std::int64_t n : {1, 2, 4, 8})
      if (auto bad =
              not_above(total(world, op, 2 * n), 2 * total(world, op, n), fmt::format("twice {} samples", n));
          !bad.empty())
        return bad;
    return std::string();
  });
}

std::string parts_cover(const BuiltProblem& world) {
  return every_operator(world, [&](OpId op) {
    const double whole = total(world, op, 8);
    for (const auto how : {plan::Partition::batch, plan::Partition::column, plan::Partition::row}) {
      const double half = total(world, op, 8, cost::op_shard(world.graph().op(op), how, 0.5));
      if (auto bad = not_above(half, whole, "half of an operator, and the whole"); !bad.empty()) return bad;
      if (auto bad = not_above(whole, 2 * half, "an operator, and twice its half"); !bad.empty()) return bad;
    }
    return std::string();
  });
}

std::string stages_add_up(const BuiltProblem& world) {
  const plan::Plan& plan = plan_or_skip(world);
  const plan::Stage& stage = plan.stages.front();
  if (stage.operators.size() < 2 || stage.recompute) throw NotConcerned();
  const std::size_t half = stage.operators.size() / 2;
  const auto compute = [&](std::size_t from, std::size_t to) {
    const std::vector<OpId> some(stage.operators.begin() + static_cast<std::ptrdiff_t>(from),
                                 stage.operators.begin() + static_cast<std::ptrdiff_t>(to));
    const auto time = cost::stage_time(world.problem(), stage, some, 0, stage.micro_batch).compute;
    return time.forward.value();
  };
  return equal(compute(0, stage.operators.size()), compute(0, half) + compute(half, stage.operators.size()),
               "forward time of a stage and of its parts", 1e-9);
}

std::string reductions_grow(const BuiltProblem& world) {
  const auto group = everybody(world);
  const auto reduce = cost::all_reduce(world.cluster(), group);
  double before = 0;
  for (std::int64_t bytes = 1; bytes < (std::int64_t{1} << 32); bytes *= 8) {
    const double time = reduce.time(Bytes(bytes)).value();
    if (auto bad = not_above(before, time, fmt::format("all-reduce of {} bytes", bytes)); !bad.empty())
      return bad;
    before = time;
  }
  return "";
}

std::string gathers_are_shorter(const BuiltProblem& world) {
  const std::vector<std::vector<DeviceId>> group{everybody(world)};
  const auto reduce = cost::all_reduce(world.cluster(), group),
             gather = cost::all_gather(world.cluster(), group);
  const Bytes bytes(10'000'000);
  return not_above(gather.time(bytes).value(), reduce.time(bytes).value(), "all-gather, and all-reduce");
}

std::string smaller_groups(const BuiltProblem& world) {
  auto group = everybody(world);
  if (world.spec().cluster.nodes > 1) throw NotConcerned();
  const Bytes bytes(10'000'000);
  const double all = cost::all_reduce(world.cluster(), group).time(bytes).value();
  group.pop_back();
  return not_above(cost::all_reduce(world.cluster(), group).time(bytes).value(), all, "one device less");
}

std::string ring_bytes(const BuiltProblem& world) {
  const auto group = everybody(world);
  const std::int64_t bytes = 999'983;
  const auto messages = collective::algorithm("ring").messages(world.cluster(), group, bytes);
  std::int64_t sum = 0;
  for (const auto& message : messages) sum += message.bytes;
  const auto r = static_cast<std::int64_t>(group.size());
  return sum == 2 * (r - 1) * bytes ? ""
                                    : fmt::format("a ring sends {} bytes, not {}", sum, 2 * (r - 1) * bytes);
}

schedule::ScheduleShape random_shape(const BuiltProblem& world, const schedule::ScheduleFamily& family,
                                     core::Random& random) {
  schedule::ScheduleShape out;
  out.ranks = random.between(1, 6);
  out.chunks = family.chunks;
  out.micro_batches = random.between(1, 4) * out.ranks * 2;
  (void)world;
  return out;
}

/// Calls `of` for every family that makes a schedule of a random shape.
template <class Of>
std::string every_schedule(const BuiltProblem& world, const Of& of) {
  core::Random random(world.spec().seed + 99);
  for (const schedule::ScheduleFamily& family : schedule::families()) {
    const auto shape = random_shape(world, family, random);
    std::optional<schedule::Schedule> made;
    try {
      made = schedule::make_schedule(family.name, shape);
    } catch (const core::BadInput&) {
      continue;
    }
    if (auto bad = of(family, shape, *made); !bad.empty())
      return fmt::format("{} on {} ranks of {} micro-batches: {}", family.name, shape.ranks,
                         shape.micro_batches, bad);
  }
  return "";
}

std::string schedules_are_sound(const BuiltProblem& world) {
  return every_schedule(
      world, [](const auto&, const auto& shape, const schedule::Schedule& made) -> std::string {
        const auto violations =
            schedule::schedule_violations(made, (shape.micro_batches + made.halves / 2) / made.copies);
        return violations.empty() ? "" : violations.front();
      });
}

std::string schedules_read_back(const BuiltProblem& world) {
  return every_schedule(world, [](const auto&, const auto&, const schedule::Schedule& made) -> std::string {
    if (made.halves > 0) return "";
    const std::string text = schedule::to_csv(made);
    return schedule::to_csv(schedule::parse_schedule(text, "s.csv")) == text ? "" : "reads back otherwise";
  });
}

/// Passes of equal stages: no rank can be done before m (F + B), and 1F1B and GPipe take (m + p - 1)(F + B).
std::string equal_stages(const BuiltProblem& world) {
  core::Random random(world.spec().seed + 7);
  schedule::ScheduleShape shape;
  shape.ranks = random.between(1, 6);
  shape.micro_batches = shape.ranks + random.between(0, 8);
  for (const char* family : {"1f1b", "gpipe"}) {
    const auto made = schedule::make_schedule(family, shape);
    const schedule::PassCosts costs;
    const auto times = sim::simulate_schedule(made, costs);
    const auto each = costs.forward + costs.input_gradient + costs.weight_gradient;
    const auto expected = each * (shape.micro_batches + shape.ranks - 1);
    if (times.makespan != expected)
      return fmt::format("{} takes {}, not {} ps", family, times.makespan.value(), expected.value());
  }
  return "";
}

}  // namespace

std::vector<Property> of_costs() {
  return {
      {"more_samples_take_longer", "an operator takes no less for twice the samples", more_samples},
      {"samples_together_are_no_slower", "an operator takes at most twice as long for twice the samples",
       [](const BuiltProblem& w) {
         if (w.spec().costs == CostsKind::tables) throw NotConcerned();  // of any rates
         return sublinear(w);
       }},
      {"halves_cover_the_whole", "half of an operator takes half of its time at least, and no more than all",
       [](const BuiltProblem& w) {
         if (w.spec().costs == CostsKind::tables) throw NotConcerned();
         return parts_cover(w);
       }},
      {"stages_add_up", "a stage's forward pass takes as long as its parts", stages_add_up},
      {"all_reduces_grow", "more bytes take no less", reductions_grow},
      {"gathers_are_shorter", "an all-gather takes no longer than an all-reduce", gathers_are_shorter},
      {"smaller_groups_are_faster", "an all-reduce of one device less takes no longer", smaller_groups},
      {"ring_sends_its_bytes", "a ring sends 2 (r - 1) times the bytes", ring_bytes},
      {"schedules_are_sound", "schedules of every family have no violations", schedules_are_sound},
      {"schedules_read_back", "schedules of every family read back as written", schedules_read_back},
      {"equal_stages_take_their_formula", "1F1B and GPipe of equal stages take (m + p - 1)(F + B)",
       equal_stages}};
}

}  // namespace penstock::properties
