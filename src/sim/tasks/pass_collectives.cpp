#include "tasks/pass_collectives.hpp"

#include <algorithm>
#include <map>

namespace penstock::sim {
namespace {

using layout::GroupCollective;
using layout::GroupScope;
using Positions = std::vector<std::size_t>;  ///< in a stage's list of devices

std::vector<collective::Message> messages_of(const GroupCollective& collective,
                                             std::span<const core::DeviceId> group, std::int64_t samples,
                                             const GroupMessages& messages) {
  const std::int64_t bytes = collective.moved(samples).value();
  if (collective.kind == GroupCollective::TransferKind::all_reduce) return messages.all_reduce(group, bytes);
  return collective.kind == GroupCollective::TransferKind::all_gather
             ? messages.all_gather(group, bytes)
             : collective::all_to_all(group.size(), bytes);
}

std::vector<Positions> positions_of(plan::Stage stage, GroupScope among) {
  for (std::size_t i = 0; i < stage.devices.size(); ++i) stage.devices[i] = core::DeviceId(i);
  std::vector<Positions> out;
  for (const auto& group : layout::groups(stage, among)) {
    if (group.size() < 2) continue;
    out.emplace_back();
    for (const core::DeviceId device : group) out.back().push_back(device.index());
  }
  return out;
}

class CollectiveAdder {
 public:
  CollectiveAdder(const CutRank& rank, GroupMessages& messages, TaskList& tasks)
      : rank_(rank), messages_(messages), tasks_(tasks), groups_(rank.plan.stages.size()) {}

  /// Adds the collectives of a pass. `first`: position of the first of its pieces.
  void add_pass(std::size_t first, const std::vector<cost::PassPiece>& pieces) {
    const auto at = [&](std::size_t piece) { return rank_.tasks.at[first + piece]; };
    stage_ = rank_.row[first].stage;
    Arrived weights, gradients;  // results of the layers so far, which follow each other per kind
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (const GroupCollective& each : pieces[i].weights) run(each, at(pieces[i].ahead), at(i), &weights);
      if (pieces[i].then) run(*pieces[i].then, at(i), at(i + 1));
      for (const GroupCollective& each : pieces[i].gradients)
        run(each, at(i), at(pieces.size() - 1), &gradients);
    }
  }

 private:
  using Arrived = std::map<GroupScope, std::vector<Ready>>;  ///< [kind][group]

  /// Runs a collective between two pieces, given by their tasks on the first device; after those of `chain`,
  /// if given.
  void run(const GroupCollective& collective, TaskId before, TaskId after, Arrived* chain = nullptr) {
    const plan::Stage& stage = rank_.plan.stages[stage_.index()];
    const auto& groups = groups_of(collective.among);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<core::DeviceId> devices;
      Ready ready;
      std::int64_t samples = 1;
      for (const std::size_t i : groups[g]) {
        devices.push_back(stage.devices[i]);
        ready.push_back({before + static_cast<TaskId>(i)});
        samples = std::max(samples, samples_of(i));
      }
      if (chain != nullptr) wait_for((*chain)[collective.among], g, ready);
      const auto messages = messages_of(collective, devices, samples, messages_);
      Task like = tasks_.graph().task(ready.front().front());
      like.kind = trace::TaskKind::collective;
      const Ready done = messages_.add(like, messages, devices, ready);
      for (std::size_t a = 0; a < devices.size(); ++a)
        for (const TaskId last : done[a]) tasks_.edge(last, after + static_cast<TaskId>(groups[g][a]));
      if (chain != nullptr) (*chain)[collective.among][g] = done;
    }
  }
  static void wait_for(std::vector<Ready>& chain, std::size_t group, Ready& ready) {
    chain.resize(std::max(chain.size(), group + 1));
    for (std::size_t a = 0; a < chain[group].size(); ++a)
      ready[a].insert(ready[a].end(), chain[group][a].begin(), chain[group][a].end());
  }
  std::int64_t samples_of(std::size_t position) const {
    const program::SampleSharing& sharing = rank_.program.stages[stage_.index()].sharing;
    return sharing.size(static_cast<std::int64_t>(position) / sharing.group);
  }
  const std::vector<Positions>& groups_of(GroupScope among) {
    const auto [found, fresh] = groups_[stage_.index()].try_emplace(among);
    if (fresh) found->second = positions_of(rank_.plan.stages[stage_.index()], among);
    return found->second;
  }

  const CutRank& rank_;
  GroupMessages& messages_;
  TaskList& tasks_;
  std::vector<std::map<GroupScope, std::vector<Positions>>> groups_;  ///< [stage]
  core::StageId stage_;
};

}  // namespace

void add_collectives(CutPasses& cut, const CutRank& rank, GroupMessages& messages, TaskList& tasks) {
  CollectiveAdder adder(rank, messages, tasks);
  for (std::size_t p = 0; p < rank.row.size(); ++p)
    if (rank.row[p].piece == 0) adder.add_pass(p, cut.pieces(rank.row[p]));
}

}  // namespace penstock::sim
