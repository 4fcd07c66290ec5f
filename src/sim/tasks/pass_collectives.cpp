#include "tasks/pass_collectives.hpp"

#include <algorithm>

namespace penstock::sim {
namespace {

using Group = std::span<const core::DeviceId>;

std::vector<collective::Message> messages_of(const layout::GroupCollective& collective, Group group,
                                             std::int64_t samples, const GroupMessages& messages) {
  using Kind = layout::GroupCollective::Kind;
  const std::int64_t bytes = (collective.bytes * samples).value();
  if (collective.kind == Kind::all_reduce) return messages.all_reduce(group, bytes);
  return collective.kind == Kind::all_gather ? collective::all_gather(group.size(), bytes)
                                             : collective::all_to_all(group.size(), bytes);
}

}  // namespace

void add_collectives(CutPasses& cut, const CutRank& rank, GroupMessages& messages, TaskList& tasks) {
  for (std::size_t p = 0; p < rank.row.size(); ++p) {
    const program::Instruction& piece = rank.row[p];
    const layout::GroupCollective* then = piece.piece < 0 ? nullptr : cut.behind(piece);
    if (then == nullptr) continue;
    const plan::Stage& stage = rank.plan.stages[piece.stage.index()];
    const program::Sharing& sharing = rank.program.stages[piece.stage.index()].sharing;
    const auto size = static_cast<std::size_t>(stage.tensor_parallel);
    for (std::size_t start = 0; start < stage.devices.size(); start += size) {
      const Group group{stage.devices.data() + start, size};
      const TaskId before = rank.tasks.at[p] + static_cast<TaskId>(start),
                   after = rank.tasks.at[p + 1] + static_cast<TaskId>(start);
      Task like = tasks.graph().task(before);
      like.kind = trace::TaskKind::collective;
      Ready ready;
      for (std::size_t a = 0; a < size; ++a) ready.push_back({before + static_cast<TaskId>(a)});
      const std::int64_t samples = sharing.size(static_cast<std::int64_t>(start) / sharing.group);
      const Ready done = messages.add(
          like, messages_of(*then, group, std::max<std::int64_t>(1, samples), messages), group, ready);
      for (std::size_t a = 0; a < size; ++a)
        for (const TaskId last : done[a]) tasks.edge(last, after + static_cast<TaskId>(a));
    }
  }
}

}  // namespace penstock::sim
