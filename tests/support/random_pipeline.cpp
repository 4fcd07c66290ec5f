#include "support/random_pipeline.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "penstock/core/error.hpp"

namespace penstock::support {
namespace {

using core::Picoseconds;
using core::Random;
using schedule::MachineOrder;
using schedule::PassPhase;
using schedule::Pipeline;
using schedule::Task;

Picoseconds time_between(Random& random, int low, int high) {
  return Picoseconds(random.between(low, high));
}

std::set<int> feeders(Random& random, int stage, bool chain) {
  if (stage == 0) return {};
  if (chain) return {stage - 1};
  std::set<int> from;
  for (int n = random.between(0, 3); n > 0; --n) from.insert(random.between(0, stage - 1));
  return from;
}

/// Interleavings of forwards and backwards, both in order, never more than `room` apart.
void interleave(int count, int room, std::vector<Task>& row, int forwards,
                std::vector<std::vector<Task>>& out) {
  const int backwards = static_cast<int>(row.size()) - forwards;
  if (backwards == count) return out.push_back(row);
  const auto go = [&](PassPhase phase, int m, int more) {
    row.push_back({phase, m});
    interleave(count, room, row, forwards + more, out);
    row.pop_back();
  };
  if (forwards < count && forwards - backwards < room) go(PassPhase::forward, forwards, 1);
  if (backwards < forwards) go(PassPhase::backward, backwards, 0);
}

std::vector<std::vector<Task>> rows_of(const Pipeline& pipeline, std::size_t machine) {
  std::vector<std::vector<Task>> out;
  std::vector<Task> row;
  const std::size_t stages = pipeline.stages.size();
  if (machine < stages || !pipeline.full_duplex) {
    const int room = machine < stages ? pipeline.stages[machine].room : 0;
    interleave(pipeline.micro_batches, room > 0 ? room : pipeline.micro_batches, row, 0, out);
    return out;
  }
  const PassPhase phase = (machine - stages) % 2 == 0 ? PassPhase::forward : PassPhase::backward;
  for (std::int32_t m = 0; m < pipeline.micro_batches; ++m) row.push_back({phase, m});
  return {row};
}

std::optional<Picoseconds> makespan(const Pipeline& pipeline, const MachineOrder& order) {
  try {
    return execute(pipeline, order).makespan;
  } catch (const core::Error& e) {
    if (e.code() != core::ExitCode::invalid_plan) throw;
    return {};  // deadlock
  }
}

}  // namespace

Pipeline random_pipeline(Random& random, const PipelineShape& shape) {
  Pipeline out;
  out.micro_batches = random.between(1, shape.most_micro_batches);
  out.full_duplex = random.chance(0.5);
  const int latency = random.chance(1.0 / 3) ? 10 : 0;
  const bool reduce = random.chance(0.5);
  const int links = random.chance(0.25) ? 0 : random.between(1, 15);
  const int stages = random.between(1, shape.most_stages);
  for (int s = 0; s < stages; ++s) {
    const Picoseconds forward = time_between(random, 1, 20);
    const auto backward = static_cast<std::int64_t>(static_cast<double>(forward.value()) * shape.backward);
    out.stages.push_back({forward, shape.backward > 0 ? Picoseconds(backward) : time_between(random, 1, 40),
                          shape.limited ? random.between(1, 2 * stages) : 0,
                          reduce ? time_between(random, 0, 30) : Picoseconds(0)});
    for (const int from : feeders(random, s, shape.chain))
      out.links.push_back({from, s, time_between(random, 0, links), time_between(random, 0, links),
                           time_between(random, 0, latency), time_between(random, 0, latency)});
  }
  return out;
}

Picoseconds least_makespan(const Pipeline& pipeline) {
  std::vector<std::vector<std::vector<Task>>> choices;
  const std::size_t machines =
      pipeline.stages.size() + (pipeline.full_duplex ? 2 : 1) * pipeline.links.size();
  for (std::size_t k = 0; k < machines; ++k) choices.push_back(rows_of(pipeline, k));
  std::optional<Picoseconds> least;
  MachineOrder order(machines);
  std::vector<std::size_t> digit(machines, 0);
  for (std::size_t k = 0; k < machines;) {
    for (std::size_t j = 0; j < machines; ++j) order[j] = choices[j][digit[j]];
    if (const auto found = makespan(pipeline, order)) least = std::min(least.value_or(*found), *found);
    for (k = 0; k < machines && ++digit[k] == choices[k].size(); ++k) digit[k] = 0;
  }
  return least.value();
}

}  // namespace penstock::support
