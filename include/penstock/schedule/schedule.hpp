#pragma once
// A pipeline schedule as data: for every rank, the actions it runs, in order.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::schedule {

enum class ActionKind : std::uint8_t {
  idle,             ///< an empty cell; takes no time itself
  forward,          ///< F
  input_gradient,   ///< I: the half of a backward pass that the previous stage waits for
  weight_gradient,  ///< W: the other half, which may run any time later
  backward,         ///< B: I, then W
  send_forward,     ///< to the next stage
  receive_forward,  ///< named by the receiving stage, as all receives are
  send_backward,    ///< to the previous stage
  receive_backward,
  unshard,  ///< gather the stage's sharded weights
  reshard,
  reduce_gradient,
  overlapped,  ///< a forward and a full backward of another stage, run as one
  recompute,   ///< R: repeats the forward for a backward pass that kept only the stage's input
  evict,       ///< EVICT: the micro-batch's activation moves to the partner rank, P-1-r
  load,        ///< LOAD: the activation comes back
  step,        ///< STEP: the optimizer updates the stage's weights
  barrier,     ///< BARRIER: every rank waits until all ranks have reached their barrier
};

/// One action. The grammar, the split of B into I and W, and the names follow torch.distributed.pipelining;
/// the last five kinds are our additions.
struct Action {
  ActionKind kind = ActionKind::idle;
  std::int32_t stage = -1;                 ///< -1 for idle cells and barriers; the forward's stage for a pair
  std::int32_t micro_batch = -1;           ///< -1 for actions of a whole stage, or of all
  std::int32_t backward_stage = -1;        ///< overlapped pair only
  std::int32_t backward_micro_batch = -1;  ///< overlapped pair only
  friend bool operator==(const Action&, const Action&) = default;
};

Action forward(int stage, int micro_batch);
Action input_gradient(int stage, int micro_batch);
Action weight_gradient(int stage, int micro_batch);
Action backward(int stage, int micro_batch);
Action overlapped(const Action& forward, const Action& backward);

/// Parts of an action: forward and backward of a pair, otherwise the action itself.
struct Parts {
  std::array<Action, 2> list;
  std::size_t count = 1;
  const Action* begin() const { return list.data(); }
  const Action* end() const { return list.data() + count; }
};
inline Parts parts(const Action& action) {
  if (action.kind != ActionKind::overlapped) return {{action, {}}, 1};
  return {{forward(action.stage, action.micro_batch),
           backward(action.backward_stage, action.backward_micro_batch)},
          2};
}

/// Partner of a rank: EVICT and LOAD exchange activations in pairs, first rank with last (BPipe, Kim et al.,
/// ICML 2023).
constexpr std::size_t partner(std::size_t rank, std::size_t ranks) {
  return ranks - 1 - rank;
}

using RankOrder = std::vector<Action>;

struct Schedule {
  std::vector<RankOrder> ranks;
  std::vector<std::int32_t> rank_of_stage;  ///< [stage] rank; -1 for a stage that no action names
  /// Bidirectional schedules hold several copies of the model. Copy c is the chain of stages [c * chain(), (c
  /// + 1) * chain()), and every copy numbers its own micro-batches from 0.
  std::int32_t copies = 1;
  /// Number of leading micro-batches that are halves of one: their passes take half the time. Schedule files
  /// do not store it.
  std::int32_t halves = 0;

  int stages() const { return static_cast<int>(rank_of_stage.size()); }
  int chain() const { return stages() / copies; }
  bool first(int stage) const { return stage % chain() == 0; }
  bool last(int stage) const { return stage % chain() == chain() - 1; }
  /// Number of stages on a rank that together make a full stage, 1/P of the model.
  double chunks() const { return static_cast<double>(chain()) / static_cast<double>(ranks.size()); }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Micro-batches of one copy: the largest number named, plus one.
int micro_batches(const Schedule& schedule);
/// Estimate of its size in bytes, for caches (cost/stage_memo.hpp).
std::int64_t held_bytes(const Schedule& schedule);

/// [stage] rank. Loop: stage s on rank s mod P. Zigzag: 0..P-1, P-1..0, 0..P-1, ... as in the V-shaped
/// families.
std::vector<std::int32_t> loop_placement(int ranks, int chunks);
std::vector<std::int32_t> zigzag_placement(int ranks, int chunks);

/// Text of a cell: "0F0", "1I2", "3SEND_F1", "1UNSHARD", "BARRIER", "(0F7;7B3)OVERLAP_F_B"; "" if idle.
std::string token(const Action& action);

}  // namespace penstock::schedule
