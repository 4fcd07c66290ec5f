#include "baselines/stage_partitions.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace penstock::planners {
namespace {

/// Returns the sets, producers first; nothing if they wait for each other.
std::optional<StagePartition> in_stage_order(const graph::Dag& units, std::vector<UnitSet> stages) {
  const auto first_unit = [](UnitSet a, UnitSet b) { return std::countr_zero(a) < std::countr_zero(b); };
  std::sort(stages.begin(), stages.end(), first_unit);
  UnitSet done = 0;
  const auto ready = [&](UnitSet stage) {
    for (std::size_t u = 0; u < units.size(); ++u)
      if (stage >> u & 1)
        for (graph::Vertex from : units.predecessors(static_cast<graph::Vertex>(u)))
          if (!((done | stage) >> from & 1)) return false;
    return true;
  };
  StagePartition out;
  while (!stages.empty()) {
    const auto next = std::find_if(stages.begin(), stages.end(), ready);
    if (next == stages.end()) return std::nullopt;
    done |= *next;
    out.push_back(*next);
    stages.erase(next);
  }
  return out;
}

class PartitionEnumeration {
 public:
  PartitionEnumeration(const graph::Dag& units, std::size_t most_stages, const PartitionVisitor& visit,
                       core::StopToken stop)
      : units_(units), most_stages_(most_stages), visit_(visit), stop_(stop) {}

  void assign(std::size_t unit) {
    if (unit == units_.size()) {
      stop_.check();
      if (const auto ordered = in_stage_order(units_, stages_)) visit_(*ordered);
      return;
    }
    const UnitSet bit = UnitSet{1} << unit;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      stages_[s] |= bit;
      assign(unit + 1);
      stages_[s] &= ~bit;
    }
    if (stages_.size() == most_stages_) return;
    stages_.push_back(bit);
    assign(unit + 1);
    stages_.pop_back();
  }

 private:
  const graph::Dag& units_;
  std::size_t most_stages_;
  const PartitionVisitor& visit_;
  core::StopToken stop_;
  std::vector<UnitSet> stages_;
};

}  // namespace

void for_each_stage_partition(const graph::Dag& units, std::size_t most_stages, const PartitionVisitor& visit,
                              core::StopToken stop) {
  PartitionEnumeration(units, most_stages, visit, stop).assign(0);
}

}  // namespace penstock::planners
