#include "workspace_table.hpp"

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
    for (const Range& range : set)
      for (const int end : {range.begin, range.end})
        out = (out ^ static_cast<std::size_t>(end)) * 0x9e3779b97f4a7c15u, out ^= out >> 29;
    return out;
  }
};

std::vector<OpId> in_row(const std::vector<std::vector<OpId>>& operators_at) {
  std::vector<OpId> out;
  for (const auto& here : operators_at) out.insert(out.end(), here.begin(), here.end());
  return out;
}

}  // namespace

struct WorkspaceTable::Remembered {
  static constexpr std::size_t kMost = 1 << 18;  // some 50 MB
  std::shared_mutex mutex;
  std::unordered_map<StageSet, cost::Envelope, SetHash> known;
};

WorkspaceTable::WorkspaceTable(const cost::Problem& problem,
                               const std::vector<std::vector<OpId>>& operators_at)
    : graph_(problem.graph), operators_at_(operators_at), remembered_(std::make_unique<Remembered>()) {
  const std::vector<OpId> row = in_row(operators_at);
  in_order_ = std::is_sorted(row.begin(), row.end());
  for (std::size_t v = 0; v < graph_.size(); ++v)
    steps_.push_back(cost::backward_step(graph_, problem.costs, OpId(v)));
  if (!in_order_) return;
  note_passes();
  reach_.resize(operators_at_.size() + 1);
  for (std::size_t end = 1; end < reach_.size(); ++end) sweep_from(static_cast<int>(end));
}

WorkspaceTable::~WorkspaceTable() = default;

cost::Envelope WorkspaceTable::of(const StageSet& set) const {
  const auto passes = [&](const Range& begins) {
    return begins.begin <= set[0].begin && set[0].begin < begins.end;
  };
  if (!in_order_ || set.size() > 1 ||
      std::ranges::any_of(passed_[static_cast<std::size_t>(set[0].end)], passes))
    return swept(set);
  const auto& reach = reach_[static_cast<std::size_t>(set[0].end)];
  const auto after = std::partition_point(reach.begin(), reach.end(),
                                          [&](const Reach& r) { return r.begin >= set[0].begin; });
  return after == reach.begin() ? cost::Envelope() : std::prev(after)->most;
}

cost::Envelope WorkspaceTable::swept(const StageSet& set) const {
  {
    const std::shared_lock reading(remembered_->mutex);
    if (const auto found = remembered_->known.find(set); found != remembered_->known.end())
      return found->second;
  }
  const cost::Envelope out = cost::backward_workspace(graph_, steps(set));
  const std::unique_lock writing(remembered_->mutex);
  if (remembered_->known.size() < Remembered::kMost) remembered_->known.try_emplace(set, out);
  return out;
}

std::vector<cost::BackwardStep> WorkspaceTable::steps(const StageSet& set) const {
  std::vector<cost::BackwardStep> out;
  for (const Range& range : set)
    for (int p = range.begin; p < range.end; ++p)
      for (const OpId id : operators_at_[static_cast<std::size_t>(p)]) out.push_back(steps_[id.index()]);
  if (!in_order_) std::ranges::sort(out, {}, &cost::BackwardStep::op);
  return out;
}

void WorkspaceTable::note_passes() {
  std::vector<int> position(graph_.size());
  for (std::size_t p = 0; p < operators_at_.size(); ++p)
    for (const OpId id : operators_at_[p]) position[id.index()] = static_cast<int>(p);
  passed_.resize(operators_at_.size() + 1);
  for (std::size_t v = 0; v < graph_.size(); ++v) {
    const auto readers = graph_.dag().successors(static_cast<graph::Vertex>(v));  // ascending, so in order
    for (std::size_t i = 1; i < readers.size(); ++i) {
      const int last = position[static_cast<std::size_t>(readers[i - 1])];
      for (int end = last + 1; end <= position[static_cast<std::size_t>(readers[i])]; ++end)
        passed_[static_cast<std::size_t>(end)].push_back({position[v] + 1, last + 1});
    }
  }
}

void WorkspaceTable::sweep_from(int end) {
  auto& out = reach_[static_cast<std::size_t>(end)];
  cost::BackwardSweep sweep(graph_, steps({{0, end}}));
  for (int p = end - 1; p >= 0; --p) {
    const auto& here = operators_at_[static_cast<std::size_t>(p)];
    for (std::size_t i = here.size(); i-- > 0;) sweep.run(steps_[here[i].index()]);
    if (out.empty() || !(out.back().most == sweep.most())) out.push_back({p, sweep.most()});
  }
}

}  // namespace penstock::planners
