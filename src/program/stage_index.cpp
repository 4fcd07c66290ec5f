#include "penstock/program/stage_index.hpp"

#include <algorithm>

namespace penstock::program {
namespace {

using schedule::ActionKind;

template <class T>
T& slot(std::vector<T>& list, std::int32_t micro_batch, T none) {
  const auto m = static_cast<std::size_t>(micro_batch);
  if (m == list.size()) list.push_back(none);  // the common case: rows count upwards
  if (m > list.size()) list.resize(m + 1, none);
  return list[m];
}

class RowIndexer {
 public:
  RowIndexer(const Row& row, core::StageId stage, bool late, std::size_t micro_batches)
      : row_(row), late_(late) {
    for (auto* passes : {&out_.forward, &out_.backward}) passes->reserve(micro_batches);
    for (auto* list : {&out_.release, &forwards_, &backwards_, &releases_}) list->reserve(micro_batches);
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(row.size()); ++p) {
      const Instruction& instruction = row[static_cast<std::size_t>(p)];
      if (instruction.stage == stage && instruction.micro_batch >= 0) place(instruction, p);
    }
    add_gates();
  }
  StageIndex take() { return std::move(out_); }

 private:
  void place(const Instruction& pass, std::int32_t p) {
    const std::int32_t m = pass.micro_batch;
    const std::int32_t first = pass.joined ? p - 1 : p, last = leads(p) ? p + 1 : p;
    if (pass.kind == ActionKind::forward) {
      PassStretch& stretch = slot(out_.forward, m, {});
      if (stretch.first < 0) stretch.first = first, forwards_.push_back(m);
      stretch.last = last;
      most_ = std::max(most_, forwards_.size() - releases_.size());
    } else if (pass.kind == ActionKind::recompute) {
      std::int32_t& again = slot(out_.recompute, m, -1);
      if (again < 0) again = p;
      if (late_) begin_backward(m, first);
    } else if (pass.kind != ActionKind::weight_gradient) {
      begin_backward(m, first);
      slot(out_.backward, m, {}).last = last;
    }
    if (releases(pass.kind)) {
      std::int32_t& release = slot(out_.release, m, -1);
      if (release < 0) releases_.push_back(m);
      release = last;
    }
  }
  bool leads(std::int32_t p) const {
    const auto next = static_cast<std::size_t>(p) + 1;
    return next < row_.size() && row_[next].joined;
  }
  void begin_backward(std::int32_t m, std::int32_t first) {
    PassStretch& stretch = slot(out_.backward, m, {});
    if (stretch.first < 0) stretch.first = first, backwards_.push_back(m);
  }

  void add_gates() {
    out_.forward_gate.assign(out_.forward.size(), -1);
    out_.backward_gate.assign(out_.forward.size(), -1);
    const auto m = [](const std::vector<std::int32_t>& order, std::size_t j) {
      return static_cast<std::size_t>(order[j]);
    };
    for (std::size_t j = most_ + 1; j < forwards_.size(); ++j)
      out_.forward_gate[m(forwards_, j)] = out_.release[m(releases_, j - most_ - 1)];
    for (std::size_t j = 2; j < backwards_.size(); ++j)
      out_.backward_gate[m(backwards_, j)] = out_.backward[m(backwards_, j - 2)].last;
  }

  const Row& row_;
  bool late_;
  StageIndex out_;
  std::vector<std::int32_t> forwards_, backwards_, releases_;  ///< micro-batches in the order of the row
  std::size_t most_ = 0;                                       ///< maximum held at once
};

}  // namespace

StageIndex index_stage(const Row& row, core::StageId stage, bool late, std::size_t micro_batches) {
  return RowIndexer(row, stage, late, micro_batches).take();
}

}  // namespace penstock::program
