#pragma once
// Devices and replicas that the rest of the pipeline needs to stay within a given time per micro-batch.

#include <optional>
#include <vector>

#include "piper/piper_search.hpp"

namespace penstock::planners {

/// Resources of the stages behind a prefix.
struct PiperUse {
  int devices = 0;
  int replicas = 0;  ///< sum of the stages' data-parallel degrees
  int stages = 0;    ///< counted only if their number matters
  friend auto operator<=>(const PiperUse&, const PiperUse&) = default;
};

struct PiperBounds {
  double time = 0;  ///< seconds per micro-batch of every stage
  double work = 0;  ///< compute part of them
  int stages = 0;   ///< maximum; 0: any number
  bool all_devices = false;
};

class PiperTable {
 public:
  PiperTable(const PiperLattice& lattice, const PiperCosts& costs);

  /// Fills the table; prefixes of one size run in parallel.
  void fill(const PiperBounds& bounds, core::StopToken stop);
  /// Returns a plan from the filled table; nothing if none stays within the bounds.
  std::optional<std::vector<PiperStage>> plan() const;
  std::uint64_t states() const;  ///< number of entries
  /// Stores whether the filled table gave a plan. Later times lie above every time without a plan and below
  /// every time with one, so a row that is equal at both ends is equal between them. A new bound on the
  /// stages resets this.
  void remember(bool gave_plan) { (gave_plan ? loose_ : tight_) = rows_; }

 private:
  using Row = std::vector<PiperUse>;  ///< sorted; none dominates another
  /// A stage put in front of an entry for what is behind it.
  struct StageStep {
    StageRef stage;
    int data_degree = 0;
    PiperUse behind, with;
  };

  /// Summary of a prefix for stages in front of it.
  struct PrefixSummary {
    double work = 0, replica_work = 0;  ///< of the layers behind it, in units of PiperBounds::work
    int devices = kNone, replicas = 0;  ///< minimum of each in its row, separately
  };
  static constexpr int kNone = 1 << 30;  ///< the row is empty

  /// Uses found for a prefix so far. If all devices must work, only uses of equally many devices are
  /// compared. Each device count then has a separate list, because a row has thousands of steps to check.
  class UseFrontier {
   public:
    /// `fewest`: [devices] minimum replicas and stages of any entry with this many devices.
    UseFrontier(const PiperBounds& bounds, const std::vector<PiperUse>& fewest);
    bool empty() const { return empty_; }
    /// False if any use of this many devices would be dominated, by a quick check.
    bool open(int devices) const { return !apart_ || open_[static_cast<std::size_t>(devices)]; }
    bool any_open(int low, int high) const;
    bool dominates(const PiperUse& use) const;
    void add(const PiperUse& use);  ///< precondition: not dominated
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
  /// Calls `visit` for each step that stays within the bounds and is not dominated, until it returns false.
  template <class Visit>
  void for_each_step(std::size_t i, const UseFrontier& found, Visit&& visit) const;
  template <class Visit>
  bool extend(const StageRef& stage, const UseFrontier& found, int most_devices, Visit& visit) const;
  int most_devices(std::size_t i) const;
  bool hopeless(std::size_t i, std::size_t j, const UseFrontier& found, int most_devices) const;
  PiperStage stage_of(const StageStep& step) const;

  const PiperLattice& lattice_;
  const PiperCosts& costs_;
  PiperBounds bounds_;
  core::StopToken stop_;                ///< for the current fill
  std::vector<Row> rows_;               ///< [prefix]
  std::vector<PrefixSummary> outlook_;  ///< [prefix]
  std::vector<PiperUse> fewest_;  ///< [devices] minimum over all uses of this many; kNone if there is none
  std::vector<Row> loose_,
      tight_;  ///< rows_ at the smallest time with a plan; at the largest without
};

}  // namespace penstock::planners
