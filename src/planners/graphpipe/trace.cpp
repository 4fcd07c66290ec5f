#include "graphpipe/trace.hpp"

#include <algorithm>

#include "graphpipe/partition_each.hpp"

namespace penstock::planners {

using core::require;

std::vector<PartStage> SolutionTrace::run(TailSolutions& whole, int config) {
  from({whole, p_.arrangement_.root}, 0, config, p_.table_.devices());
  for (PartStage& stage : stages_) stage.set = merged(std::move(stage.set));
  return std::move(stages_);
}

std::optional<int> SolutionTrace::next(const PartitionSearch::StageStart& start, const LevelRow& downstream,
                                       int devices, Level target) const {
  for (int next = 0; next <= p_.table_.configs(); ++next) {
    const LevelStep& step = p_.step(start.config, next);
    const Level level = downstream.cell(next, devices - start.replicas);
    if (level <= step.largest_source(start.capacity) && level < kNoLevel && step.after(level) == target)
      return next;
  }
  return std::nullopt;
}

std::optional<SolutionTrace::FirstStage> SolutionTrace::first_stage(TailSolutions& tail, int p, int back,
                                                                    int config, int devices, Level target) {
  std::optional<FirstStage> found;
  p_.each_first_stage(tail, p, back,
                      [&](const PartitionSearch::StageStart& start, const LevelRow& downstream) {
                        if (start.config != config) return true;
                        if (const auto downstream_config = next(start, downstream, devices, target))
                          found = FirstStage{start, *downstream_config};
                        return !found;
                      });
  return found;
}

void SolutionTrace::from(TailUse place, int p, int config, int devices) {
  if (p == place.tail.end) return;
  const Level target = place.tail.from[static_cast<std::size_t>(p)].cell(config, devices);
  const auto first = first_stage(place.tail, p, 0, config, devices, target);
  if (!first) return opened(place, p, 0, -1, config, devices);
  const int stage = add_stage(place, p, *first, config);
  follow(place, *first, stage, devices - first->start.replicas);
}

int SolutionTrace::add_stage(TailUse place, int p, const FirstStage& first, int config) {
  stages_.push_back({{}, config, first.start.replicas});
  const int stage = static_cast<int>(stages_.size()) - 1;
  add_range(stage, place.sequence, p, first.start.end);
  return stage;
}

void SolutionTrace::follow(TailUse place, const FirstStage& first, int stage, int devices) {
  if (first.start.front == 0)
    from(place, first.start.end, first.next, devices);
  else
    opened(place, first.start.end, first.start.front, stage, first.next, devices);
}

void SolutionTrace::opened(TailUse place, int element, int front, int front_stage, int config, int devices) {
  TailSolutions& tail = place.tail;
  const int block = p_.block_at(tail.sequence, element);
  require(block >= 0, "what is opened is a block");
  const Level target = p_.opened(tail, element, front).cell(config, devices);
  for (const auto& [key, behind] : p_.behind_block(tail, element)) {
    const auto& [back, downstream] = key;
    const LevelRow& head = p_.heads(block, front, back, downstream);
    const auto spent = std::find_if(behind.begin(), behind.end(), [&](int d) {
      return !head.empty() && head.cell(config, devices - d) == target;
    });
    if (spent == behind.end()) continue;
    if (back == 0) {
      heads(place, element, front, back, downstream, front_stage, -1, config, devices - *spent);
      return from(place, element + 1, downstream.config, *spent);
    }
    const auto first = first_stage(tail, element + 1, back, downstream.config, *spent, downstream.level);
    require(first.has_value(), "the stage behind a block is found again");
    const int stage = add_stage(place, element + 1, *first, downstream.config);
    heads(place, element, front, back, downstream, front_stage, stage, config, devices - *spent);
    return follow(place, *first, stage, *spent - first->start.replicas);
  }
  require(false, "an opened block is found again");
}

void SolutionTrace::heads(TailUse place, int element, int front, int back, StageInterface downstream,
                          int front_stage, int back_stage, int config, int devices) {
  const int block = p_.block_at(place.tail.sequence, element);
  const int actual = p_.block_at(place.sequence, element);
  const Level target = p_.heads(block, front, back, downstream).cell(config, devices);
  for (const HeadParts& parts : p_.ways(block, front, back)) {
    if (p_.side_by_side(block, parts, downstream).cell(config, devices) != target) continue;
    BranchInstances instances{p_.block(actual), Selection(parts.rest.size(), 0)};
    auto rows = components(block, parts, instances, downstream, front_stage, back_stage, config);
    add_group(front_stage, p_.slice(block, true, front).piece.selection, instances);
    add_group(back_stage, p_.slice(block, false, back).piece.selection, instances);
    return share(std::move(rows), config, devices, target);
  }
  require(false, "a block's heads are found again");
}

/// Assigns the ends of the split branches to the stages around the block. The rest of them, and the other
/// branches, are the components.
std::vector<SolutionTrace::RowComponent> SolutionTrace::components(int block, const HeadParts& parts,
                                                                   BranchInstances& instances,
                                                                   StageInterface downstream, int front_stage,
                                                                   int back_stage, int config) {
  std::vector<RowComponent> out;
  for (const HeadParts::TouchedBranch& branch : parts.touched) {
    const int instance = instances.next(static_cast<std::size_t>(branch.kind));
    if (branch.front_end > 0) add_range(front_stage, instance, 0, branch.front_end);
    if (branch.back_begin < branch.size) add_range(back_stage, instance, branch.back_begin, branch.size);
    if (!branch.remains()) continue;
    const int planned = p_.block(block).kinds[static_cast<std::size_t>(branch.kind)].instances.front();
    TailSolutions& tail = p_.tail(planned, branch.back_begin, downstream);
    out.push_back({&tail.from[static_cast<std::size_t>(branch.front_end)], [=, this, &tail](int devices) {
                     from({tail, instance}, branch.front_end, config, devices);
                   }});
  }
  if (parts.nothing()) return out;
  out.push_back({&p_.rest(block, parts.rest, downstream), [=, this, &instances, &parts](int devices) {
                   rest(block, instances, parts.rest, downstream, config, devices);
                 }});
  return out;
}

/// Divides the devices so that no component exceeds the target.
void SolutionTrace::share(std::vector<RowComponent> components, int config, int devices, Level target) {
  if (components.empty()) return;
  const RowComponent last = components.back();
  components.pop_back();
  if (components.empty()) return last.write(devices);
  LevelRow others = *components.front().row;
  for (std::size_t i = 1; i < components.size(); ++i) {
    LevelRow both(others.configs(), devices);
    both.lower_side_by_side(others, *components[i].row);
    others = std::move(both);
  }
  for (int own = 0; own <= devices; ++own)
    if (last.row->cell(config, own) <= target && others.cell(config, devices - own) <= target) {
      last.write(own);
      return share(std::move(components), config, devices - own, target);
    }
  require(false, "devices can be shared out again");
}

void SolutionTrace::rest(int block, BranchInstances& instances, const Selection& selection,
                         StageInterface downstream, int config, int devices) {
  const auto first = std::find_if(selection.begin(), selection.end(), [](int n) { return n > 0; });
  if (first == selection.end()) return;
  const Level target = p_.rest(block, selection, downstream).cell(config, devices);
  const auto kind = static_cast<std::size_t>(first - selection.begin());
  Selection others = selection;
  --others[kind];
  const int planned = p_.block(block).kinds[kind].instances.front();
  TailSolutions& alone = p_.tail(planned, p_.sequence(planned).size(), downstream);
  const LevelRow& beside = p_.rest(block, others, downstream);
  for (int own = 1; own <= devices; ++own)
    if (std::max(alone.from.front().cell(config, own), beside.cell(config, devices - own)) == target) {
      from({alone, instances.next(kind)}, 0, config, own);
      return rest(block, instances, others, downstream, config, devices - own);
    }
  rest_group(block, instances, selection, downstream, config, devices, target);
}

void SolutionTrace::rest_group(int block, BranchInstances& instances, const Selection& selection,
                               StageInterface downstream, int config, int devices, Level target) {
  for (const BlockSlice* slice : p_.groups_within(block, selection)) {
    const Selection& group = slice->piece.selection;
    Selection others = selection;
    for (std::size_t k = 0; k < others.size(); ++k) others[k] -= group[k];
    const LevelRow& beside = p_.rest(block, others, downstream);
    const LevelRow stage = p_.one_stage(*slice, downstream);
    for (int own = 1; own <= devices; ++own)
      if (std::max(stage.cell(config, own), beside.cell(config, devices - own)) == target) {
        stages_.push_back({{}, config, own});
        add_group(static_cast<int>(stages_.size()) - 1, group, instances);
        return rest(block, instances, others, downstream, config, devices - own);
      }
  }
  require(false, "a group of branches is found again");
}

void SolutionTrace::add_group(int stage, const Selection& selection, BranchInstances& instances) {
  for (std::size_t k = 0; k < selection.size(); ++k)
    for (int n = 0; n < selection[k]; ++n) {
      const int branch = instances.next(k);
      add_range(stage, branch, 0, p_.sequence(branch).size());
    }
}

void SolutionTrace::add_range(int stage, int sequence, int first_element, int last_element) {
  const auto& elements = p_.sequence(sequence).elements;
  stages_[static_cast<std::size_t>(stage)].set.push_back(
      {elements[static_cast<std::size_t>(first_element)].begin,
       elements[static_cast<std::size_t>(last_element) - 1].end});
}

}  // namespace penstock::planners
