#include "changed_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "penstock/plan/colocated.hpp"

namespace penstock::experiment {
namespace {

using Devices = std::vector<core::DeviceId>;

std::int64_t whole(double value, const WhatIfChange& change) {
  const double rounded = std::round(value);
  constexpr double kRounding = 1e-9;
  if (rounded < 1 || std::abs(rounded - value) > kRounding * value)
    throw core::BadInput(fmt::format("{} leaves {:g}, which is no whole number", change.text, value));
  return static_cast<std::int64_t>(rounded);
}

/// True if the devices are consecutive numbers, in any order.
bool is_row(const Devices& devices) {
  const auto [least, most] = std::ranges::minmax_element(devices);
  return most->index() - least->index() + 1 == devices.size();
}

/// Maps the device list of every rank to its list after scaling.
std::map<Devices, Devices> scaled_ranks(const plan::Plan& plan, std::int64_t from, std::int64_t to) {
  std::map<std::size_t, const Devices*> by_first;
  for (const plan::Stage& stage : plan.stages)
    by_first[std::ranges::min_element(stage.devices)->index()] = &stage.devices;
  const bool rows = std::ranges::all_of(by_first, [](const auto& each) { return is_row(*each.second); });
  if (!rows && to % from != 0)
    throw core::BadInput(
        "stages do not lie in rows of devices: expected a whole multiple of the plan's devices");
  std::map<Devices, Devices> out;
  std::size_t next = 0;
  for (const auto& [first, devices] : by_first) {
    Devices& scaled = out[*devices];
    const auto count = devices->size() * static_cast<std::size_t>(to) / static_cast<std::size_t>(from);
    if (rows)
      for (std::size_t d = 0; d < count; ++d) scaled.emplace_back(next++);
    else
      for (std::size_t d = 0; d < count; ++d)
        scaled.emplace_back((*devices)[d % devices->size()].index() +
                            d / devices->size() * static_cast<std::size_t>(from));
  }
  return out;
}

void forget_in_flight(plan::Plan& plan) {
  for (plan::Stage& stage : plan.stages) stage.in_flight = 0;
}

}  // namespace

void scale_devices(plan::Plan& plan, std::int64_t from, std::int64_t to) {
  if (plan::has_colocated(plan))
    throw core::BadInput("stages are colocated: the plan stays on as many devices as it has");
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    if (const std::int64_t replicas = plan.stages[s].replicas(); replicas * to % from != 0)
      throw core::BadInput(
          fmt::format("stage {} has {} replica{}: {} of {} devices would leave it no whole number of them", s,
                      replicas, replicas == 1 ? "" : "s", to, from));
  const auto ranks = scaled_ranks(plan, from, to);
  const bool in_turn = plan::asynchronous(plan);
  for (plan::Stage& stage : plan.stages) {
    const std::int64_t before = stage.replicas();
    stage.devices = ranks.at(stage.devices);
    if (!in_turn) stage.micro_batch = stage.micro_batch * stage.replicas() / before;
  }
  forget_in_flight(plan);
}

void change_micro_batch(plan::Plan& plan, const WhatIfChange& change) {
  const bool in_turn = plan::asynchronous(plan);
  for (plan::Stage& stage : plan.stages) {
    const auto replicas = static_cast<double>(in_turn ? 1 : stage.sharing_replicas());
    const double now = static_cast<double>(stage.micro_batch);
    stage.micro_batch = whole(change.factor ? now * change.value : replicas * change.value, change);
  }
  forget_in_flight(plan);
}

void change_mini_batch(plan::Plan& plan, const WhatIfChange& change) {
  const double now = static_cast<double>(plan.training.mini_batch);
  plan.training.mini_batch = whole(change.factor ? now * change.value : change.value, change);
  forget_in_flight(plan);
}

}  // namespace penstock::experiment
