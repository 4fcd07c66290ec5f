#include "tasks/stage_tasks.hpp"

#include <algorithm>

namespace penstock::sim {
namespace {

using schedule::ActionKind;

class StageIndex {
 public:
  StageIndex(const RankRow& row, std::int32_t stage, StageTasks& out) : row_(row), out_(out) {
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(row.tasks.size()); ++p) {
      const RowTask& task = row.tasks[static_cast<std::size_t>(p)];
      if (task.stage == stage && task.kind != ActionKind::step) place(task, p);
    }
    out.forward_gate.assign(out.forward.size(), -1);
    out.backward_gate.assign(out.forward.size(), -1);
    for (std::size_t j = most_ + 1; j < forwards_.size(); ++j)
      out.forward_gate[forwards_[j]] = out.release[releases_[j - most_ - 1]];
    for (std::size_t j = 2; j < backwards_.size(); ++j)
      out.backward_gate[backwards_[j]] = out.backward[backwards_[j - 2]].last;
  }

 private:
  bool leads(std::int32_t p) const {
    const auto next = static_cast<std::size_t>(p) + 1;
    return next < row_.tasks.size() && row_.tasks[next].joined;
  }
  template <class T>
  static T& slot(std::vector<T>& list, std::size_t m, T none) {
    if (m >= list.size()) list.resize(m + 1, none);
    return list[m];
  }
  void begin_backward(std::size_t m, std::int32_t first) {
    Stretch& stretch = slot(out_.backward, m, {});
    if (stretch.first < 0) stretch.first = first, backwards_.push_back(m);
  }
  void place(const RowTask& task, std::int32_t p) {
    const auto m = static_cast<std::size_t>(task.micro_batch);
    const std::int32_t first = task.joined ? p - 1 : p, last = leads(p) ? p + 1 : p;
    if (task.kind == ActionKind::forward) {
      slot(out_.forward, m, {}) = {first, last};
      forwards_.push_back(m);
      most_ = std::max(most_, forwards_.size() - releases_.size());
    } else if (task.kind == ActionKind::recompute) {
      slot(out_.recompute, m, -1) = p;
      if (out_.late) begin_backward(m, first);
    } else if (task.kind != ActionKind::weight_gradient) {
      begin_backward(m, first);
      out_.backward[m].last = last;
    }
    if (task.kind == ActionKind::backward || task.kind == ActionKind::weight_gradient) {
      std::int32_t& release = slot(out_.release, m, -1);
      if (release < 0) releases_.push_back(m);
      release = last;
    }
  }

  const RankRow& row_;
  StageTasks& out_;
  std::vector<std::size_t> forwards_, backwards_, releases_;  ///< micro-batches in the order of the row
  std::size_t most_ = 0;                                      ///< most held at once
};

}  // namespace

void index_row(const RankRow& row, std::int32_t stage, StageTasks& out) {
  StageIndex(row, stage, out);
}

}  // namespace penstock::sim
