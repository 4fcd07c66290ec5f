#include <deque>

#include "families.hpp"

namespace penstock::schedule {
namespace {

/// Writes the passes of one rank's two stages, each with its own counts.
class DualpipeWriter {
 public:
  DualpipeWriter(int stage0, int stage1) : stage_{stage0, stage1} {}

  void f(int k) { row.push_back(next_forward(k)); }
  void b(int k) { row.push_back(next_backward(k)); }
  void i(int k) {
    const Action whole = next_backward(k);
    row.push_back(input_gradient(whole.stage, whole.micro_batch));
    pending_.push_back(weight_gradient(whole.stage, whole.micro_batch));
  }
  void w() {
    row.push_back(pending_.front());
    pending_.pop_front();
  }
  void pair(int f, int b) {
    const Action ahead = next_forward(f);
    row.push_back(overlapped(ahead, next_backward(b)));
  }

  RankOrder row;

 private:
  Action next_forward(int k) { return forward(stage_[k], f_[k]++); }
  Action next_backward(int k) { return backward(stage_[k], b_[k]++); }

  int stage_[2];
  int f_[2] = {0, 0}, b_[2] = {0, 0};
  std::deque<Action> pending_;  ///< postponed weight gradients, oldest first
};

/// The eight steps of DualPipe for the r-th of `half` ranks, counted from where chunk 0 enters; `count`
/// micro-batches per chunk.
RankOrder eight_steps(int half, int r, int count, int stage0, int stage1) {
  DualpipeWriter to(stage0, stage1);
  const int inner = half - 1 - r;  // ranks between this one and the turning point
  for (int k = 0; k < 2 * inner; ++k) to.f(0);
  for (int k = 0; k < r + 1; ++k) to.f(0), to.f(1);
  for (int k = 0; k < inner; ++k) to.i(1), to.w(), to.f(1);
  for (int k = 0; k < count - 2 * half + r + 1; ++k) {
    if (k == 0 && inner == 0)
      to.f(0), to.b(1);  // the turning point has nothing to overlap yet
    else
      to.pair(0, 1);
    to.pair(1, 0);
  }
  for (int k = 0; k < inner; ++k) to.b(1), to.pair(1, 0);
  bool split = false;
  for (int k = 0; k < r + 1; ++k) {
    if (k == (r + 1) / 2 && r % 2 == 1) split = true;
    split ? to.i(1) : to.b(1);
    if (k == (r + 1) / 2 && r % 2 == 0) split = true;
    split ? to.i(0) : to.b(0);
  }
  for (int k = 0; k < inner; ++k) to.w(), to.i(0);
  for (int k = 0; k < r + 1; ++k) to.w();
  return to.row;
}

}  // namespace

Schedule dualpipev(const ScheduleShape& shape) {
  const int p = shape.ranks;
  demand(shape.chunks == 2, "two stages per rank");
  demand(shape.micro_batches >= 2 * p, "at least 2p micro-batches");
  Schedule schedule{{}, zigzag_placement(p, 2)};
  for (int r = 0; r < p; ++r)
    schedule.ranks.push_back(eight_steps(p, r, shape.micro_batches, r, 2 * p - 1 - r));
  return schedule;
}

Schedule dualpipe(const ScheduleShape& shape) {
  const int p = shape.ranks, count = shape.micro_batches / 2;
  demand(shape.chunks == 1, "one stage per rank and direction");
  demand(p % 2 == 0, "an even number of ranks");
  demand(shape.micro_batches % 2 == 0 && count >= p, "an even number of at least 2p micro-batches");
  Schedule schedule{{}, zigzag_placement(p, 2), 2};
  for (int r = 0; r < p; ++r) {
    const bool mirrored = r >= p / 2;
    const int half_rank = mirrored ? p - 1 - r : r, own = mirrored ? p : 0;
    schedule.ranks.push_back(
        eight_steps(p / 2, half_rank, count, own + half_rank, p - own + p - 1 - half_rank));
  }
  return schedule;
}

}  // namespace penstock::schedule
