#include "penstock/cost/pass_pieces.hpp"

#include <algorithm>
#include <map>
#include <ranges>

namespace penstock::cost {
namespace {

using core::OpId;
using layout::GroupCollective;

class Cutter {
 public:
  explicit Cutter(const std::vector<GroupCollective>& collectives) {
    for (const GroupCollective& each : collectives) of_[each.op].push_back(each);
  }

  void add(OpId id) {
    const auto found = of_.find(id);
    if (found == of_.end()) return out_.back().operators.push_back(id);
    for (const GroupCollective& each : found->second)
      if (each.before) wait(each);
    out_.back().operators.push_back(id);
    for (const GroupCollective& each : found->second)
      if (!each.before) wait(each);
  }
  std::vector<PassPiece> take() { return std::move(out_); }

 private:
  void wait(const GroupCollective& collective) {
    out_.back().then = collective;
    out_.emplace_back();
  }

  std::map<OpId, std::vector<GroupCollective>> of_;
  std::vector<PassPiece> out_{1};
};

}  // namespace

PassPieces::PassPieces(const Problem& problem, const plan::Stage& stage) : local_(problem, stage) {
  if (stage.tensor_parallel > 1) collectives_ = layout::infer(local_.get().graph, stage).collectives;
  auto [whole, core] = computed_again(problem.graph, stage);
  again_ = std::move(whole);
  cores_ = std::move(core);
}

std::vector<PassPiece> PassPieces::of(Pass pass, std::span<const OpId> operators) const {
  std::vector<OpId> order(operators.begin(), operators.end());
  std::ranges::sort(order);
  if (pass == Pass::backward) {
    Cutter cutter(collectives_.backward);
    for (const OpId id : order | std::views::reverse) cutter.add(id);
    return cutter.take();
  }
  if (pass == Pass::forward) {
    Cutter cutter(collectives_.forward);
    for (const OpId id : order) cutter.add(id);
    return cutter.take();
  }
  std::vector<GroupCollective> again;
  std::ranges::copy_if(collectives_.forward, std::back_inserter(again),
                       [&](const GroupCollective& c) { return std::ranges::binary_search(again_, c.op); });
  Cutter cutter(again);
  for (const OpId id : order)
    if (std::ranges::binary_search(again_, id) || std::ranges::binary_search(cores_, id)) cutter.add(id);
  return cutter.take();
}

}  // namespace penstock::cost
