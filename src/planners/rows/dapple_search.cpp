#include "rows/dapple_search.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <numeric>
#include <queue>
#include <span>
#include <unordered_map>

namespace penstock::planners {
namespace {

/// Stages on layers [begin, end of row): one stage in front of the `rest`.
struct PartialPlan {
  LatencyTail tail;
  double bound = 0;  ///< lower bound on any plan made from it
  int stages = 0;
  int rest = -1;  ///< partial plan
  int begin = 0;
  int end = 0;
  int set = -1;       ///< devices of the first stage
  int occupancy = 0;  ///< devices of all stages
};

bool beats(const PartialPlan& a, const PartialPlan& b) {
  return a.tail.whole <= b.tail.whole && a.tail.behind <= b.tail.behind && a.tail.reduce <= b.tail.reduce &&
         a.stages <= b.stages;
}

/// Numbers distinct values in order of appearance.
template <class T>
class ValueNumbers {
 public:
  std::pair<int, bool> add(const T& value) {
    const auto [known, is_new] = numbers_.try_emplace(value, static_cast<int>(values_.size()));
    if (is_new) values_.push_back(value);
    return {known->second, is_new};
  }
  const T& operator[](int number) const { return values_[static_cast<std::size_t>(number)]; }
  std::size_t size() const { return values_.size(); }

 private:
  std::unordered_map<T, int, boost::hash<T>> numbers_;
  std::vector<T> values_;
};

class DappleSearch {
 public:
  DappleSearch(const DappleCosts& costs, int most_kept, core::StopToken stop)
      : costs_(costs),
        most_kept_(most_kept),
        stop_(stop),
        devices_(std::accumulate(costs.machines.begin(), costs.machines.end(), 0)) {}

  /// A first search with appending only has few choices; its result limits the search with all rules.
  std::optional<DapplePlan> run() {
    best_.latency = costs_.give_up;
    const PlacementPolicy append[] = {PlacementPolicy::append_first};
    pass(append);
    pass(kPlacements);
    best_.states = states_;
    best_.exact = exact_;
    return best_.stages.empty() ? std::nullopt : std::optional(best_);
  }

 private:
  /// A stage that may be put in front of an occupancy.
  struct StageMove {
    int set;
    int occupancy;
  };
  template <class Value>
  using ByPair = std::unordered_map<std::pair<int, int>, Value, boost::hash<std::pair<int, int>>>;
  /// Partial plans that start at one layer.
  struct PartialFrontier {
    ByPair<std::vector<int>> members;  ///< [occupancy, set of the first stage]
    std::priority_queue<double>
        bounds;  ///< lowest bounds accepted; once there are enough, only lower ones follow
  };

  void pass(std::span<const PlacementPolicy> rules) {
    rules_ = rules;
    moves_.clear();
    partials_.assign(1, {});
    partials_.front().begin = costs_.layers;
    partials_.front().occupancy = number(Occupancy(costs_.machines.size()));
    frontier_.assign(static_cast<std::size_t>(costs_.layers) + 1, {});
    frontier_.back().members[{partials_.front().occupancy, -1}] = {0};
    for (int l = costs_.layers; l > 0; --l) {
      stop_.check();
      for (int p : kept(l)) extend(p);
    }
  }

  /// Partial plans that start at layer l and may still win, the most promising first.
  std::vector<int> kept(int l) {
    std::vector<int> all;
    for (const auto& [key, members] : frontier_[static_cast<std::size_t>(l)].members)
      for (int p : members)
        if (at(p).bound < best_.latency) all.push_back(p);
    std::sort(all.begin(), all.end(),
              [&](int a, int b) { return std::pair(at(a).bound, a) < std::pair(at(b).bound, b); });
    if (all.size() > static_cast<std::size_t>(most_kept_)) {
      exact_ = false;
      all.resize(static_cast<std::size_t>(most_kept_));
    }
    states_ += all.size();
    return all;
  }

  void extend(int rest) {
    const PartialPlan behind = at(rest);
    for (const StageMove& move : moves(behind.occupancy)) {
      stop_.check();
      const bool last = used(move.occupancy) == devices_;
      const std::vector<PhaseTimes>* transfer = behind.set < 0 ? nullptr : transfer_of(move.set, behind.set);
      const LatencyTail tail = transfer ? in_front((*transfer)[static_cast<std::size_t>(behind.begin)],
                                                   behind.tail, costs_.micro_batches)
                                        : behind.tail;
      const int first = last ? 0 : std::min(behind.begin - 1, longest_in_front(move.occupancy));
      for (int begin = first; begin >= (last ? 0 : 1); --begin)
        if (!add(rest, behind, tail, move, begin)) break;
    }
  }

  /// Cutoff: a plan with a device that computes this long cannot win.
  double most_work() const { return std::min(best_.latency, costs_.most_work); }

  /// Number of layers that the remaining devices can do fast enough.
  int longest_in_front(int occupancy) const {
    const double most = most_work() * (devices_ - used(occupancy)) / costs_.micro_batches;
    return static_cast<int>(std::lower_bound(costs_.least_both.begin(), costs_.least_both.end(), most) -
                            costs_.least_both.begin()) -
           1;
  }

  /// Adds a partial plan; returns false if no earlier begin can help either.
  bool add(int rest, const PartialPlan& behind, const LatencyTail& tail, const StageMove& move, int begin) {
    const int place = begin * (costs_.layers + 1) + behind.begin;
    const auto range = static_cast<std::size_t>(place);
    const SliceCosts& costs = *stage_costs_[static_cast<std::size_t>(move.set)];
    const PhaseTimes& times = costs.times[range];
    // 1. The stage by itself must be faster than the best plan; longer stages are not either.
    if (costs_.micro_batches * times.both() >= most_work()) return false;
    // 2. Its micro-batches in flight must fit: one more than the stages behind it.
    if (costs.room[range] < std::min(behind.stages + 1, costs_.micro_batches)) return true;
    PartialPlan out{in_front(times, tail, costs_.micro_batches),
                    0,
                    behind.stages + 1,
                    rest,
                    begin,
                    behind.begin,
                    move.set,
                    move.occupancy};
    // 3. Latency with this stage in front, and a lower bound on any plan that continues it.
    out.bound = bound(out);
    if (out.bound >= best_.latency || work_left(out) >= costs_.most_work) return true;
    if (begin == 0)
      finish(out);
    else
      keep(out);
    return true;
  }

  /// Lower bound: stages in front share the remaining devices; their passes follow one another.
  double bound(const PartialPlan& p) const {
    if (p.begin == 0) return p.tail.whole;
    const auto cut = static_cast<std::size_t>(p.begin);
    const double left = devices_ - used(p.occupancy), both = costs_.least_both[cut] / left;
    return std::max(
        {p.tail.whole + costs_.least_forward[cut] / left, p.tail.behind + both, costs_.micro_batches * both});
  }

  /// Lower bound on the work of the busiest remaining device.
  double work_left(const PartialPlan& p) const {
    if (p.begin == 0) return 0;
    return costs_.micro_batches * costs_.least_both[static_cast<std::size_t>(p.begin)] /
           (devices_ - used(p.occupancy));
  }

  void keep(const PartialPlan& p) {
    PartialFrontier& frontier = frontier_[static_cast<std::size_t>(p.begin)];
    const bool full = frontier.bounds.size() >= static_cast<std::size_t>(most_kept_);
    if (full && p.bound >= frontier.bounds.top()) {
      exact_ = false;
      return;
    }
    std::vector<int>& rivals = frontier.members[{p.occupancy, p.set}];
    for (int rival : rivals)
      if (beats(at(rival), p)) return;
    std::erase_if(rivals, [&](int rival) { return beats(p, at(rival)); });
    rivals.push_back(static_cast<int>(partials_.size()));
    partials_.push_back(p);
    if (full) frontier.bounds.pop();
    frontier.bounds.push(p.bound);
  }

  void finish(const PartialPlan& whole) {
    best_.latency = whole.tail.whole;
    best_.stages.clear();
    for (PartialPlan p = whole; p.set >= 0; p = at(p.rest))
      best_.stages.push_back({p.begin, p.end, sets_[p.set]});
  }

  const std::vector<StageMove>& moves(int occupancy) {
    const auto [known, is_new] = moves_.try_emplace(occupancy);
    if (is_new) {
      const Occupancy before = occupancies_[occupancy];
      for (int count : costs_.replicas)
        for (PlacementPolicy rule : rules_)
          if (count + used(occupancy) <= devices_)
            add_move(known->second, before, placed(rule, costs_.machines, before, count));
    }
    return known->second;
  }

  void add_move(std::vector<StageMove>& moves, const Occupancy& before, const Occupancy& taken) {
    stop_.check();
    Occupancy after = before;
    std::vector<int> devices;
    for (std::size_t m = 0, first = 0; m < taken.size();
         first += static_cast<std::size_t>(costs_.machines[m++])) {
      for (int d = 0; d < taken[m]; ++d) devices.push_back(static_cast<int>(first) + before[m] + d);
      after[m] += taken[m];
    }
    const auto [set, is_new] = sets_.add(devices);
    if (is_new) stage_costs_.push_back(costs_.stage(devices));
    const StageMove move{set, number(after)};
    for (const StageMove& other : moves)
      if (other.set == move.set) return;
    moves.push_back(move);
  }

  const std::vector<PhaseTimes>* transfer_of(int front, int behind) {
    const auto [known, is_new] = transfers_.try_emplace({front, behind});
    if (is_new) known->second = costs_.transfer(sets_[front], sets_[behind]);
    return known->second;
  }

  int used(int occupancy) const { return used_[static_cast<std::size_t>(occupancy)]; }
  int number(const Occupancy& occupancy) {
    const auto [number, is_new] = occupancies_.add(occupancy);
    if (is_new) used_.push_back(std::accumulate(occupancy.begin(), occupancy.end(), 0));
    return number;
  }
  const PartialPlan& at(int p) const { return partials_[static_cast<std::size_t>(p)]; }

  const DappleCosts& costs_;
  int most_kept_;
  core::StopToken stop_;
  int devices_;
  std::span<const PlacementPolicy> rules_;
  ValueNumbers<Occupancy> occupancies_;
  std::vector<int> used_;  ///< [occupancy] devices
  ValueNumbers<std::vector<int>> sets_;
  std::vector<const SliceCosts*> stage_costs_;             ///< [set]
  ByPair<const std::vector<PhaseTimes>*> transfers_;       ///< {front set, back set}
  std::unordered_map<int, std::vector<StageMove>> moves_;  ///< [occupancy]
  std::vector<PartialPlan> partials_;
  std::vector<PartialFrontier> frontier_;  ///< [begin]
  DapplePlan best_;
  bool exact_ = true;
  std::uint64_t states_ = 0;
};

}  // namespace

std::optional<DapplePlan> least_latency(const DappleCosts& costs, int most_kept, core::StopToken stop) {
  return DappleSearch(costs, most_kept, stop).run();
}

}  // namespace penstock::planners
