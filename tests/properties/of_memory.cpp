// Memory of one plan.

#include <fmt/format.h>

#include "penstock/cost/sharding.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "properties/property.hpp"

namespace penstock::properties {
namespace {

using plan::MemoryKind;

/// [stage] bytes by kind of a changed plan, whose in-flight counts stay.
template <class Change>
std::vector<plan::MemoryByKind> memories(const BuiltProblem& world, const Change& change) {
  plan::Plan plan = plan_or_skip(world);
  change(plan);
  const cost::Problem problem{world.graph(), world.cluster(), world.costs(), plan.training};
  if (!score::rule_violations(problem, plan).empty()) throw NotConcerned();
  return score::stage_memories(problem, plan);
}
std::vector<plan::MemoryByKind> memories(const BuiltProblem& world) {
  return memories(world, [](plan::Plan&) {});
}

double state(const plan::MemoryByKind& memory) {
  return static_cast<double>((at(memory, MemoryKind::weights) + at(memory, MemoryKind::gradients) +
                              at(memory, MemoryKind::optimizer))
                                 .value());
}

/// Each stage's `of` does not rise from one plan to the next.
template <class Of>
std::string falls(const std::vector<plan::MemoryByKind>& more, const std::vector<plan::MemoryByKind>& less,
                  const std::string& what, const Of& of) {
  for (std::size_t s = 0; s < more.size(); ++s)
    if (auto bad = not_above(of(less[s]), of(more[s]), fmt::format("{}, stage {}", what, s), 0); !bad.empty())
      return bad;
  return "";
}

auto bytes_of(MemoryKind kind) {
  return [kind](const plan::MemoryByKind& memory) { return static_cast<double>(at(memory, kind).value()); };
}

double whole(const plan::MemoryByKind& memory) {
  return static_cast<double>(plan::total(memory).value());
}

void set_zero(plan::Plan& plan, int zero) {
  for (plan::Stage& stage : plan.stages) stage.zero = stage.weight_replicas() > 1 ? zero : 0;
}

std::string zero_shares_more(const BuiltProblem& world) {
  if (plan::asynchronous(plan_or_skip(world))) throw NotConcerned();
  auto before = memories(world, [](plan::Plan& p) { set_zero(p, 0); });
  for (int zero = 1; zero <= 3; ++zero) {
    const auto next = memories(world, [&](plan::Plan& p) { set_zero(p, zero); });
    if (auto bad = falls(before, next, fmt::format("state of ZeRO {}", zero), state); !bad.empty())
      return bad;
    before = next;
  }
  return "";
}

std::string recomputation_saves(const BuiltProblem& world) {
  const auto all = memories(world, [](plan::Plan& p) {
    for (plan::Stage& stage : p.stages) stage.recompute = {};
  });
  const auto again = memories(world, [](plan::Plan& p) {
    for (plan::Stage& stage : p.stages) stage.recompute = plan::kRecomputeStage;
  });
  return falls(all, again, "activations computed again", bytes_of(MemoryKind::activations));
}

/// The first 1, 2, ... layers of each stage that has layers are recomputed.
std::string more_layers_save(const BuiltProblem& world) {
  const auto with = [&](std::int64_t first) {
    return memories(world, [&](plan::Plan& p) {
      for (plan::Stage& stage : p.stages) {
        stage.recompute = {plan::Recomputation::SegmentScope::layers, false, first};
        if (first == 0 || !plan::applies(world.graph(), stage.operators, stage.recompute))
          stage.recompute = {};
      }
    });
  };
  auto before = with(0);
  for (std::int64_t first = 1; first <= 4; ++first) {
    const auto next = with(first);
    if (auto bad = falls(before, next, fmt::format("activations with {} layers recomputed", first),
                         bytes_of(MemoryKind::activations));
        !bad.empty())
      return bad;
    before = next;
  }
  return "";
}

std::string optimizers_hold(const BuiltProblem& world) {
  auto before = memories(world, [](plan::Plan& p) { p.training.optimizer = plan::Optimizer::adam; });
  for (const auto optimizer : {plan::Optimizer::momentum, plan::Optimizer::sgd}) {
    const auto next = memories(world, [&](plan::Plan& p) { p.training.optimizer = optimizer; });
    if (auto bad = falls(before, next, "optimizer state", bytes_of(MemoryKind::optimizer)); !bad.empty())
      return bad;
    before = next;
  }
  return "";
}

std::string trace_fits_prediction(const BuiltProblem& world) {
  const plan::Plan& plan = plan_or_skip(world);
  const auto summary = sim::simulate_summary(world.problem(), score::scheduled(world.problem(), plan));
  const auto predicted = memories(world);
  std::vector<double> by_device(world.cluster().size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const core::DeviceId d : plan.stages[s].devices) by_device[d.index()] += whole(predicted[s]);
  for (std::size_t d = 0; d < by_device.size(); ++d)
    if (by_device[d] > 0)
      if (auto bad = not_above(static_cast<double>(summary.devices[d].peak.value()), by_device[d],
                               fmt::format("simulated peak of device {}", d), 0);
          !bad.empty())
        return bad;
  return "";
}

std::string weights_are_held(const BuiltProblem& world) {
  const auto found = memories(world);
  const plan::Plan& plan = plan_or_skip(world);
  for (std::size_t s = 0; s < found.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const double shards = static_cast<double>(stage.weight_replicas() * stage.tensor_parallel);
    double all = 0;
    for (const core::OpId op : stage.operators)
      all += static_cast<double>(world.graph().parameter_bytes(op).value());
    if (auto bad = not_above(all / shards, whole(found[s]),
                             fmt::format("a device's part of weights, stage {}", s), 0);
        !bad.empty())
      return bad;
  }
  return "";
}

std::string gpipe_holds_more(const BuiltProblem& world) {
  if (plan_or_skip(world).schedule != "1f1b") throw NotConcerned();
  const auto fill = memories(world, [&](plan::Plan& p) {
    p.schedule = "gpipe";
    for (plan::Stage& stage : p.stages) stage.in_flight = 0;
    score::derive_in_flight(world.problem(), p);
  });
  return falls(fill, memories(world), "activations of 1F1B", bytes_of(MemoryKind::activations));
}

std::string tensor_groups_hold_less(const BuiltProblem& world) {
  const plan::Plan& plan = plan_or_skip(world);
  if (world.spec().plan.tensor != 2 || world.spec().plan.zero > 0) throw NotConcerned();
  const auto load = [&](int tensor) {
    double sum = 0;
    for (plan::Stage stage : plan.stages) {
      stage.tensor_parallel = tensor;
      sum += static_cast<double>(cost::stage_load(world.problem(), stage).parameters.value());
    }
    return sum;
  };
  return not_above(load(2), load(1), "weights of a tensor-parallel group's device", 0);
}

std::string more_memory_fits(const BuiltProblem& world) {
  ProblemSpec spec = world.spec();
  plan_or_skip(world);
  spec.cluster.memory *= 2;
  return BuiltProblem(spec).plan() ? "" : "a plan that fits does not fit twice the memory";
}

}  // namespace

std::vector<Property> of_memory() {
  return {
      {"zero_shares_more", "each stage of ZeRO holds no more state than the one before", zero_shares_more},
      {"recomputation_saves", "recomputed stages keep no more activations", recomputation_saves},
      {"more_layers_save", "stages that recompute one layer more keep no more activations", more_layers_save},
      {"optimizers_hold_in_turn", "Adam holds no less than momentum, momentum no less than descent",
       optimizers_hold},
      {"trace_fits_prediction", "no device's simulated peak is above what the plan needs",
       trace_fits_prediction},
      {"weights_are_held", "a stage holds its part of its weights at least", weights_are_held},
      {"gpipe_holds_more", "1F1B keeps no more activations than fill-drain", gpipe_holds_more},
      {"tensor_groups_hold_less", "devices of a tensor-parallel group hold no more weights than one alone",
       tensor_groups_hold_less},
      {"more_memory_fits", "what fits a device fits one of twice the memory", more_memory_fits}};
}

}  // namespace penstock::properties
