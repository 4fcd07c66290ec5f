#pragma once
// Dynamic programme: can the units be cut into stages, none slower than a bound, each within memory?

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "graphpipe/stage_table.hpp"
#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// A stage of a partition.
struct PartStage {
  StageSet set;
  int config = 0;
  int replicas = 1;
};

/// [kind of a block] number of branches.
using Selection = std::vector<int>;

/// Part of an opened block that a neighbouring run takes into its stage.
struct BlockPiece {
  enum class PieceForm { none, branch, group };
  PieceForm form = PieceForm::none;
  int kind = 0;         ///< branch: its kind
  int cut = 0;          ///< branch: elements [0, cut) at the front of a block, [cut, size) at its back
  Selection selection;  ///< group: whole branches
  friend auto operator<=>(const BlockPiece&, const BlockPiece&) = default;
};

/// A piece with its content and the device-seconds per sample that it needs.
struct BlockSlice {
  BlockPiece piece;
  StageSet set;
  double work = 0;
};

struct HeadParts;

/// Mode of a search: whether it counts samples in flight. If not, every level is zero: the table is far
/// smaller, and a bound that fails there also fails with counting.
enum class LevelCounting { counted, ignored };

/// GraphPipe's Algorithm 1 (ASPLOS 2025, section 5): minimum in-flight count of the first stages, memoised
/// over series-parallel subgraphs, the downstream boundary, and a number of devices. Differs from the
/// listing:
///  - a row is solved from its end, one table per (row, end, downstream), instead of over all binary splits;
///  - all device counts are one vector (LevelRow), so a transition costs a few instructions per count;
///  - a part of the plan may waste no more device time than the bound leaves over in total: that limits the
///    replicas of a stage and the device counts of a row from both sides, and most runs are excluded without
///    being priced;
///  - branches of equal cost are interchangeable: a block is solved over multisets of kinds;
///  - the operator where branches join or fork may go with any branch (the listing leaves this open).
/// One instance solves one bound. Not thread-safe; instances share only the stage table.
class PartitionSearch {
 public:
  PartitionSearch(const UnitArrangement& arrangement, const StageTable& table, double bound,
                  LevelCounting levels, core::StopToken stop);

  /// Returns stages, producers first within a row; nothing if no partition meets the bound and the memory.
  std::optional<std::vector<PartStage>> solve();
  std::uint64_t rows() const { return rows_; }

 private:
  friend class SolutionTrace;

  /// Choices behind an opened block: the slice that the next stage took (index), and the boundary that the
  /// rest of the block then has downstream. The value: the device counts for which they exist.
  using Behind = std::map<std::pair<int, StageInterface>, std::vector<int>>;
  /// Solutions of [p, end) of one sequence for every p, for a given boundary downstream of `end`.
  struct TailSolutions {
    int sequence;
    int end;
    StageInterface downstream;
    std::vector<LevelRow> from;                      ///< [p], p <= end
    std::map<std::pair<int, int>, LevelRow> opened;  ///< {element, slice taken by the run in front}
    std::map<int, Behind> behind;                    ///< [element]
  };
  /// A stage at the start of a row, and one way to run it within bound and memory. It is a run of whole
  /// elements up to `end`, with or without a slice of the opened block that follows.
  struct StageStart {
    int end;    ///< first element behind the run
    int front;  ///< slice of the block there
    int config;
    int replicas;
    Level capacity;
  };

  TailSolutions& tail(int sequence, int end, StageInterface downstream);
  void solve_from(TailSolutions& tail, int p);
  const LevelRow& opened(TailSolutions& tail, int element, int front);
  const Behind& behind_block(TailSolutions& tail, int element);
  /// Branches of a block that neither slice took, side by side. Empty if the slices exclude each other, or if
  /// nothing is left and no stage is in front.
  const LevelRow& heads(int block, int front, int back, StageInterface downstream);
  std::vector<HeadParts> ways(int block, int front, int back);
  LevelRow side_by_side(int block, const HeadParts& parts, StageInterface downstream);
  const LevelRow& rest(int block, const Selection& selection, StageInterface downstream);

  /// Calls f(start, downstream row) for each stage that can start at element p, with slice `back` of the
  /// block in front of it. f returns whether to continue.
  template <class F>
  void each_first_stage(TailSolutions& tail, int p, int back, F&& f);
  /// Starts sorted by end, slice, configuration, replicas. Cached for branches, because many tails share
  /// them.
  const std::vector<StageStart>& starts(int sequence, int p, int back);
  std::vector<StageStart> find_starts(int sequence, int p, const BlockSlice& back);
  void add_starts(std::vector<StageStart>& out, int end, int front, const StageSet& set, double work) const;
  /// Next end to try after q, for a stage that starts at element p; skips runs that no replica count can
  /// afford.
  int next_end(const UnitSequence& row, int p, int q, double with_work) const;
  const LevelStep& step(int config, int next) const;
  void lower_by_start(LevelRow& row, const StageStart& start, const LevelRow& downstream) const;

  /// Range of works for one replica count: more cannot meet the bound, less wastes too much.
  struct WorkRange {
    double least;
    double most;
  };
  std::vector<WorkRange> affordable_works() const;
  /// Index of the smallest number of replicas that can do this much work; may be out of range.
  std::size_t least_replicas(double work) const {
    std::size_t r = 0;
    while (r < affordable_.size() && affordable_[r].most < work) ++r;
    return r;
  }
  bool affordable(double work) const {
    const std::size_t r = least_replicas(work);
    return r < affordable_.size() && affordable_[r].least <= work;
  }
  /// Maximum number of devices that a row with this much work can use.
  int most_devices(double work) const;
  /// Work of elements [p, end).
  double work(const TailSolutions& tail, int p) const;
  double work(int block, const Selection& selection) const;
  /// Slices of a block that the run in front (or behind) may take. Index 0: none.
  const std::vector<BlockSlice>& slices(int block, bool front);
  const BlockSlice& slice(int block, bool front, int index) {
    return slices(block, front)[static_cast<std::size_t>(index)];
  }
  std::vector<BlockPiece> pieces(int block, bool front);
  StageSet piece_set(int block, const BlockPiece& piece, bool front) const;
  /// Groups: several whole branches in one stage.
  const std::vector<BlockSlice>& groups(int block);
  /// Groups that fit into a selection and contain a branch of its first kind.
  std::vector<const BlockSlice*> groups_within(int block, const Selection& selection);
  LevelRow one_stage(const BlockSlice& group, StageInterface downstream) const;
  StageSet group_set(int block, const Selection& selection) const;
  bool too_slow(const StageSet& set) const { return table_.least_compute(set) > bound_; }
  LevelRow blank(double work) const { return LevelRow(table_.configs() + 1, most_devices(work)); }
  LevelRow only(StageInterface boundary) const;
  const UnitSequence& sequence(int index) const {
    return arrangement_.sequences[static_cast<std::size_t>(index)];
  }
  int block_at(int sequence_index, int element) const {  ///< -1: a single unit
    return sequence(sequence_index).elements[static_cast<std::size_t>(element)].block;
  }
  const BranchBlock& block(int index) const { return arrangement_.blocks[static_cast<std::size_t>(index)]; }

  const UnitArrangement& arrangement_;
  const StageTable& table_;
  double bound_;
  LevelCounting levels_;
  double slack_;                       ///< total device-seconds per sample that may be wasted
  std::vector<WorkRange> affordable_;  ///< [replicas] both ends ascending
  core::StopToken stop_;
  std::uint64_t rows_ = 0;
  std::map<std::tuple<int, int, StageInterface>, std::unique_ptr<TailSolutions>> tails_;
  std::map<std::tuple<int, int, int, StageInterface>, LevelRow>
      heads_;  ///< {block, front slice, back slice, downstream}
  std::map<std::tuple<int, Selection, StageInterface>, LevelRow> rests_;
  std::map<std::tuple<int, int, int>, std::optional<std::vector<StageStart>>> starts_;
  std::map<int, std::vector<BlockSlice>> groups_;
  std::map<std::pair<int, bool>, std::vector<BlockSlice>> slices_;
};

}  // namespace penstock::planners
