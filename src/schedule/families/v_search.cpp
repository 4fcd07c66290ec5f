#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "families.hpp"
#include "v_action.hpp"

namespace penstock::schedule {
namespace {

enum PassSort : int { kF = 0, kI = 1, kW = 2 };

struct StuckPass {};  ///< thrown if the input or the memory of a due pass is missing

/// Passes of one rank so far. Chunk 0 is the first that a sort of pass meets. For F it is the chunk on the
/// way down, for I and W the chunk on the way up.
struct ZigzagFilling {
  RankOrder row;
  std::array<int, 6> count{};  ///< per 2 * sort + chunk
  std::int64_t memory = 0, end = 0;
  std::int64_t bubble = 0;  ///< idle time since its first forward
  std::deque<int> weights;  ///< chunks of the weight gradients that wait
};

class VSearch {
 public:
  /// `accepted`: bubble per rank of an earlier run, which the filling of gaps tries to even out; may be
  /// empty.
  VSearch(const ScheduleShape& shape, bool fill_before_forward, bool fill_before_gradient,
          std::vector<std::int64_t> accepted)
      : p_(shape.ranks),
        m_(shape.micro_batches),
        fill_{fill_before_forward, fill_before_gradient},
        accepted_(std::move(accepted)),
        delay_(shape.costs.delay.value()),
        limit_(2 * shape.activation_bytes * shape.memory_limit.value_or(shape.ranks)),
        time_{shape.costs.forward.value(), shape.costs.input_gradient.value(),
              shape.costs.weight_gradient.value()},
        memory_{shape.activation_bytes, shape.weight_gradient_bytes - shape.activation_bytes,
                -shape.weight_gradient_bytes},
        ranks_(static_cast<std::size_t>(p_)) {
    for (auto& ends : ends_) ends.assign(static_cast<std::size_t>(p_ * m_), -1);
  }

  void run() {
    descend();
    even_out();
    for (int round = 0; round < 2 * m_; ++round) {
      for (int j = 0; j < p_; ++j) make_room(j, kI);
      gradients();
      for (int j = 0; j < p_; ++j) forward_if_ready(j);
    }
    for (int j = 0; j < p_; ++j)
      while (!at(j).weights.empty()) put_weight(j);
  }

  std::vector<std::int64_t> bubbles() const {
    std::vector<std::int64_t> out;
    for (const ZigzagFilling& rank : ranks_) out.push_back(rank.bubble);
    return out;
  }
  Schedule schedule() {
    Schedule out{{}, zigzag_placement(p_, 2)};
    for (ZigzagFilling& rank : ranks_) out.ranks.push_back(std::move(rank.row));
    return out;
  }

 private:
  ZigzagFilling& at(int j) { return ranks_[static_cast<std::size_t>(j)]; }
  int& count(int j, int sort, int chunk) { return at(j).count[static_cast<std::size_t>(2 * sort + chunk)]; }
  /// End of a pass; negative before it has run.
  std::int64_t& end(int sort, int chunk, int j, int i) {
    return ends_[static_cast<std::size_t>(2 * sort + chunk)][static_cast<std::size_t>(j * m_ + i)];
  }
  /// Rank that the next pass of this chunk waits for; -1: none.
  int before(int j, int chunk) const { return chunk == 0 ? j - 1 : j + 1 < p_ ? j + 1 : -1; }

  void put(int sort, int chunk, int j) {
    ZigzagFilling& rank = at(j);
    const int i = count(j, sort, chunk);
    const auto s = static_cast<std::size_t>(sort);
    if (i >= m_ || rank.memory + memory_[s] > limit_) throw StuckPass{};
    const std::int64_t start = sort == kW ? rank.end : std::max(rank.end, input(sort, chunk, j, i));
    if (count(j, kF, 0) > 0) rank.bubble += start - rank.end;
    rank.end = end(sort, chunk, j, i) = start + time_[s];
    rank.memory += memory_[s];
    rank.row.push_back(v_action(2 * sort + chunk, j, i, p_));
    if (sort == kI) rank.weights.push_back(chunk);
    ++count(j, sort, chunk);
  }
  std::int64_t input(int sort, int chunk, int j, int i) {
    const int kind = 2 * sort + chunk;
    if (kind > 0 && end((kind - 1) / 2, (kind - 1) % 2, j, i) < 0) throw StuckPass{};
    const int from = before(j, chunk);
    if (from < 0) return 0;
    if (end(sort, chunk, from, i) < 0) throw StuckPass{};
    return end(sort, chunk, from, i) + delay_;
  }
  void put_weight(int j) {
    if (at(j).weights.empty()) throw StuckPass{};
    const int chunk = at(j).weights.front();
    at(j).weights.pop_front();
    put(kW, chunk, j);
  }
  void make_room(int j, int sort) {
    while (at(j).memory + memory_[static_cast<std::size_t>(sort)] > limit_) put_weight(j);
  }

  /// Runs one micro-batch down and up, with as many more forwards as fit before it returns.
  void descend() {
    for (int j = 0; j < p_; ++j) put(kF, 0, j);
    for (int j = p_; j-- > 0;) {
      while (j < p_ - 1 && at(j).memory + memory_[kF] * (2 + 2 * j) <= limit_ &&
             at(j).end + time_[kF] <= end(kF, 1, j + 1, 0) + delay_ && count(j, kF, 0) < m_)
        for (int k = 0; k <= j; ++k) put(kF, 0, k);
      put(kF, 1, j);
    }
  }
  int forwards(int j) { return count(j, kF, 0) + count(j, kF, 1); }
  /// Gives every rank as many forwards as the one before it, alternating between chunks.
  void even_out() {
    int chunk = 0;
    for (int j = 1; j < p_; ++j)
      while (forwards(j) < forwards(j - 1) ||
             (count(j, kF, 1) <= count(j - 1, kF, 1) && count(j - 1, kF, 1) < m_)) {
        for (int k = p_; k-- > j;)
          if (count(k, kF, chunk) < m_) put(kF, chunk, k);
        chunk = 1 - chunk;
      }
  }

  /// Allowed bubble of one more gap: up to the worst rank's bubble, now or in the earlier run.
  std::int64_t slack(int j) const {
    std::int64_t worst = 0;
    for (const ZigzagFilling& rank : ranks_) worst = std::max(worst, rank.bubble);
    if (!accepted_.empty())
      worst = std::max(worst, *std::max_element(accepted_.begin(), accepted_.end()) -
                                  accepted_[static_cast<std::size_t>(j)]);
    return worst - ranks_[static_cast<std::size_t>(j)].bubble;
  }
  /// Fills the gap before the pass with weight gradients; a last one may overrun the gap only if
  /// `may_overrun`.
  void fill(int j, int sort, int chunk, bool may_overrun) {
    const int from = before(j, chunk);
    if (from < 0) return;
    const std::int64_t arrival = end(sort, chunk, from, count(j, sort, chunk)) + delay_;
    while (!at(j).weights.empty() && arrival >= at(j).end + time_[kW]) put_weight(j);
    if (!at(j).weights.empty() && may_overrun && arrival - at(j).end > slack(j)) put_weight(j);
  }

  bool gradient_up(int j) {
    if (count(j, kI, 1) >= count(j, kI, 0)) return false;
    return j == p_ - 1 || end(kI, 1, j + 1, count(j, kI, 1)) >= 0 || count(j, kI, 0) >= m_;
  }
  void gradients() {
    std::vector<int> down, up;
    for (int j = 0; j < p_; ++j) (gradient_up(j) ? up : down).push_back(j);
    std::reverse(up.begin(), up.end());
    for (const int j : up) fill(j, kI, 1, true), put(kI, 1, j);
    for (const int j : down) {
      if (count(j, kI, 0) >= m_) throw StuckPass{};
      fill(j, kI, 0, fill_[1]);
      put(kI, 0, j);
    }
  }

  std::optional<int> next_forward(int j) {
    if (count(j, kF, 1) >= m_) return {};
    if (count(j, kF, 1) >= count(j, kF, 0)) return 0;
    if (j == p_ - 1 || end(kF, 1, j + 1, count(j, kF, 1)) >= 0) return 1;
    if (count(j, kF, 0) < m_ && (j == 0 || end(kF, 0, j - 1, count(j, kF, 0)) >= 0)) return 0;
    return {};
  }
  void forward_if_ready(int j) {
    const auto chunk = next_forward(j);
    if (!chunk) return;
    make_room(j, kF);
    fill(j, kF, *chunk, fill_[0]);
    put(kF, *chunk, j);
  }

  int p_, m_;
  /// Permissions for a weight gradient to overrun the gap before a forward, and before a gradient.
  std::array<bool, 2> fill_;
  std::vector<std::int64_t> accepted_;
  std::int64_t delay_, limit_;
  std::array<std::int64_t, 3> time_, memory_;  ///< [sort] time; memory that a pass adds
  std::vector<ZigzagFilling> ranks_;
  std::array<std::vector<std::int64_t>, 6> ends_;
};

struct BestSchedule {
  std::int64_t bubble;
  Schedule schedule;
};

/// Repeats the run with the bubbles of the run before while that improves the result.
std::optional<BestSchedule> search(const ScheduleShape& shape, bool before_forward, bool before_gradient) {
  std::optional<BestSchedule> best;
  try {
    for (std::vector<std::int64_t> accepted;;) {
      VSearch run(shape, before_forward, before_gradient, accepted);
      run.run();
      accepted = run.bubbles();
      const std::int64_t bubble = *std::max_element(accepted.begin(), accepted.end());
      if (best && bubble >= best->bubble) return best;
      best = BestSchedule{bubble, run.schedule()};
    }
  } catch (const StuckPass&) {
    return best;
  }
}

}  // namespace

Schedule v_zb(const ScheduleShape& shape) {
  demand(shape.chunks == 2, "two stages per rank");
  std::optional<BestSchedule> best;
  for (const bool before_gradient : {true, false})
    for (const bool before_forward : {true, false})
      if (auto found = search(shape, before_forward, before_gradient);
          found && (!best || found->bubble < best->bubble))
        best = std::move(found);
  demand(best.has_value(), "more micro-batches or a larger memory limit");
  return best->schedule;
}

}  // namespace penstock::schedule
