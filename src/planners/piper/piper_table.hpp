#pragma once
// Within a given time per micro-batch: what can the rest of the pipeline be had for?

#include <optional>
#include <vector>

#include "piper/piper_search.hpp"

namespace penstock::planners {

/// What the stages behind a prefix use.
struct PiperUse {
  int devices = 0;
  int replicas = 0;  ///< sum of the stages' data-parallel degrees
  int stages = 0;    ///< counted only where their number matters
  friend auto operator<=>(const PiperUse&, const PiperUse&) = default;
};

struct PiperBounds {
  double time = 0;  ///< seconds per micro-batch of every stage
  double work = 0;  ///< of them, computing
  int stages = 0;   ///< at most; 0: any number
  bool all_devices = false;
};

class PiperTable {
 public:
  PiperTable(const PiperLattice& lattice, const PiperCosts& costs);

  /// Fills the table, the prefixes of one size in parallel.
  void fill(const PiperBounds& bounds, core::StopToken stop);
  /// A plan from the filled table; none when none keeps within the bounds.
  std::optional<std::vector<PiperStage>> plan() const;
  std::uint64_t states() const;  ///< entries
  /// Tells what the filled table led to. Later times will lie above every one that gave no plan and below
  /// every one that gave some, and a row that is alike at both ends is alike between them. A new bound on the
  /// stages starts over.
  void remember(bool gave_plan) { (gave_plan ? loose_ : tight_) = rows_; }

 private:
  using Row = std::vector<PiperUse>;  ///< sorted; none dominates another
  /// A stage put in front of some use of what is behind it.
  struct Step {
    StageRef stage;
    int data_degree = 0;
    PiperUse behind, with;
  };

  /// What a prefix offers to stages in front of it, at a glance.
  struct Outlook {
    double work = 0, replica_work = 0;  ///< of the layers behind it, in units of PiperBounds::work
    int devices = kNone, replicas = 0;  ///< the fewest in its row, each for itself
  };
  static constexpr int kNone = 1 << 30;  ///< the row is empty

  /// The uses found for a prefix so far. Where all devices are to work only uses of equally many are
  /// compared, and each has a list of its own: a row has thousands of steps to ask about.
  class Frontier {
   public:
    /// `fewest`: [devices] replicas and stages that any use of so many has at least.
    Frontier(const PiperBounds& bounds, const std::vector<PiperUse>& fewest);
    bool empty() const { return empty_; }
    /// Whether some use of so many devices would not be dominated, as far as can be told at a glance.
    bool open(int devices) const { return !apart_ || open_[static_cast<std::size_t>(devices)]; }
    bool any_open(int low, int high) const;
    bool dominates(const PiperUse& use) const;
    void add(const PiperUse& use);  ///< one that is not dominated
    Row sorted() const;

   private:
    std::size_t list(const PiperUse& use) const { return apart_ ? static_cast<std::size_t>(use.devices) : 0; }
    bool apart_, count_stages_;
    bool empty_ = true;
    const std::vector<PiperUse>& fewest_;
    std::vector<Row> lists_;
    std::vector<char> open_;  ///< [devices]
  };

  Row row(std::size_t i) const;
  void reset(const PiperBounds& bounds);
  void keep(std::size_t i, Row row);
  /// Calls `visit` for each step that keeps within the bounds and is not dominated, until it returns false.
  template <class Visit>
  void for_each_step(std::size_t i, const Frontier& found, Visit&& visit) const;
  template <class Visit>
  bool extend(const StageRef& stage, const Frontier& found, int most_devices, Visit& visit) const;
  int most_devices(std::size_t i) const;
  bool hopeless(std::size_t i, std::size_t j, const Frontier& found, int most_devices) const;
  PiperStage stage_of(const Step& step) const;

  const PiperLattice& lattice_;
  const PiperCosts& costs_;
  PiperBounds bounds_;
  core::StopToken stop_;          ///< of the fill under way
  std::vector<Row> rows_;         ///< [prefix]
  std::vector<Outlook> outlook_;  ///< [prefix]
  std::vector<PiperUse> fewest_;  ///< [devices] of any use of so many; kNone where there is none
  std::vector<Row> loose_,
      tight_;  ///< rows_ at the least time that gave a plan, at the largest that gave none
};

}  // namespace penstock::planners
