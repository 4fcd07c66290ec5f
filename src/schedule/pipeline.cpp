#include "penstock/schedule/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::schedule {
namespace {

using core::Picoseconds;

bool negative(Picoseconds t) {
  return t < Picoseconds(0);
}

std::string stage_violation(const Pipeline& pipeline) {
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    const PipelineStage& stage = pipeline.stages[s];
    if (negative(stage.forward) || negative(stage.backward) || negative(stage.after) || negative(stage.early))
      return fmt::format("stages[{}]: a time is negative", s);
    if (stage.early > stage.backward)
      return fmt::format("stages[{}]: the early part of a backward is longer than all of it", s);
    if (stage.room < 0) return fmt::format("stages[{}]: room for {} micro-batches", s, stage.room);
  }
  return "";
}

std::string link_fault(const Pipeline& pipeline) {
  const auto stages = static_cast<int>(pipeline.stages.size());
  for (std::size_t e = 0; e < pipeline.links.size(); ++e) {
    const PipelineLink& link = pipeline.links[e];
    if (link.from < 0 || link.from >= link.to || link.to >= stages)
      return fmt::format("links[{}]: from {} to {}: a link leads to a later one of the {} stages", e,
                         link.from, link.to, stages);
    if (negative(link.forward) || negative(link.backward) || negative(link.forward_latency) ||
        negative(link.backward_latency))
      return fmt::format("links[{}]: a time is negative", e);
  }
  return "";
}

/// Checks the sum of all tasks, which no schedule exceeds.
std::string clock_violation(const Pipeline& pipeline) {
  constexpr double kClock = 9e18;
  const auto number = [](Picoseconds t) { return static_cast<double>(t.value()); };
  double once = 0, after = 0;
  for (const PipelineStage& s : pipeline.stages) {
    once += number(s.forward) + number(s.backward);
    after += number(s.after);
  }
  for (const PipelineLink& e : pipeline.links)
    once += number(e.forward) + number(e.backward) + number(e.forward_latency) + number(e.backward_latency);
  return once * pipeline.micro_batches + after < kClock ? "" : "the times of one iteration leave the clock";
}

void place_steps(const Pipeline& pipeline, UnrolledPipeline& out) {
  const std::size_t stages = pipeline.stages.size(), per_link = pipeline.full_duplex ? 2 : 1;
  out.machines = stages + per_link * pipeline.links.size();
  out.steps.resize(2 * out.sites);
  out.steps_of.resize(out.machines);
  const auto place = [&](std::size_t step, std::size_t machine, PassPhase phase, Picoseconds time,
                         Picoseconds latency) {
    out.steps[step] = {machine, phase, time, latency, {}, {}};
    out.steps_of[machine].push_back(step);
  };
  for (std::size_t s = 0; s < stages; ++s) {
    place(out.forward(s), s, PassPhase::forward, pipeline.stages[s].forward, Picoseconds(0));
    place(out.backward(s), s, PassPhase::backward, pipeline.stages[s].backward, Picoseconds(0));
  }
  for (std::size_t e = 0; e < pipeline.links.size(); ++e) {
    const PipelineLink& link = pipeline.links[e];
    const std::size_t machine = stages + per_link * e;
    place(out.forward(stages + e), machine, PassPhase::forward, link.forward, link.forward_latency);
    place(out.backward(stages + e), machine + per_link - 1, PassPhase::backward, link.backward,
          link.backward_latency);
  }
}

/// Connects steps. A backward also waits for its own forward; this edge is needed only for sinks, elsewhere
/// the chain in between implies it.
void connect_steps(const Pipeline& pipeline, UnrolledPipeline& out) {
  const auto wait = [&](std::size_t step, std::size_t before) {
    out.steps[step].waits_for.push_back(before);
    out.steps[before].awaited_by.push_back(step);
  };
  const std::size_t stages = pipeline.stages.size();
  for (std::size_t e = 0; e < pipeline.links.size(); ++e) {
    const auto from = static_cast<std::size_t>(pipeline.links[e].from);
    const auto to = static_cast<std::size_t>(pipeline.links[e].to);
    wait(out.forward(stages + e), out.forward(from));
    wait(out.forward(to), out.forward(stages + e));
    wait(out.backward(stages + e), out.backward(to));
    wait(out.backward(from), out.backward(stages + e));
  }
  for (std::size_t s = 0; s < stages; ++s)
    if (out.steps[out.backward(s)].waits_for.empty()) wait(out.backward(s), out.forward(s));
}

/// Topological order: every stage, then its outgoing links; in reverse for backwards.
void sort_steps(const Pipeline& pipeline, UnrolledPipeline& out) {
  std::vector<std::vector<std::size_t>> outgoing(pipeline.stages.size());
  for (std::size_t e = 0; e < pipeline.links.size(); ++e)
    outgoing[static_cast<std::size_t>(pipeline.links[e].from)].push_back(pipeline.stages.size() + e);
  for (std::size_t s = 0; s < outgoing.size(); ++s) {
    out.topological.push_back(out.forward(s));
    for (const std::size_t link : outgoing[s]) out.topological.push_back(out.forward(link));
  }
  for (std::size_t i = out.sites; i-- > 0;) out.topological.push_back(out.backward(out.topological[i]));
}

}  // namespace

std::string violation(const Pipeline& pipeline) {
  if (pipeline.stages.empty()) return "a pipeline has at least one stage";
  if (pipeline.micro_batches < 1) return fmt::format("{} micro-batches", pipeline.micro_batches);
  for (const auto& look : {stage_violation, link_fault, clock_violation})
    if (std::string found = look(pipeline); !found.empty()) return found;
  return "";
}

void check_runnable(const Pipeline& pipeline) {
  if (const std::string found = violation(pipeline); !found.empty()) throw core::BadInput(found);
  const std::size_t sites = pipeline.stages.size() + pipeline.links.size();
  if (2.0 * static_cast<double>(sites) * pipeline.micro_batches > static_cast<double>(plan::kMostPasses))
    throw core::Error(core::ExitCode::limit,
                      fmt::format("{} micro-batches on {} stages and links are more than {} tasks",
                                  pipeline.micro_batches, sites, plan::kMostPasses));
}

UnrolledPipeline::UnrolledPipeline(const Pipeline& pipeline)
    : sites(pipeline.stages.size() + pipeline.links.size()) {
  if (const std::string found = violation(pipeline); !found.empty()) throw core::BadInput(found);
  place_steps(pipeline, *this);
  connect_steps(pipeline, *this);
  sort_steps(pipeline, *this);
}

RankOrder rank_order(std::int32_t stage, const std::vector<Task>& tasks) {
  RankOrder row;
  for (const Task& task : tasks)
    row.push_back(task.phase == PassPhase::forward ? forward(stage, task.micro_batch)
                                                   : backward(stage, task.micro_batch));
  return row;
}

std::string tokens(const std::vector<Task>& row) {
  std::string out;
  for (const Task& task : row)
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", task.phase == PassPhase::forward ? 'F' : 'B',
                       task.micro_batch);
  return out;
}

int most_held(const std::vector<Task>& row) {
  int held = 0, most = 0;
  for (const Task& task : row) most = std::max(most, held += task.phase == PassPhase::forward ? 1 : -1);
  return most;
}

}  // namespace penstock::schedule
