#pragma once
// The dynamic programme: can the units be cut into stages, none slower than a bound, each within memory?

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "penstock/core/stop.hpp"
#include "stage_table.hpp"

namespace penstock::planners {

/// A stage of a found partition.
struct PartStage {
  StageSet set;
  int config = 0;
  int replicas = 1;
};

/// How many branches of each kind of a block, by kind.
using Selection = std::vector<int>;

/// A part of an opened block that a neighbouring run takes into its stage.
struct Piece {
  enum class Form { none, branch, group };
  Form form = Form::none;
  int kind = 0;         ///< branch: which kind
  int cut = 0;          ///< branch: elements [0, cut) at the front of a block, [cut, size) at its back
  Selection selection;  ///< group: whole branches
  friend auto operator<=>(const Piece&, const Piece&) = default;
};

struct HeadParts;

/// GraphPipe's Algorithm 1 (ASPLOS 2025, section 5): least in-flight count of the first stages, memoised over
/// series-parallel subgraphs, what lies downstream, and a number of devices. Differs from the listing in that
///  - a row is solved from its end, one table per (row, end, downstream), instead of over all binary splits;
///  - all device counts are one vector (LevelRow), so a transition costs a few instructions per count;
///  - branches that cost the same are interchangeable: a block is solved over multisets of kinds;
///  - the operator where branches join or fork may go with any branch (the listing leaves its owner open).
/// One instance answers for one bound. Not for concurrent use; nothing is shared between instances but the table.
class Partition {
 public:
  Partition(const Arrangement& arrangement, const StageTable& table, double bound, core::StopToken stop);

  /// Stages, producers first within a row; nothing when no partition meets the bound and the memory.
  std::optional<std::vector<PartStage>> solve();
  std::uint64_t rows() const { return rows_; }

 private:
  friend class Trace;

  /// Solutions of [p, end) of one sequence for every p, given what lies downstream of `end`.
  struct Tail {
    const Sequence* sequence;
    int end;
    Boundary downstream;
    std::vector<LevelRow> from;                                ///< [p], p <= end
    std::map<std::pair<int, Piece>, LevelRow> opened;          ///< (element, piece taken by the run in front)
    std::map<int, std::map<std::pair<Piece, Boundary>, std::vector<int>>> behind;  ///< see `behind_block`
  };
  /// What follows an opened block: the piece of it that the next stage took, what the rest of the block then
  /// sees downstream, and with how many devices that can be had.
  using Behind = std::map<std::pair<Piece, Boundary>, std::vector<int>>;

  Tail& tail(int sequence, int end, Boundary downstream);
  void solve_from(Tail& tail, int p);
  const LevelRow& opened(Tail& tail, int element, const Piece& front);
  const Behind& behind_block(Tail& tail, int element);
  /// The branches of a block that neither piece took, side by side. Empty when the pieces exclude each other or
  /// nothing is left and no stage stands in front.
  const LevelRow& heads(int block, const Piece& front, const Piece& back, Boundary downstream);
  std::vector<HeadParts> ways(int block, const Piece& front, const Piece& back) const;
  LevelRow side_by_side(int block, const HeadParts& parts, Boundary downstream);
  const LevelRow& rest(int block, const Selection& selection, Boundary downstream);

  /// Calls f(set, load, downstream row, element behind, front piece) for each stage that can start at element p:
  /// a run of whole elements, alone or joined by a piece of the opened block that follows it. `with` is added to
  /// the set. f returns whether to go on.
  template <class F>
  bool each_first_stage(Tail& tail, int p, const StageSet& with, F&& f);
  /// Calls f(config, replica index, step capacity) for each choice that keeps the stage within bound and memory.
  template <class F>
  bool each_choice(const StageSet& set, const cost::StageLoad& load, F&& f) const;
  void lower_by_stage(LevelRow& row, const StageSet& set, const cost::StageLoad& load, const LevelRow& downstream) const;

  std::vector<Piece> pieces(int block, bool front) const;
  StageSet piece_set(int block, const Piece& piece, bool front) const;
  const std::vector<Selection>& groups(int block);
  /// The groups that fit into a selection and hold a branch of its first kind, with their positions.
  std::vector<std::pair<Selection, StageSet>> groups_within(int block, const Selection& selection);
  LevelRow one_stage(const StageSet& set, Boundary downstream) const;
  StageSet group_set(int block, const Selection& selection) const;
  bool too_slow(const StageSet& set) const { return table_.least_compute(set) > bound_; }
  LevelRow blank() const { return LevelRow(table_.configs() + 1, table_.devices()); }
  LevelRow only(Boundary boundary) const;
  const Sequence& sequence(int index) const { return arrangement_.sequences[static_cast<std::size_t>(index)]; }
  const Block& block(int index) const { return arrangement_.blocks[static_cast<std::size_t>(index)]; }

  const Arrangement& arrangement_;
  const StageTable& table_;
  double bound_;
  double slack_;  ///< device-seconds per sample that may be wasted in all
  core::StopToken stop_;
  std::uint64_t rows_ = 0;
  std::map<std::tuple<int, int, Boundary>, std::unique_ptr<Tail>> tails_;
  std::map<std::tuple<int, Piece, Piece, Boundary>, LevelRow> heads_;
  std::map<std::tuple<int, Selection, Boundary>, LevelRow> rests_;
  std::map<int, std::vector<Selection>> groups_;
};

}  // namespace penstock::planners
