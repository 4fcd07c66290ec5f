#include "kept_plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/strategy.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::experiment {
namespace {

constexpr std::size_t kMostKinds = 64;  ///< kinds kept: those of the fastest plans

/// Most frequent value over the stages; among equally frequent ones the smallest.
template <class Of>
plan::ValueRange usual(const plan::Plan& plan, const Of& of) {
  std::map<std::int64_t, std::size_t> stages;
  for (const plan::Stage& stage : plan.stages) ++stages[of(stage)];
  const auto most = std::ranges::max_element(stages, {}, [](const auto& each) { return each.second; });
  return {most->first, most->first};
}

/// Kind of a plan: values of most stages, without tuning such as micro-batches, runs of k and, on one set of
/// devices, the order of passes.
plan::Strategy kind_of(const plan::Plan& plan) {
  plan::Strategy out = plan::strategy(plan, 1);
  out.depth = out.stages;
  out.micro_batch = out.k = {1, 1};
  out.data_parallel = usual(plan, [](const plan::Stage& stage) { return stage.sharing_replicas(); });
  for (std::size_t i = 0; i < out.divided.size(); ++i)
    out.divided[i] = usual(plan, [&](const plan::Stage& stage) { return stage.*plan::kStatedDims[i].size; });
  out.sequence_parallel = usual(plan, [](const plan::Stage& s) { return s.sequence_parallel; }).most > 0;
  out.expert_parallel = usual(plan, [](const plan::Stage& stage) { return stage.expert_parallel; });
  out.whole_experts = usual(plan, [](const plan::Stage& s) { return s.whole_experts; }).most > 0;
  out.zero = usual(plan, [](const plan::Stage& stage) { return stage.zero; });
  out.zero_over = usual(plan, [](const plan::Stage& stage) { return stage.zero_over; });
  out.recomputing = usual(plan, [](const plan::Stage& s) { return bool(s.recompute); }).most * out.stages;
  if (out.recomputing == 0) out.recomputed.clear();
  if (out.pipeline_parallel > 1) return out;
  out.schedule = "1f1b";  // on one device set the order of passes makes no other kind of plan
  out.stages = out.depth = 1;
  out.recomputing = std::min<std::int64_t>(out.recomputing, 1);
  return out;
}

std::string recomputation(const plan::Strategy& kind) {
  if (kind.recomputing == 0) return "none";
  return kind.recomputed.empty() ? "stages" : kind.recomputed;
}

}  // namespace

bool KeptPlans::wanted(const std::string& kind, core::Seconds time) const {
  if (time > least_ * kWithin) return false;
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() || time <= found->second.time;
}

/// In-flight counts follow from the schedule, so they do not count.
bool KeptPlans::runs(const plan::Plan& plan) const {
  if (!runnable_) return true;
  const auto near = runnable_(plan, nullptr);
  return near && near->schedule == plan.schedule &&
         std::ranges::equal(near->stages, plan.stages, [](plan::Stage a, plan::Stage b) {
           a.in_flight = b.in_flight = 0;
           return a == b;
         });
}

void KeptPlans::see(const plan::Plan& plan, core::Seconds time) {
  const std::string kind = plan::in_words(kind_of(plan));
  {
    const std::lock_guard lock(mutex_);
    if (!wanted(kind, time)) return;
  }
  if (!runs(plan) || !score::violations(problem_, plan).empty()) return;
  std::string text = plan::to_yaml(problem_.graph, plan);
  const std::lock_guard lock(mutex_);
  if (!wanted(kind, time)) return;
  const auto [found, fresh] = by_kind_.try_emplace(kind);
  KeptPlan& kept = found->second;
  if (!fresh && kept.time == time && kept.text <= text) return;
  kept = {time, std::move(text), plan};
  least_ = std::min(least_, time);
  if (by_kind_.size() > kMostKinds) drop_slowest();
}

/// Drops the slowest kind. A kind whose fastest plan is among those of all kinds stays from then on.
void KeptPlans::drop_slowest() {
  by_kind_.erase(std::ranges::max_element(by_kind_, [](const auto& a, const auto& b) {
    return a.second.time != b.second.time ? a.second.time < b.second.time : a.first < b.first;
  }));
}

std::vector<plan::Plan> KeptPlans::others(const plan::Plan& best, std::size_t most) const {
  const std::string own = plan::in_words(kind_of(best));
  std::vector<std::pair<core::Seconds, const KeptPlan*>> ranked;
  for (const auto& [kind, kept] : by_kind_)
    if (kind != own && plan::asynchronous(kept.plan) == plan::asynchronous(best))
      ranked.emplace_back(kept.time, &kept);
  std::ranges::stable_sort(ranked, {}, [](const auto& each) { return each.first; });
  std::vector<plan::Plan> out;
  for (const auto& [time, kept] : ranked)
    if (out.size() < most && time <= least_ * kWithin) out.push_back(kept->plan);
  return out;
}

std::string differences(const plan::Plan& best, const plan::Plan& other) {
  const plan::Strategy from = kind_of(best), to = kind_of(other);
  std::string out;
  const auto add = [&](std::string_view what, const std::string& before, const std::string& after) {
    if (before != after) out += fmt::format("{}{} {} to {}", out.empty() ? "" : ", ", what, before, after);
  };
  const auto on = [](bool is) { return std::string(is ? "on" : "off"); };
  add("PP", std::to_string(from.pipeline_parallel), std::to_string(to.pipeline_parallel));
  add("DP", text(from.data_parallel), text(to.data_parallel));
  for (std::size_t i = plan::kStatedDims.size(); i-- > 0;)
    add(plan::kStatedDims[i].letters, text(from.divided[i]), text(to.divided[i]));
  add("EP", text(from.expert_parallel), text(to.expert_parallel));
  add("whole experts", on(from.whole_experts), on(to.whole_experts));
  add("SP", on(from.sequence_parallel), on(to.sequence_parallel));
  if (from.pipeline_parallel == to.pipeline_parallel)
    add("stages", std::to_string(from.stages), std::to_string(to.stages));
  add("schedule", from.schedule, to.schedule);
  add("ZeRO", text(from.zero), text(to.zero));
  add("ZeRO over", text(from.zero_over), text(to.zero_over));
  add("recompute", recomputation(from), recomputation(to));
  return out;
}

}  // namespace penstock::experiment
