#include <algorithm>
#include <array>
#include <optional>

#include "families.hpp"

namespace penstock::schedule {
namespace {

constexpr int kF = 0, kI = 1, kW = 2;

/// The three binary choices of the heuristic; all eight combinations are tried.
struct FillChoices {
  bool bubble_before_gradient;  ///< warm up past the moment the first gradient could start
  bool prefer_gradient;         ///< postpone a forward when the next gradient is near
  bool greedy_weight;           ///< fill a gap with a weight gradient even if it delays no less than others
};

/// Passes of one rank so far.
struct RankFilling {
  RankOrder row;
  std::array<int, 3> count{};  ///< number of F, I, W so far
  std::int64_t memory = 0;
  std::int64_t end = 0;
  std::int64_t bubble = 0;  ///< idle time since its first forward
};

class ZeroBubbleSearch {
 public:
  ZeroBubbleSearch(const ScheduleShape& shape, std::int64_t limit, FillChoices choices)
      : p_(shape.ranks),
        m_(shape.micro_batches),
        delay_(shape.costs.delay.value()),
        limit_(limit),
        choices_(choices),
        time_{shape.costs.forward.value(), shape.costs.input_gradient.value(),
              shape.costs.weight_gradient.value()},
        memory_{shape.activation_bytes, shape.weight_gradient_bytes - shape.activation_bytes,
                -shape.weight_gradient_bytes},
        ranks_(static_cast<std::size_t>(p_)) {
    for (auto& ends : ends_) ends.assign(static_cast<std::size_t>(p_ * m_), 0);
  }

  /// Runs the heuristic; returns false if memory does not suffice.
  bool run() {
    if (!warm_up()) return false;
    for (int i = 1; i < m_; ++i)
      if (!forwards() || !gradients(i)) return false;
    for (int j = 0; j < p_; ++j)
      while (at(j).count[kW] < m_) put(j, kW);
    return true;
  }

  std::int64_t longest_span() const {
    std::int64_t longest = 0;
    for (int j = 0; j < p_; ++j) longest = std::max(longest, end(kW, j, m_ - 1) - end(kF, j, 0) + time_[kF]);
    return longest;
  }
  Schedule schedule() {
    Schedule out{{}, loop_placement(p_, 1)};
    for (RankFilling& rank : ranks_) out.ranks.push_back(std::move(rank.row));
    return out;
  }

 private:
  RankFilling& at(int j) { return ranks_[static_cast<std::size_t>(j)]; }
  std::int64_t end(int kind, int j, int i) const {
    return ends_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(j * m_ + i)];
  }
  std::int64_t worst_bubble() const {
    std::int64_t worst = 0;
    for (const RankFilling& rank : ranks_) worst = std::max(worst, rank.bubble);
    return worst;
  }

  void put(int j, int kind) {
    RankFilling& rank = at(j);
    const auto k = static_cast<std::size_t>(kind);
    const int i = rank.count[k]++;
    std::int64_t start = rank.end;
    if (kind == kF && j > 0) start = std::max(start, end(kF, j - 1, i) + delay_);
    if (kind == kI && j < p_ - 1) start = std::max(start, end(kI, j + 1, i) + delay_);
    if (rank.count[kF] > (kind == kF ? 1 : 0)) rank.bubble += start - rank.end;
    rank.end = ends_[k][static_cast<std::size_t>(j * m_ + i)] = start + time_[k];
    rank.memory += memory_[k];
    rank.row.push_back(kind == kF   ? forward(j, i)
                       : kind == kI ? input_gradient(j, i)
                                    : weight_gradient(j, i));
  }

  /// Runs weight gradients until the pass fits into memory; returns false if none are left.
  bool make_room(int j, int kind) {
    while (at(j).memory + memory_[static_cast<std::size_t>(kind)] > limit_) {
      if (!weights_wait(j)) return false;
      put(j, kW);
    }
    return true;
  }
  bool weights_wait(int j) { return at(j).count[kW] < at(j).count[kI]; }

  /// Runs weight gradients in the gap before `arrival`; the last may overrun it as the choices allow.
  void fill(int j, std::int64_t arrival) {
    while (weights_wait(j) && at(j).end + time_[kW] <= arrival) put(j, kW);
    if (!weights_wait(j) || at(j).end >= arrival) return;
    if (choices_.greedy_weight || arrival - at(j).end > worst_bubble() - at(j).bubble) put(j, kW);
  }

  bool warm_up() {
    for (int j = 0; j < p_; ++j) put(j, kF);
    std::vector<int> more = forwards_before_first_gradient();
    for (int j = 1; j < p_; ++j) {
      const int before = more[static_cast<std::size_t>(j - 1)];
      int& own = more[static_cast<std::size_t>(j)];
      if (1 + own < m_ || own > before) own = std::min(own, std::max(0, before - 1));
    }
    for (int j = 0; j < p_; ++j)
      for (int k = 0; k < more[static_cast<std::size_t>(j)]; ++k) put(j, kF);
    for (int j = p_; j-- > 0;) put(j, kI);
    return at(0).memory <= limit_;
  }
  std::vector<int> forwards_before_first_gradient() {
    std::vector<int> more(static_cast<std::size_t>(p_), 0);
    std::int64_t ready = end(kF, p_ - 1, 0) + time_[kI];  // end of the gradient on the next rank
    for (int j = p_ - 1; j-- > 0;) {
      int& extra = more[static_cast<std::size_t>(j)];
      std::int64_t memory = at(j).memory, now = at(j).end;
      while (1 + extra < m_ && memory + memory_[kF] <= limit_ &&
             (choices_.bubble_before_gradient ? now + time_[kF] <= ready + delay_ : now < ready + delay_)) {
        memory += memory_[kF];
        now += time_[kF];
        ++extra;
      }
      ready = std::max(now, ready + delay_) + time_[kI];
    }
    return more;
  }

  /// True if rank j should run a forward before its next gradient.
  bool wants_forward(int j) {
    if (at(j).count[kF] >= m_) return false;
    if (!choices_.prefer_gradient || j + 1 >= p_ || at(j).count[kF] < at(j + 1).count[kF] + 2) return true;
    const std::int64_t next = at(j + 1).end + time_[kF] + time_[kI] + delay_;
    if (at(j).end >= next) return false;
    std::int64_t weights = 0, memory = at(j).memory + memory_[kF];
    for (int w = at(j).count[kW]; memory > limit_ && w < at(j).count[kI]; ++w) {
      weights += time_[kW];
      memory += memory_[kW];
    }
    return at(j).end + time_[kF] + weights <= next || next - at(j).end > worst_bubble() - at(j).bubble;
  }

  bool forwards() {
    std::vector<char> wanted;
    for (int j = 0; j < p_; ++j) wanted.push_back(wants_forward(j));
    for (std::size_t j = wanted.size() - 1; j-- > 0;) wanted[j] = wanted[j] && wanted[j + 1];
    for (int j = 0; j < p_; ++j) {
      if (!wanted[static_cast<std::size_t>(j)]) continue;
      if (!make_room(j, kF)) return false;
      if (j > 0) fill(j, end(kF, j - 1, at(j).count[kF]) + delay_);
      put(j, kF);
    }
    return true;
  }

  bool gradients(int i) {
    for (int j = p_; j-- > 0;) {
      if (at(j).count[kF] <= i || !make_room(j, kI)) return false;
      if (j + 1 < p_) fill(j, end(kI, j + 1, i) + delay_);
      while (j == 0 && at(j).count[kF] == m_ && weights_wait(j)) put(j, kW);
      put(j, kI);
    }
    return true;
  }

  int p_, m_;
  std::int64_t delay_, limit_;
  FillChoices choices_;
  std::array<std::int64_t, 3> time_, memory_;  ///< [kind] time; memory that a pass adds
  std::vector<RankFilling> ranks_;
  std::array<std::vector<std::int64_t>, 3> ends_;  ///< [kind][rank * m + micro-batch]
};

Schedule best(const ScheduleShape& shape, int limit) {
  demand(shape.chunks == 1, "one stage per rank");
  std::optional<ZeroBubbleSearch> found;
  for (int c = 0; c < 8; ++c) {
    ZeroBubbleSearch tried(shape, limit * shape.activation_bytes, {c < 4, c % 4 < 2, c % 2 == 0});
    if (tried.run() && (!found || tried.longest_span() < found->longest_span()))
      found.emplace(std::move(tried));
  }
  demand(found.has_value(), "a larger memory limit");
  return found->schedule();
}

}  // namespace

Schedule zb_1p(const ScheduleShape& shape) {
  return best(shape, shape.memory_limit.value_or(shape.ranks));
}
Schedule zb_2p(const ScheduleShape& shape) {
  return best(shape, shape.memory_limit.value_or(2 * shape.ranks));
}

}  // namespace penstock::schedule
