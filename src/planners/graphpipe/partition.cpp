#include "graphpipe/partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graphpipe/head_parts.hpp"
#include "graphpipe/partition_each.hpp"
#include "graphpipe/trace.hpp"

namespace penstock::planners {
namespace {

/// If a block's branches have more selections, groups are runs of neighbouring kinds only.
constexpr std::int64_t kMostSelections = 1024;

int total(const Selection& selection) {
  int sum = 0;
  for (int n : selection) sum += n;
  return sum;
}

Selection counts(const BranchBlock& block) {
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

/// Margin so that rounding does not exclude a plan.
constexpr double kTolerance = 1e-9;

}  // namespace

PartitionSearch::PartitionSearch(const UnitArrangement& arrangement, const StageTable& table, double bound,
                                 LevelCounting levels, core::StopToken stop)
    : arrangement_(arrangement),
      table_(table),
      bound_(bound),
      levels_(levels),
      slack_(table.devices() * bound * (1 + kTolerance) - table.total_work()),
      affordable_(affordable_works()),
      stop_(stop) {}

std::vector<PartitionSearch::WorkRange> PartitionSearch::affordable_works() const {
  std::vector<WorkRange> out;
  for (int replicas : table_.choices().replicas) {
    const double all = replicas * bound_;
    out.push_back({std::isinf(all) ? 0 : all - slack_, all * (1 + kTolerance)});
  }
  return out;
}

int PartitionSearch::most_devices(double work) const {
  if (std::isinf(bound_) || bound_ <= 0) return table_.devices();
  return static_cast<int>(std::clamp((work + slack_) / bound_, 0.0, table_.devices() + 0.0));
}

const LevelStep& PartitionSearch::step(int config, int next) const {
  static constexpr LevelStep kIgnored;
  return levels_ == LevelCounting::counted ? table_.step(config, next) : kIgnored;
}

double PartitionSearch::work(const TailSolutions& tail, int p) const {
  const auto& elements = sequence(tail.sequence).elements;
  if (p == tail.end) return 0;
  return table_.least_work(PositionRange{elements[static_cast<std::size_t>(p)].begin,
                                         elements[static_cast<std::size_t>(tail.end) - 1].end});
}

double PartitionSearch::work(int block_index, const Selection& selection) const {
  double sum = 0;
  for (std::size_t k = 0; k < selection.size(); ++k) {
    const UnitSequence& branch = sequence(block(block_index).kinds[k].instances.front());
    sum += selection[k] * table_.least_work(PositionRange{branch.begin(), branch.end()});
  }
  return sum;
}

LevelRow PartitionSearch::only(StageInterface boundary) const {
  LevelRow row(table_.configs() + 1, 0);
  row.lower(boundary.config, 0, boundary.level);
  return row;
}

PartitionSearch::TailSolutions& PartitionSearch::tail(int index, int end, StageInterface downstream) {
  auto& slot = tails_[{index, end, downstream}];
  if (slot) return *slot;
  slot = std::make_unique<TailSolutions>(TailSolutions{index, end, downstream, {}, {}, {}});
  TailSolutions& tail = *slot;
  tail.from.resize(static_cast<std::size_t>(end) + 1);
  tail.from.back() = only(downstream);
  for (int p = end - 1; p >= 0; --p) solve_from(tail, p);
  return tail;
}

void PartitionSearch::solve_from(TailSolutions& tail, int p) {
  stop_.check();
  ++rows_;
  LevelRow row = blank(work(tail, p));
  each_first_stage(tail, p, 0, [&](const StageStart& start, const LevelRow& downstream) {
    lower_by_start(row, start, downstream);
    return true;
  });
  if (block_at(tail.sequence, p) >= 0) row.lower_by(opened(tail, p, 0), 0);
  tail.from[static_cast<std::size_t>(p)] = std::move(row);
}

const std::vector<PartitionSearch::StageStart>& PartitionSearch::starts(int index, int p, int back) {
  auto& known = starts_[{index, p, back}];
  if (!known) {
    known = find_starts(index, p, back > 0 ? slice(block_at(index, p - 1), false, back) : BlockSlice{});
  }
  return *known;
}

std::vector<PartitionSearch::StageStart> PartitionSearch::find_starts(int index, int p,
                                                                      const BlockSlice& with) {
  std::vector<StageStart> out;
  const UnitSequence& row = sequence(index);
  const int begin = row.elements[static_cast<std::size_t>(p)].begin;
  for (int q = p + 1; q <= row.size(); q = next_end(row, p, q, with.work)) {
    stop_.check();
    const PositionRange run{begin, row.elements[static_cast<std::size_t>(q) - 1].end};
    const double work = with.work + table_.least_work(run);
    if (work > affordable_.back().most) break;  // every longer run needs still more
    const StageSet set = joined(with.set, {run});
    if (affordable(work)) {
      const std::size_t before = out.size();
      add_starts(out, q, 0, set, work);
      if (out.size() == before && too_slow(set)) break;
    }
    if (q == row.size() || block_at(index, q) < 0) continue;
    const auto& fronts = slices(block_at(index, q), true);
    for (std::size_t front = 1; front < fronts.size(); ++front)
      if (affordable(work + fronts[front].work))
        add_starts(out, q, static_cast<int>(front), joined(fronts[front].set, set),
                   work + fronts[front].work);
  }
  return out;
}

int PartitionSearch::next_end(const UnitSequence& row, int p, int q, double with_work) const {
  if (!row.plain() || q == row.size()) return q + 1;  // a block behind the run may add what it lacks
  const auto work_to = [&](int end) {
    return with_work + table_.least_work(PositionRange{row.begin() + p, row.begin() + end});
  };
  const double next = work_to(q + 1);
  const std::size_t replicas = least_replicas(next);
  if (replicas == affordable_.size() || affordable_[replicas].least <= next) return q + 1;
  int low = q + 1, high = row.size();  // a run that is too short; one that is long enough, or the longest
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (work_to(middle) < affordable_[replicas].least ? low : high) = middle;
  }
  return high > low ? high : q + 1;
}

void PartitionSearch::add_starts(std::vector<StageStart>& out, int end, int front, const StageSet& set,
                                 double work) const {
  const auto& replicas = table_.choices().replicas;
  std::optional<cost::StageLoad> load;
  bool whole = false;
  for (int c = 0; c < table_.configs(); ++c)
    for (std::size_t r = least_replicas(work); r < replicas.size() && affordable_[r].least <= work; ++r) {
      const int index = static_cast<int>(r);
      if (table_.compute(set, c, index) > bound_)
        continue;  // most are excluded already, and adding up tensors takes time
      if (!load) load = table_.load(set);
      const double time = table_.time_per_sample(set, *load, c, index);
      if (time > bound_ || std::isinf(time)) continue;  // the bound may be infinite itself
      if (!std::exchange(whole, true) && !table_.ample(set, *load)) load->workspace = table_.workspace(set);
      const Level capacity = table_.capacity(*load, c, index);
      if (capacity >= 0) out.push_back({end, front, c, replicas[r], capacity});
    }
}

void PartitionSearch::lower_by_start(LevelRow& row, const StageStart& start,
                                     const LevelRow& downstream) const {
  for (int next = 0; next <= table_.configs(); ++next)
    row.lower_by_stage(start.config, downstream, next, start.replicas, step(start.config, next),
                       start.capacity);
}

const LevelRow& PartitionSearch::opened(TailSolutions& tail, int element, int front) {
  const auto known = tail.opened.find({element, front});
  if (known != tail.opened.end()) return known->second;
  const int block_index = block_at(tail.sequence, element);
  LevelRow row = blank(work(tail, element) - slice(block_index, true, front).work);
  for (const auto& [key, devices] : behind_block(tail, element)) {
    const LevelRow& head = heads(block_index, front, key.first, key.second);
    if (head.empty()) continue;
    stop_.check();
    for (int d : devices) row.lower_by(head, d);
  }
  return tail.opened.emplace(std::pair{element, front}, std::move(row)).first->second;
}

const PartitionSearch::Behind& PartitionSearch::behind_block(TailSolutions& tail, int element) {
  const auto known = tail.behind.find(element);
  if (known != tail.behind.end()) return known->second;
  Behind behind;
  const auto note = [&](int back, const LevelRow& row) {
    for (int c = 0; c < row.configs(); ++c)
      for (int d = row.low(c); d <= row.high(c); ++d)
        if (row.cell(c, d) < kNoLevel) behind[{back, StageInterface{c, row.cell(c, d)}}].push_back(d);
  };
  note(0, tail.from[static_cast<std::size_t>(element) + 1]);
  const auto& backs = slices(block_at(tail.sequence, element), false);
  if (element + 1 < tail.end)
    for (std::size_t back = 1; back < backs.size(); ++back) {
      LevelRow row = blank(work(tail, element + 1) + backs[back].work);
      each_first_stage(tail, element + 1, static_cast<int>(back),
                       [&](const StageStart& start, const LevelRow& downstream) {
                         lower_by_start(row, start, downstream);
                         return true;
                       });
      note(static_cast<int>(back), row);
    }
  return tail.behind.emplace(element, std::move(behind)).first->second;
}

const std::vector<BlockSlice>& PartitionSearch::slices(int block_index, bool front) {
  auto& out = slices_[{block_index, front}];
  if (!out.empty()) return out;
  out.push_back({});
  for (const BlockPiece& piece : pieces(block_index, front)) {
    stop_.check();
    StageSet set = piece_set(block_index, piece, front);
    if (too_slow(set)) continue;
    const double work = table_.least_work(set);
    out.push_back({piece, std::move(set), work});
  }
  if (!front)
    std::sort(out.begin(), out.end(),
              [](const BlockSlice& a, const BlockSlice& b) { return a.piece < b.piece; });
  return out;
}

std::vector<BlockPiece> PartitionSearch::pieces(int block_index, bool front) {
  std::vector<BlockPiece> out;
  const BranchBlock& here = block(block_index);
  for (int k = 0; k < static_cast<int>(here.kinds.size()); ++k) {
    const int size = sequence(here.kinds[static_cast<std::size_t>(k)].instances.front()).size();
    for (int cut = front ? 1 : 0; cut < (front ? size + 1 : size); ++cut)
      out.push_back({BlockPiece::PieceForm::branch, k, cut, {}});
  }
  for (const BlockSlice& group : groups(block_index)) out.push_back(group.piece);
  return out;
}

StageSet PartitionSearch::piece_set(int block_index, const BlockPiece& piece, bool front) const {
  if (piece.form == BlockPiece::PieceForm::group) return group_set(block_index, piece.selection);
  const UnitSequence& branch =
      sequence(block(block_index).kinds[static_cast<std::size_t>(piece.kind)].instances.front());
  if (!front) return {{branch.elements[static_cast<std::size_t>(piece.cut)].begin, branch.end()}};
  return {{branch.begin(), branch.elements[static_cast<std::size_t>(piece.cut) - 1].end}};
}

StageSet PartitionSearch::group_set(int block_index, const Selection& selection) const {
  StageSet set;
  for (std::size_t k = 0; k < selection.size(); ++k)
    for (int n = 0; n < selection[k]; ++n) {
      const UnitSequence& branch =
          sequence(block(block_index).kinds[k].instances[static_cast<std::size_t>(n)]);
      set.push_back({branch.begin(), branch.end()});
    }
  return merged(std::move(set));
}

const std::vector<BlockSlice>& PartitionSearch::groups(int block_index) {
  const auto known = groups_.find(block_index);
  if (known != groups_.end()) return known->second;
  const Selection most = counts(block(block_index));
  std::int64_t selections = 1;
  for (int n : most) selections = std::min(selections * (n + 1), kMostSelections + 1);
  std::vector<BlockSlice> out;
  for (Selection& group : selections <= kMostSelections ? all_groups(most) : neighbour_groups(most)) {
    stop_.check();
    StageSet set = group_set(block_index, group);
    if (too_slow(set)) continue;
    const double work = table_.least_work(set);
    out.push_back({{BlockPiece::PieceForm::group, 0, 0, std::move(group)}, std::move(set), work});
  }
  return groups_.emplace(block_index, std::move(out)).first->second;
}

std::vector<const BlockSlice*> PartitionSearch::groups_within(int block_index, const Selection& selection) {
  const auto first = static_cast<std::size_t>(
      std::find_if(selection.begin(), selection.end(), [](int n) { return n > 0; }) - selection.begin());
  std::vector<const BlockSlice*> out;
  for (const BlockSlice& group : groups(block_index))
    if (group.piece.selection[first] > 0 && within(group.piece.selection, selection) &&
        affordable(group.work))
      out.push_back(&group);
  return out;
}

LevelRow PartitionSearch::one_stage(const BlockSlice& group, StageInterface downstream) const {
  stop_.check();
  LevelRow row = blank(group.work);
  std::vector<StageStart> starts;
  add_starts(starts, 0, 0, group.set, group.work);
  for (const StageStart& start : starts) lower_by_start(row, start, only(downstream));
  return row;
}

const LevelRow& PartitionSearch::rest(int block_index, const Selection& selection,
                                      StageInterface downstream) {
  const auto known = rests_.find({block_index, selection, downstream});
  if (known != rests_.end()) return known->second;
  LevelRow row = blank(work(block_index, selection));
  if (total(selection) == 0) {
    for (int c = 0; c < table_.configs(); ++c) row.lower(c, 0, 0);  // no samples in flight are needed
  } else {
    const auto kind = static_cast<std::size_t>(
        std::find_if(selection.begin(), selection.end(), [](int n) { return n > 0; }) - selection.begin());
    Selection others = selection;
    --others[kind];
    const int branch = block(block_index).kinds[kind].instances.front();
    const LevelRow& alone = tail(branch, sequence(branch).size(), downstream).from.front();
    if (!alone.empty()) row.lower_side_by_side(alone, rest(block_index, others, downstream));
    for (const BlockSlice* group : groups_within(block_index, selection)) {
      const LevelRow stage = one_stage(*group, downstream);
      if (!stage.empty())
        row.lower_side_by_side(stage,
                               rest(block_index, without(selection, group->piece.selection), downstream));
    }
  }
  return rests_.emplace(std::tuple{block_index, selection, downstream}, std::move(row)).first->second;
}

std::vector<HeadParts> PartitionSearch::ways(int block_index, int front, int back) {
  std::vector<int> sizes;
  for (const BranchKind& kind : block(block_index).kinds)
    sizes.push_back(sequence(kind.instances.front()).size());
  return HeadParts::ways(sizes, counts(block(block_index)), slice(block_index, true, front).piece,
                         slice(block_index, false, back).piece);
}

LevelRow PartitionSearch::side_by_side(int block_index, const HeadParts& parts, StageInterface downstream) {
  stop_.check();
  if (parts.nothing()) return only(downstream);
  double work = this->work(block_index, parts.rest);
  LevelRow row = rest(block_index, parts.rest, downstream);
  for (const HeadParts::TouchedBranch& branch : parts.touched) {
    if (row.empty()) return row;
    if (!branch.remains()) continue;
    const int first = block(block_index).kinds[static_cast<std::size_t>(branch.kind)].instances.front();
    TailSolutions& middle = tail(first, branch.back_begin, downstream);
    work += this->work(middle, branch.front_end);
    LevelRow both = blank(work);
    both.lower_side_by_side(row, middle.from[static_cast<std::size_t>(branch.front_end)]);
    row = std::move(both);
  }
  return row;
}

const LevelRow& PartitionSearch::heads(int block_index, int front, int back, StageInterface downstream) {
  const auto known = heads_.find({block_index, front, back, downstream});
  if (known != heads_.end()) return known->second;
  LevelRow row = blank(work(block_index, counts(block(block_index))) - slice(block_index, true, front).work -
                       slice(block_index, false, back).work);
  for (const HeadParts& parts : ways(block_index, front, back))
    row.lower_by(side_by_side(block_index, parts, downstream), 0);
  return heads_.emplace(std::tuple{block_index, front, back, downstream}, std::move(row)).first->second;
}

std::optional<std::vector<PartStage>> PartitionSearch::solve() {
  const int root = arrangement_.root;
  TailSolutions& whole = tail(root, sequence(root).size(), {table_.configs(), 0});
  int config = -1;
  for (int c = 0; c < table_.configs(); ++c)
    if (whole.from[0].cell(c, table_.devices()) < kNoLevel &&
        (config < 0 ||
         whole.from[0].cell(c, table_.devices()) < whole.from[0].cell(config, table_.devices())))
      config = c;
  if (config < 0) return std::nullopt;
  return SolutionTrace(*this).run(whole, config);
}

}  // namespace penstock::planners
