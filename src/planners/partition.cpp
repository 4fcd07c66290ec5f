#include "partition.hpp"

#include <algorithm>

#include "head_parts.hpp"
#include "partition_each.hpp"
#include "trace.hpp"

namespace penstock::planners {
namespace {

/// Beyond this many selections of a block's branches, groups are runs of neighbouring kinds only.
constexpr std::int64_t kMostSelections = 1024;

int total(const Selection& selection) {
  int sum = 0;
  for (int n : selection) sum += n;
  return sum;
}

Selection counts(const Block& block) {
  Selection out;
  for (const BranchKind& kind : block.kinds) out.push_back(kind.count());
  return out;
}

bool within(const Selection& part, const Selection& whole) {
  for (std::size_t k = 0; k < part.size(); ++k)
    if (part[k] > whole[k]) return false;
  return true;
}

Selection without(Selection whole, const Selection& part) {
  for (std::size_t k = 0; k < part.size(); ++k) whole[k] -= part[k];
  return whole;
}

/// All selections of at least two branches.
std::vector<Selection> all_groups(const Selection& most) {
  std::vector<Selection> out;
  Selection current(most.size(), 0);
  while (true) {
    std::size_t k = 0;
    while (k < most.size() && current[k] == most[k]) current[k++] = 0;
    if (k == most.size()) return out;
    ++current[k];
    if (total(current) >= 2) out.push_back(current);
  }
}

/// Selections that take neighbouring kinds whole, or several branches of one kind.
std::vector<Selection> neighbour_groups(const Selection& most) {
  std::vector<Selection> out;
  for (std::size_t first = 0; first < most.size(); ++first) {
    Selection run(most.size(), 0);
    for (int n = 2; n < most[first]; ++n) {
      run[first] = n;
      out.push_back(run);
    }
    for (std::size_t last = first; last < most.size(); ++last) {
      run[last] = most[last];
      if (total(run) >= 2) out.push_back(run);
    }
  }
  return out;
}

}  // namespace

Partition::Partition(const Arrangement& arrangement, const StageTable& table, double bound, core::StopToken stop)
    : arrangement_(arrangement), table_(table), bound_(bound),
      slack_((table.devices() * bound - table.total_work()) * (1 + 1e-9)), stop_(stop) {}

LevelRow Partition::only(Boundary boundary) const {
  LevelRow row = blank();
  row.lower(boundary.config, 0, boundary.level);
  return row;
}

Partition::Tail& Partition::tail(int index, int end, Boundary downstream) {
  auto& slot = tails_[{index, end, downstream}];
  if (slot) return *slot;
  slot = std::make_unique<Tail>(Tail{&sequence(index), end, downstream, {}, {}, {}});
  Tail& tail = *slot;
  tail.from.resize(static_cast<std::size_t>(end) + 1);
  tail.from.back() = only(downstream);
  for (int p = end - 1; p >= 0; --p) solve_from(tail, p);
  return tail;
}

void Partition::solve_from(Tail& tail, int p) {
  stop_.check();
  ++rows_;
  LevelRow row = blank();
  each_first_stage(tail, p, {}, [&](const StageSet& set, const cost::StageLoad& load, const LevelRow& downstream, int,
                                    const Piece&) {
    lower_by_stage(row, set, load, downstream);
    return true;
  });
  if (tail.sequence->elements[static_cast<std::size_t>(p)].block >= 0) row.lower_by(opened(tail, p, {}), 0);
  tail.from[static_cast<std::size_t>(p)] = std::move(row);
}

void Partition::lower_by_stage(LevelRow& row, const StageSet& set, const cost::StageLoad& load,
                               const LevelRow& downstream) const {
  each_choice(set, load, [&](int c, int replicas, Level capacity) {
    for (int next = 0; next <= table_.configs(); ++next)
      row.lower_by_stage(c, downstream, next, replicas, table_.step(c, next), capacity);
    return true;
  });
}

const LevelRow& Partition::opened(Tail& tail, int element, const Piece& front) {
  const auto known = tail.opened.find({element, front});
  if (known != tail.opened.end()) return known->second;
  LevelRow row = blank();
  const int block_index = tail.sequence->elements[static_cast<std::size_t>(element)].block;
  for (const auto& [key, devices] : behind_block(tail, element)) {
    const LevelRow& head = heads(block_index, front, key.first, key.second);
    if (head.empty()) continue;
    for (int d : devices) row.lower_by(head, d);
  }
  return tail.opened.emplace(std::pair{element, front}, std::move(row)).first->second;
}

const Partition::Behind& Partition::behind_block(Tail& tail, int element) {
  const auto known = tail.behind.find(element);
  if (known != tail.behind.end()) return known->second;
  Behind behind;
  const auto note = [&](const Piece& piece, const LevelRow& row) {
    for (int c = 0; c < row.configs(); ++c)
      for (int d = row.low(c); d <= row.high(c); ++d)
        if (row.cell(c, d) < kNoLevel) behind[{piece, Boundary{c, row.cell(c, d)}}].push_back(d);
  };
  note({}, tail.from[static_cast<std::size_t>(element) + 1]);
  const int block_index = tail.sequence->elements[static_cast<std::size_t>(element)].block;
  if (element + 1 < tail.end)
    for (const Piece& piece : pieces(block_index, false)) {
      const StageSet taken = piece_set(block_index, piece, false);
      if (too_slow(taken)) continue;
      LevelRow row = blank();
      each_first_stage(tail, element + 1, taken, [&](const StageSet& set, const cost::StageLoad& load,
                                                     const LevelRow& downstream, int, const Piece&) {
        lower_by_stage(row, set, load, downstream);
        return true;
      });
      note(piece, row);
    }
  return tail.behind.emplace(element, std::move(behind)).first->second;
}

std::vector<Piece> Partition::pieces(int block_index, bool front) const {
  std::vector<Piece> out;
  const Block& here = block(block_index);
  for (int k = 0; k < static_cast<int>(here.kinds.size()); ++k) {
    const int size = sequence(here.kinds[static_cast<std::size_t>(k)].instances.front()).size();
    for (int cut = front ? 1 : 0; cut < (front ? size + 1 : size); ++cut) out.push_back({Piece::Form::branch, k, cut, {}});
  }
  for (const Selection& group : const_cast<Partition*>(this)->groups(block_index))
    out.push_back({Piece::Form::group, 0, 0, group});
  return out;
}

StageSet Partition::piece_set(int block_index, const Piece& piece, bool front) const {
  if (piece.form == Piece::Form::group) return group_set(block_index, piece.selection);
  const Sequence& branch = sequence(block(block_index).kinds[static_cast<std::size_t>(piece.kind)].instances.front());
  if (!front) return {{branch.elements[static_cast<std::size_t>(piece.cut)].begin, branch.end()}};
  return {{branch.begin(), branch.elements[static_cast<std::size_t>(piece.cut) - 1].end}};
}

StageSet Partition::group_set(int block_index, const Selection& selection) const {
  StageSet set;
  for (std::size_t k = 0; k < selection.size(); ++k)
    for (int n = 0; n < selection[k]; ++n) {
      const Sequence& branch = sequence(block(block_index).kinds[k].instances[static_cast<std::size_t>(n)]);
      set.push_back({branch.begin(), branch.end()});
    }
  return merged(std::move(set));
}

const std::vector<Selection>& Partition::groups(int block_index) {
  const auto known = groups_.find(block_index);
  if (known != groups_.end()) return known->second;
  const Selection most = counts(block(block_index));
  std::int64_t selections = 1;
  for (int n : most) selections = std::min(selections * (n + 1), kMostSelections + 1);
  std::vector<Selection> out = selections <= kMostSelections ? all_groups(most) : neighbour_groups(most);
  std::erase_if(out, [&](const Selection& group) { return too_slow(group_set(block_index, group)); });
  return groups_.emplace(block_index, std::move(out)).first->second;
}

std::vector<std::pair<Selection, StageSet>> Partition::groups_within(int block_index, const Selection& selection) {
  const auto first = static_cast<std::size_t>(
      std::find_if(selection.begin(), selection.end(), [](int n) { return n > 0; }) - selection.begin());
  std::vector<std::pair<Selection, StageSet>> out;
  for (const Selection& group : groups(block_index))
    if (group[first] > 0 && within(group, selection)) out.emplace_back(group, group_set(block_index, group));
  return out;
}

LevelRow Partition::one_stage(const StageSet& set, Boundary downstream) const {
  LevelRow row = blank();
  lower_by_stage(row, set, table_.load(set), only(downstream));
  return row;
}

const LevelRow& Partition::rest(int block_index, const Selection& selection, Boundary downstream) {
  const auto known = rests_.find({block_index, selection, downstream});
  if (known != rests_.end()) return known->second;
  LevelRow row = blank();
  if (total(selection) == 0) {
    for (int c = 0; c < table_.configs(); ++c) row.lower(c, 0, 0);  // nothing demands nothing
  } else {
    const auto kind = static_cast<std::size_t>(
        std::find_if(selection.begin(), selection.end(), [](int n) { return n > 0; }) - selection.begin());
    Selection others = selection;
    --others[kind];
    const int branch = block(block_index).kinds[kind].instances.front();
    const LevelRow& alone = tail(branch, sequence(branch).size(), downstream).from.front();
    if (!alone.empty()) row.lower_by(LevelRow::side_by_side(alone, rest(block_index, others, downstream)), 0);
    for (const auto& [group, set] : groups_within(block_index, selection)) {
      const LevelRow stage = one_stage(set, downstream);
      if (!stage.empty())
        row.lower_by(LevelRow::side_by_side(stage, rest(block_index, without(selection, group), downstream)), 0);
    }
  }
  return rests_.emplace(std::tuple{block_index, selection, downstream}, std::move(row)).first->second;
}

std::vector<HeadParts> Partition::ways(int block_index, const Piece& front, const Piece& back) const {
  std::vector<int> sizes;
  for (const BranchKind& kind : block(block_index).kinds) sizes.push_back(sequence(kind.instances.front()).size());
  return HeadParts::ways(sizes, counts(block(block_index)), front, back);
}

LevelRow Partition::side_by_side(int block_index, const HeadParts& parts, Boundary downstream) {
  if (parts.nothing()) return only(downstream);
  LevelRow row = rest(block_index, parts.rest, downstream);
  for (const HeadParts::Touched& branch : parts.touched) {
    if (!branch.remains()) continue;
    const int first = block(block_index).kinds[static_cast<std::size_t>(branch.kind)].instances.front();
    const LevelRow& middle = tail(first, branch.back_begin, downstream).from[static_cast<std::size_t>(branch.front_end)];
    row = LevelRow::side_by_side(row, middle);
  }
  return row;
}

const LevelRow& Partition::heads(int block_index, const Piece& front, const Piece& back, Boundary downstream) {
  const auto known = heads_.find({block_index, front, back, downstream});
  if (known != heads_.end()) return known->second;
  LevelRow row = blank();
  for (const HeadParts& parts : ways(block_index, front, back)) row.lower_by(side_by_side(block_index, parts, downstream), 0);
  return heads_.emplace(std::tuple{block_index, front, back, downstream}, std::move(row)).first->second;
}

std::optional<std::vector<PartStage>> Partition::solve() {
  const int root = arrangement_.root;
  Tail& whole = tail(root, sequence(root).size(), {table_.configs(), 0});
  int config = -1;
  for (int c = 0; c < table_.configs(); ++c)
    if (whole.from[0].cell(c, table_.devices()) < kNoLevel &&
        (config < 0 || whole.from[0].cell(c, table_.devices()) < whole.from[0].cell(config, table_.devices())))
      config = c;
  if (config < 0) return std::nullopt;
  return Trace(*this).run(whole, config);
}

}  // namespace penstock::planners
