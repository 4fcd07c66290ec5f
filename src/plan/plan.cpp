#include "penstock/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "penstock/core/spelling.hpp"

namespace penstock::plan {
namespace {

constexpr std::array<std::string_view, 5> kAsynchronous = {"pipedream", "pipedream_vsync", "pipedream_2bw", "pipemare",
                                                           "xpipe"};
constexpr std::array<std::string_view, 3> kOptimizers = {"sgd", "momentum", "adam"};

}  // namespace

std::string_view name(Optimizer optimizer) { return kOptimizers[static_cast<std::size_t>(optimizer)]; }
Optimizer optimizer(std::string_view given) { return static_cast<Optimizer>(core::index_of(given, kOptimizers, "optimizer")); }

bool asynchronous(const Plan& plan) {
  return std::find(kAsynchronous.begin(), kAsynchronous.end(), plan.schedule) != kAsynchronous.end();
}

std::int64_t samples_per_device(const Plan& plan, const Stage& stage) {
  return samples_per_device(stage.micro_batch, asynchronous(plan) ? 1 : static_cast<std::int64_t>(stage.devices.size()));
}

std::vector<std::int32_t> rank_of_stage(const Plan& plan) {
  std::map<std::vector<core::DeviceId>, std::int32_t> ranks;
  std::vector<std::int32_t> out;
  for (const Stage& stage : plan.stages)
    out.push_back(ranks.emplace(stage.devices, static_cast<std::int32_t>(ranks.size())).first->second);
  return out;
}

}  // namespace penstock::plan
