#include "penstock/plan/colocated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "penstock/core/error.hpp"

namespace penstock::plan {
namespace {

using core::DeviceId;
using core::StageId;

/// Number of leading `devices` that equal one of the sets; 0: no set.
std::size_t leading_set(std::span<const DeviceId> devices, const std::vector<Stage>& others) {
  for (const Stage& other : others)
    if (!other.part && !other.devices.empty() && other.devices.size() <= devices.size() &&
        std::equal(other.devices.begin(), other.devices.end(), devices.begin()))
      return other.devices.size();
  return 0;
}

/// True if the stages are equal except for devices and position among the parts.
bool alike(Stage a, const Stage& b) {
  a.devices = b.devices, a.part = b.part;
  return a == b;
}

/// Feature that colocated stages do not support, as the end of a sentence; empty if the stage has none.
std::string limit(const Plan& plan, const Stage& stage) {
  const auto divided = [&](Partition how) {
    return std::any_of(stage.partition.begin(), stage.partition.end(),
                       [&](const auto& chosen) { return chosen.second == how; });
  };
  if (asynchronous(plan))
    return fmt::format("runs with a schedule that flushes, which {} does not", plan.schedule);
  if (stage.k != 1) return "has no k: its passes do not alternate";
  if (!stage.after.empty()) return "waits for no stage: it has no `after`";
  if (stage.zero > 1 || stage.zero_over > 0) return "has ZeRO 1 over all its replicas, or none";
  if (stage.experts_apart()) return "has no `expert_parallel`";
  if (stage.sequence_parallel || divided(Partition::sequence) || divided(Partition::batch))
    return "has no operators divided by samples or tokens";
  return "";
}

class ColocationCheck {
 public:
  ColocationCheck(const graph::OpGraph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  std::vector<std::string> violations() {
    std::int64_t expected = 0;  // replicas before the next part; 0: the next part begins a stage
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const Stage& stage = plan_.stages[s];
      if (expected > 0 && (!stage.part || stage.part.before == 0))
        add(s - 1, "is not followed by the other parts of its stage");
      if (!stage.part) {
        expected = 0;
        continue;
      }
      judge_part(s, expected);
      const std::int64_t end = stage.part.before + (stage.replica_size() < 1 ? 0 : stage.replicas());
      expected = end < stage.part.of ? end : 0;
    }
    if (expected > 0) add(plan_.stages.size() - 1, "is not followed by the other parts of its stage");
    judge_inputs();
    judge_tail();
    return std::move(out_);
  }

 private:
  void add(std::size_t s, const std::string& what) {
    out_.push_back(fmt::format("stage {}, which is colocated, {}", s, what));
  }

  void judge_part(std::size_t s, std::int64_t expected) {
    const Stage& stage = plan_.stages[s];
    if (stage.part.before != expected || (expected > 0 && !alike(stage, plan_.stages[s - 1])) ||
        stage.part.before + stage.replicas() > stage.part.of)
      add(s, "is no part of the stage before it, nor the first of another");
    if (leading_set(stage.devices, plan_.stages) != stage.devices.size())
      add(s, "has other devices than any stage that is not");
    if (const std::string text = limit(plan_, stage); expected == 0 && !text.empty()) add(s, text);
  }

  /// A colocated stage that is not behind the pipeline runs all its forward passes before those of other
  /// stages, so it must not wait for them.
  void judge_inputs() {
    std::vector<std::size_t> stage_of(graph_.size());
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      for (const core::OpId op : plan_.stages[s].operators)
        if (op.index() < graph_.size()) stage_of[op.index()] = s;
    const std::size_t behind = behind_pipeline(plan_);
    std::vector<char> told(plan_.stages.size());
    for (const auto& [from, to] : graph_.dag().edges()) {
      const std::size_t a = stage_of[static_cast<std::size_t>(from)],
                        b = stage_of[static_cast<std::size_t>(to)];
      if (!plan_.stages[b].part || b >= behind || plan_.stages[a].part || told[b]) continue;
      told[b] = 1;
      add(b, fmt::format("waits for stage {}, which is not", a));
    }
  }

  /// Stages behind the pipeline run in turn on the same samples, so their micro-batches must be equal.
  void judge_tail() {
    const std::size_t first = behind_pipeline(plan_);
    for (std::size_t s = first; s < plan_.stages.size(); ++s)
      if (plan_.stages[s].part.before == 0 && plan_.stages[s].micro_batch != plan_.stages[first].micro_batch)
        add(s, "has another micro-batch than the one before it, both behind the pipeline");
  }

  const graph::OpGraph& graph_;
  const Plan& plan_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<Stage> parts_of(const Stage& whole, const std::vector<Stage>& others) {
  const std::int64_t size = whole.replica_size();
  if (size < 1 || static_cast<std::int64_t>(whole.devices.size()) % size != 0)
    throw core::BadInput(
        fmt::format("{} devices cannot be divided into replicas of {}", whole.devices.size(), size));
  std::vector<Stage> out;
  for (std::size_t at = 0; at < whole.devices.size();) {
    const std::size_t taken = leading_set(std::span(whole.devices).subspan(at), others);
    if (taken == 0)
      throw core::BadInput(fmt::format(
          "the devices of a colocated stage are those of others, set after set; no set begins with device {}",
          whole.devices[at].index()));
    if (static_cast<std::int64_t>(taken) % size != 0)
      throw core::BadInput(
          fmt::format("a replica of {} devices does not stand on the {} of one other stage", size, taken));
    const auto begin = whole.devices.begin() + static_cast<std::ptrdiff_t>(at);
    Stage part = whole;
    part.devices.assign(begin, begin + static_cast<std::ptrdiff_t>(taken));
    part.part = {static_cast<std::int64_t>(at) / size, whole.replicas()};
    out.push_back(std::move(part));
    at += taken;
  }
  return out;
}

std::vector<std::vector<StageId>> colocated_stages(const Plan& plan) {
  std::vector<std::vector<StageId>> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePart& part = plan.stages[s].part;
    if (!part) continue;
    if (part.before == 0) out.emplace_back();
    core::require(!out.empty(), "the first part of a stage comes first");
    out.back().emplace_back(s);
  }
  return out;
}

std::size_t behind_pipeline(const Plan& plan) {
  std::size_t s = plan.stages.size();
  while (s > 0 && plan.stages[s - 1].part) --s;
  return s;
}

bool has_colocated(const Plan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [](const Stage& stage) { return bool(stage.part); });
}

Stage whole_stage(const Plan& plan, const std::vector<StageId>& parts) {
  Stage out = plan.stages[parts.front().index()];
  out.part = {};
  out.devices.clear();
  for (const StageId part : parts) {
    const auto& devices = plan.stages[part.index()].devices;
    out.devices.insert(out.devices.end(), devices.begin(), devices.end());
  }
  return out;
}

PipelineOf::PipelineOf(const Plan& whole) : plan(whole) {
  plan.stages.clear();
  std::vector<std::size_t> number(whole.stages.size());
  for (std::size_t s = 0; s < whole.stages.size(); ++s) {
    if (whole.stages[s].part) continue;
    number[s] = plan.stages.size();
    stages.push_back(static_cast<std::int32_t>(s));
    Stage stage = whole.stages[s];
    std::erase_if(stage.after, [&](StageId before) { return bool(whole.stages[before.index()].part); });
    for (StageId& before : stage.after) before = StageId(number[before.index()]);
    plan.stages.push_back(std::move(stage));
  }
}

void refuse_colocated(const Plan& plan, std::string_view what) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].part)
      throw core::BadInput(fmt::format("stage {} is colocated, which {} does not know", s, what));
}

std::vector<std::string> colocated_violations(const graph::OpGraph& graph, const Plan& plan) {
  return has_colocated(plan) ? ColocationCheck(graph, plan).violations() : std::vector<std::string>();
}

}  // namespace penstock::plan
