#include <algorithm>

#include "families.hpp"

namespace penstock::schedule {
namespace {

/// Writes one rank of the zigzag: stage `ahead` on the way down, stage `back` on the way up.
class ZbvWriter {
 public:
  ZbvWriter(int ahead, int back) : stage_{ahead, back} {}

  void f(int chunk) { row.push_back(forward(stage_[chunk], f_[chunk]++)); }
  void i(int chunk) { row.push_back(input_gradient(stage_[chunk], i_[chunk]++)); }
  void w(int chunk) { row.push_back(weight_gradient(stage_[chunk], w_[chunk]++)); }
  bool forwards_left(int chunk, int count) const { return f_[chunk] < count; }
  void rest(int chunk) {
    while (w_[chunk] < i_[chunk]) w(chunk);
  }

  RankOrder row;

 private:
  int stage_[2];
  int f_[2] = {0, 0}, i_[2] = {0, 0}, w_[2] = {0, 0};
};

RankOrder zbv_order(int p, int r, int count) {
  ZbvWriter to(r, 2 * p - 1 - r);
  for (int k = 0; k < 2 * (p - r) - 1; ++k) to.f(0);
  for (int k = 0; k < r; ++k) to.f(1), to.f(0);
  for (int k = 0; k < p - r; ++k) to.f(1), to.i(1), to.w(1);
  while (to.forwards_left(1, count)) {
    if (to.forwards_left(0, count)) to.f(0);
    to.i(0), to.w(0), to.f(1), to.i(1), to.w(1);
  }
  for (int k = 0; k < r; ++k) to.i(0), to.i(1);
  for (int k = 0; k < p - r; ++k) to.i(0), to.w(0);
  to.rest(1);
  to.rest(0);
  return to.row;
}

}  // namespace

Schedule zbv(const ScheduleShape& shape) {
  demand(shape.chunks == 2, "two stages per rank");
  const int count = std::max(2 * shape.ranks - 1, shape.micro_batches);
  Schedule schedule{{}, zigzag_placement(shape.ranks, 2)};
  for (int r = 0; r < shape.ranks; ++r) {
    RankOrder& row = schedule.ranks.emplace_back(zbv_order(shape.ranks, r, count));
    std::erase_if(row, [&](const Action& action) { return action.micro_batch >= shape.micro_batches; });
  }
  return schedule;
}

}  // namespace penstock::schedule
