#include <algorithm>
#include <array>
#include <tuple>

#include "families.hpp"
#include "v_action.hpp"

namespace penstock::schedule {
namespace {

constexpr int kBlockSlots = 6;  ///< slots of the repeating block: two chunks of F, I and W

/// [kind] ascending slots of one rank's passes: F down, F up, I on the way back down, I on the way back up.
/// Then W once it is placed (one list for both chunks, or two).
using Slots = std::vector<std::vector<int>>;
using Block = std::array<int, 4>;

struct SlotPass {
  int slot, rank, kind, micro_batch;
  auto key() const { return std::tie(slot, rank, kind, micro_batch); }
};

std::vector<SlotPass> in_order(const std::vector<Slots>& ranks) {
  std::vector<SlotPass> out;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t k = 0; k < ranks[r].size(); ++k)
      for (std::size_t m = 0; m < ranks[r][k].size(); ++m)
        out.push_back({ranks[r][k][m], static_cast<int>(r), static_cast<int>(k), static_cast<int>(m)});
  std::sort(out.begin(), out.end(), [](const SlotPass& a, const SlotPass& b) { return a.key() < b.key(); });
  return out;
}

/// [slot] kind of its pass, up to the last slot; -1 if the slot is free.
std::vector<int> occupation(const Slots& slots) {
  int last = 0;
  for (const auto& kind : slots) last = std::max(last, kind.empty() ? 0 : kind.back());
  std::vector<int> out(static_cast<std::size_t>(last) + 1, -1);
  for (std::size_t k = 0; k < slots.size(); ++k)
    for (const int slot : slots[k]) out[static_cast<std::size_t>(slot)] = static_cast<int>(k);
  return out;
}

/// Places weight gradients into free slots, as early as possible, the rest at the end.
void place_weights(Slots& slots, bool split) {
  const std::vector<int> taken = occupation(slots);
  std::array<int, 2> waiting{};
  slots.resize(split ? 6 : 5);
  int slot = 0;
  const auto place = [&](std::size_t w) {
    slots[4 + w].push_back(slot);
    --waiting[w];
  };
  for (; slot < static_cast<int>(taken.size()); ++slot) {
    const int kind = taken[static_cast<std::size_t>(slot)];
    if (kind >= 2)
      ++waiting[split ? static_cast<std::size_t>(kind - 2) : 0];
    else if (kind < 0 && (waiting[0] || waiting[1]))
      place(waiting[0] ? 0 : 1);
  }
  for (std::size_t w = 0; w < 2; ++w)
    for (; waiting[w] > 0; ++slot) place(w);
}

/// Maximum number of activations held. If weight gradients are not placed, every free slot runs one that
/// waits.
int peak(const Slots& slots) {
  const bool placed = slots.size() > 4;
  int held = 0, most = 0, waiting = 0;
  for (const int kind : occupation(slots)) {
    if (kind == 0 || kind == 1) ++held;
    if (kind == 4) --held;
    if (kind == 2 || kind == 3) ++waiting;
    if (kind < 0 && !placed && waiting > 0) --waiting, --held;
    most = std::max(most, held);
  }
  return most;
}

/// Slot (or time) after which a pass must come, given the times `when` of other passes.
template <class When>
int latest_input(const SlotPass& pass, std::size_t ranks, When when) {
  int latest = -1;
  const auto [slot, r, k, m] = pass;
  if ((k == 0 || k == 2) && r > 0) latest = std::max(latest, when(r - 1, k, m));
  if ((k == 1 || k == 3) && r + 1 < static_cast<int>(ranks)) latest = std::max(latest, when(r + 1, k, m));
  if (k >= 1 && k <= 3) latest = std::max(latest, when(r, k - 1, m));
  if (m > 0) latest = std::max(latest, when(r, k, m - 1));
  return latest;
}

/// Moves every pass as early as its rank's order and its inputs allow, one slot each.
void squeeze(std::vector<Slots>& ranks) {
  std::vector<int> next(ranks.size(), 0);
  for (const SlotPass& pass : in_order(ranks)) {
    const auto r = static_cast<std::size_t>(pass.rank);
    const int after = latest_input(pass, ranks.size(), [&](int rank, int kind, int m) {
      return ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(kind)]
                  [static_cast<std::size_t>(m)];
    });
    int& slot = ranks[r][static_cast<std::size_t>(pass.kind)][static_cast<std::size_t>(pass.micro_batch)];
    slot = std::max(after + 1, next[r]);
    next[r] = slot + 1;
  }
}

/// Moves passes at the start and the end of the schedule into earlier free slots if memory does not grow; the
/// repeating middle stays. With weight gradients placed, both ends move; otherwise only the end.
class SlotReordering {
 public:
  SlotReordering(std::vector<Slots>& ranks, bool weights) : ranks_(ranks), weights_(weights) {
    if (weights)
      for (Slots& slots : ranks_) place_weights(slots, false);
    for (const Slots& slots : ranks_) {
      limit_ = std::max(limit_, peak(slots));
      taken_.emplace_back(occupation(slots).size(), false);
    }
  }

  void run() {
    for (const SlotPass& pass : in_order(ranks_)) {
      if (moves(pass)) move(pass);
      taken_[static_cast<std::size_t>(pass.rank)][static_cast<std::size_t>(slot(pass))] = true;
    }
    if (!weights_)
      for (Slots& slots : ranks_) place_weights(slots, false);
    squeeze(ranks_);
    for (Slots& slots : ranks_) slots.resize(4);
  }

 private:
  int& slot(const SlotPass& pass) {
    return ranks_[static_cast<std::size_t>(pass.rank)][static_cast<std::size_t>(pass.kind)]
                 [static_cast<std::size_t>(pass.micro_batch)];
  }
  /// Phase 0 ends with the first I on the way back up to rank 0, phase 1 with the last forward of the first
  /// chunk.
  bool moves(const SlotPass& pass) {
    if (pass.kind == 3 && pass.rank == 0 && phase_ == 0) phase_ = 1;
    if (phase_ == 1) {
      if (pass.kind == 0 && pass.micro_batch + 1 == static_cast<int>(ranks_[0][0].size())) phase_ = 2;
      return false;
    }
    return phase_ == 2 || weights_;
  }
  int earliest(const SlotPass& pass) {
    int after = latest_input(pass, ranks_.size(), [&](int r, int k, int m) { return slot({0, r, k, m}); });
    if (pass.kind == 4) after = std::max(after, gradient_slot(pass));
    return after + 1;
  }
  /// Slot of the I, of either chunk, that the rank runs as its m-th.
  int gradient_slot(const SlotPass& pass) {
    const Slots& slots = ranks_[static_cast<std::size_t>(pass.rank)];
    std::vector<int> both = slots[2];
    both.insert(both.end(), slots[3].begin(), slots[3].end());
    std::nth_element(both.begin(), both.begin() + pass.micro_batch, both.end());
    return both[static_cast<std::size_t>(pass.micro_batch)];
  }
  void move(const SlotPass& pass) {
    const auto r = static_cast<std::size_t>(pass.rank);
    int& own = slot(pass);
    for (int tried = earliest(pass); tried < pass.slot; ++tried) {
      if (taken_[r][static_cast<std::size_t>(tried)]) continue;
      own = tried;
      if (peak(ranks_[r]) <= limit_) return;
    }
    own = pass.slot;
  }

  std::vector<Slots>& ranks_;
  bool weights_;
  int limit_ = 0, phase_ = 0;
  std::vector<std::vector<char>> taken_;
};

Schedule from_block(const ScheduleShape& shape, Block (*block)(int p, int rank)) {
  demand(shape.chunks == 2, "two stages per rank");
  const int p = shape.ranks;
  std::vector<Slots> ranks;
  for (int r = 0; r < p; ++r) {
    Slots& slots = ranks.emplace_back();
    for (const int offset : block(p, r)) {
      auto& kind = slots.emplace_back();
      for (int m = 0; m < shape.micro_batches; ++m) kind.push_back(offset + m * kBlockSlots);
    }
  }
  SlotReordering(ranks, true).run();
  SlotReordering(ranks, false).run();
  for (Slots& slots : ranks) place_weights(slots, true);
  Schedule schedule{std::vector<RankOrder>(ranks.size()), zigzag_placement(p, 2)};
  for (const SlotPass& pass : in_order(ranks))
    schedule.ranks[static_cast<std::size_t>(pass.rank)].push_back(
        v_action(pass.kind, pass.rank, pass.micro_batch, p));
  return schedule;
}

Block half_block(int p, int i) {
  const int x = p % 2 == 0 ? 3 : 0;
  return {2 * i, 3 * p - i - 2, 3 * p + x + 2 * i - 1, 6 * p + x - i - 2};
}
Block min_block(int p, int i) {
  const int x = p % 3 == 0 ? 2 : 0;
  return {i, 2 * p - i - 1, 2 * p + x + i, 4 * p + x - i - 1};
}

}  // namespace

Schedule v_half(const ScheduleShape& shape) {
  return from_block(shape, half_block);
}
Schedule v_min(const ScheduleShape& shape) {
  return from_block(shape, min_block);
}

}  // namespace penstock::schedule
