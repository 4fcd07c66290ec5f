#include "graphpipe/workspace_table.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace penstock::planners {
namespace {

using core::OpId;

struct SetHash {
  std::size_t operator()(const StageSet& set) const {
    std::size_t out = set.size();
    for (const PositionRange& range : set)
      for (const int end : {range.begin, range.end})
        out = (out ^ static_cast<std::size_t>(end)) * 0x9e3779b97f4a7c15u, out ^= out >> 29;
    return out;
  }
};

}  // namespace

struct WorkspaceTable::Remembered {
  static constexpr std::size_t kMost = 1 << 18;  // some 50 MB
  explicit Remembered(std::size_t positions) : once(positions + 1), reach(positions + 1) {}

  std::shared_mutex mutex;
  std::unordered_map<StageSet, cost::MemoryEnvelope, SetHash> known;
  std::vector<std::once_flag> once;           // [end]
  std::vector<std::vector<SweepPeak>> reach;  // [end] by decreasing begin, where it grows
};

WorkspaceTable::WorkspaceTable(const cost::Problem& problem,
                               const std::vector<std::vector<OpId>>& operators_at)
    : graph_(problem.graph), first_{0}, remembered_(std::make_unique<Remembered>(operators_at.size())) {
  for (const auto& here : operators_at) {
    for (const OpId id : here) steps_.push_back(cost::backward_step(graph_, problem.costs, id));
    first_.push_back(steps_.size());
  }
  in_order_ = std::ranges::is_sorted(steps_, {}, &cost::BackwardStep::op);
  if (in_order_) note_passes();
}

WorkspaceTable::~WorkspaceTable() = default;

cost::MemoryEnvelope WorkspaceTable::of(const StageSet& set) const {
  const auto passes = [&](const PositionRange& begins) {
    return begins.begin <= set[0].begin && set[0].begin < begins.end;
  };
  if (!in_order_ || set.size() > 1 ||
      std::ranges::any_of(passed_[static_cast<std::size_t>(set[0].end)], passes))
    return swept(set);
  const auto& known = reach(set[0].end);
  const auto after = std::partition_point(known.begin(), known.end(),
                                          [&](const SweepPeak& r) { return r.begin >= set[0].begin; });
  return after == known.begin() ? cost::MemoryEnvelope() : std::prev(after)->most;
}

cost::MemoryEnvelope WorkspaceTable::swept(const StageSet& set) const {
  {
    const std::shared_lock reading(remembered_->mutex);
    if (const auto found = remembered_->known.find(set); found != remembered_->known.end())
      return found->second;
  }
  const cost::MemoryEnvelope out = cost::backward_workspace(graph_, steps(set));
  const std::unique_lock writing(remembered_->mutex);
  if (remembered_->known.size() < Remembered::kMost) remembered_->known.try_emplace(set, out);
  return out;
}

std::vector<cost::BackwardStep> WorkspaceTable::steps(const StageSet& set) const {
  const auto at = [&](int position) {
    return steps_.begin() + static_cast<std::ptrdiff_t>(first_[static_cast<std::size_t>(position)]);
  };
  std::vector<cost::BackwardStep> out;
  for (const PositionRange& range : set) out.insert(out.end(), at(range.begin), at(range.end));
  if (!in_order_) std::ranges::sort(out, {}, &cost::BackwardStep::op);
  return out;
}

void WorkspaceTable::note_passes() {
  std::vector<int> position(graph_.size());
  for (std::size_t p = 0; p + 1 < first_.size(); ++p)
    for (std::size_t i = first_[p]; i < first_[p + 1]; ++i)
      position[steps_[i].op.index()] = static_cast<int>(p);
  passed_.resize(first_.size());
  for (std::size_t v = 0; v < graph_.size(); ++v) {
    const auto readers = graph_.dag().successors(static_cast<graph::Vertex>(v));  // ascending, so in order
    for (std::size_t i = 1; i < readers.size(); ++i) {
      const int last = position[static_cast<std::size_t>(readers[i - 1])];
      for (int end = last + 1; end <= position[static_cast<std::size_t>(readers[i])]; ++end)
        passed_[static_cast<std::size_t>(end)].push_back({position[v] + 1, last + 1});
    }
  }
}

const std::vector<WorkspaceTable::SweepPeak>& WorkspaceTable::reach(int end) const {
  auto& out = remembered_->reach[static_cast<std::size_t>(end)];
  std::call_once(remembered_->once[static_cast<std::size_t>(end)], [&] {
    const auto row = std::span(steps_).first(first_[static_cast<std::size_t>(end)]);
    cost::BackwardSweep sweep(graph_, row);
    for (int p = end - 1; p >= 0; --p) {
      const std::size_t begin = first_[static_cast<std::size_t>(p)];
      for (std::size_t i = first_[static_cast<std::size_t>(p) + 1]; i-- > begin;) sweep.run(row[i]);
      if (out.empty() || !(out.back().most == sweep.most())) out.push_back({p, sweep.most()});
    }
  });
  return out;
}

}  // namespace penstock::planners
