#include "penstock/schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "action_names.hpp"

namespace penstock::schedule {

Action forward(int stage, int micro_batch) {
  return {ActionKind::forward, stage, micro_batch};
}
Action input_gradient(int stage, int micro_batch) {
  return {ActionKind::input_gradient, stage, micro_batch};
}
Action weight_gradient(int stage, int micro_batch) {
  return {ActionKind::weight_gradient, stage, micro_batch};
}
Action backward(int stage, int micro_batch) {
  return {ActionKind::backward, stage, micro_batch};
}
Action overlapped(const Action& forward, const Action& backward) {
  return {ActionKind::overlapped, forward.stage, forward.micro_batch, backward.stage, backward.micro_batch};
}

int micro_batches(const Schedule& schedule) {
  int most = -1;
  for (const RankOrder& row : schedule.ranks)
    for (const Action& action : row) most = std::max({most, action.micro_batch, action.backward_micro_batch});
  return most + 1;
}

std::int64_t held_bytes(const Schedule& schedule) {
  std::size_t out = sizeof(schedule) + schedule.rank_of_stage.size() * sizeof(std::int32_t);
  for (const RankOrder& row : schedule.ranks) out += sizeof(RankOrder) + row.size() * sizeof(Action);
  return static_cast<std::int64_t>(out);
}

std::vector<std::int32_t> loop_placement(int ranks, int chunks) {
  std::vector<std::int32_t> out;
  for (int s = 0; s < ranks * chunks; ++s) out.push_back(s % ranks);
  return out;
}

std::vector<std::int32_t> zigzag_placement(int ranks, int chunks) {
  std::vector<std::int32_t> out;
  for (int s = 0; s < ranks * chunks; ++s)
    out.push_back(s / ranks % 2 == 0 ? s % ranks : ranks - 1 - s % ranks);
  return out;
}

std::string token(const Action& action) {
  if (action.kind == ActionKind::idle) return "";
  if (action.kind == ActionKind::overlapped)
    return fmt::format("({}F{};{}B{})OVERLAP_F_B", action.stage, action.micro_batch, action.backward_stage,
                       action.backward_micro_batch);
  if (action.kind == ActionKind::barrier) return std::string(action_name(ActionKind::barrier));
  const std::string count = action.micro_batch < 0 ? "" : std::to_string(action.micro_batch);
  return fmt::format("{}{}{}", action.stage, action_name(action.kind), count);
}

}  // namespace penstock::schedule
