#include "src/planners/rows/dapple_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using planners::DappleCosts;
using planners::DappleStage;
using planners::LatencyTail;
using planners::Occupancy;
using planners::PhaseTimes;
using planners::PlacementPolicy;
using planners::SliceCosts;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<PhaseTimes> random_row(core::Random& random) {
  std::vector<PhaseTimes> row;
  for (int s = random.between(1, 8); s > 0; --s)
    row.push_back({random.unit(), 2 * random.unit(), random.chance(0.5) ? 0 : 5 * random.unit()});
  return row;
}

/// L for one pivot, written out.
double at_pivot(const std::vector<PhaseTimes>& row, int micro_batches, std::size_t q) {
  double warm_up = 0, ending = -kNever;
  for (std::size_t s = 0; s <= q; ++s) warm_up += row[s].forward;
  for (std::size_t s = 0; s < row.size(); ++s) {
    double backward = 0;
    for (std::size_t a = s; a <= q; ++a) backward += row[a].backward;
    for (std::size_t a = q + 1; a <= s; ++a) backward -= row[a].backward;
    ending = std::max(ending, row[s].reduce + backward);
  }
  return warm_up + (micro_batches - 1) * row[q].both() + ending;
}

/// The paper's pivot: from the last stage to the left, wherever more steady work than here and in between is
/// found.
std::size_t paper_pivot(const std::vector<PhaseTimes>& row, int micro_batches) {
  std::size_t pivot = row.size() - 1;
  double between = 0;
  for (std::size_t s = pivot; s-- > 0;) {
    if ((micro_batches - 1) * row[s].both() > (micro_batches - 1) * row[pivot].both() + between)
      pivot = s, between = 0;
    else
      between += row[s].both();
  }
  return pivot;
}

/// Machines, devices and costs by seed. Costs depend on devices and machines, so that placement matters.
struct DappleInstance {
  DappleCosts costs;
  std::map<std::vector<int>, SliceCosts> stages;
  std::map<std::pair<int, int>, std::vector<PhaseTimes>> transfers;  ///< by machines

  explicit DappleInstance(std::uint64_t seed) {
    core::Random random(seed);
    costs.layers = random.between(1, 5);
    costs.micro_batches = random.between(1, 6);
    for (int left = random.between(1, 6); left > 0; left -= costs.machines.back())
      costs.machines.push_back(std::min(left, random.between(1, 3)));
    const int devices = std::accumulate(costs.machines.begin(), costs.machines.end(), 0);
    for (int r = 1; r <= devices; r *= 2) costs.replicas.push_back(r);
    const bool tight = random.chance(0.5);
    costs.stage = [this, seed, tight](const std::vector<int>& set) { return &priced(seed, tight, set); };
    const double dear = random.chance(0.5) ? 1 : 0.1;
    costs.transfer = [this, dear](const std::vector<int>& front, const std::vector<int>& behind) {
      const auto [known, is_new] = transfers.try_emplace({machine(front.front()), machine(behind.back())});
      for (int cut = 0; is_new && cut <= costs.layers; ++cut)
        known->second.push_back(
            {dear * machine(front.front()) + 0.1 * cut, dear * machine(behind.back()), 0});
      return &known->second;
    };
    costs.least_forward.assign(static_cast<std::size_t>(costs.layers) + 1, 0);
    costs.least_both = costs.least_forward;
    for (std::size_t cut = 1; cut < costs.least_both.size(); ++cut) {  // see `priced`
      costs.least_forward[cut] = 0.5 * static_cast<double>(cut);
      costs.least_both[cut] = 1.5 * static_cast<double>(cut);
    }
  }

  int machine(int device) const {
    int m = 0;
    for (int first = costs.machines.front(); first <= device;
         first += costs.machines[static_cast<std::size_t>(m)])
      ++m;
    return m;
  }

  const SliceCosts& priced(std::uint64_t seed, bool tight, const std::vector<int>& set) {
    const auto [known, is_new] = stages.try_emplace(set);
    if (!is_new) return known->second;
    core::Random random(seed * 1000 + static_cast<std::uint64_t>(set.front() * 31 + set.back() * 7) +
                        set.size());
    const auto replicas = static_cast<double>(set.size());
    const int machines = machine(set.back()) - machine(set.front()) + 1;
    known->second.times.resize(static_cast<std::size_t>((costs.layers + 1) * (costs.layers + 1)));
    known->second.room.resize(known->second.times.size());
    for (int begin = 0; begin < costs.layers; ++begin)
      for (int end = begin + 1; end <= costs.layers; ++end) {
        const auto range = static_cast<std::size_t>(begin * (costs.layers + 1) + end);
        const double work = end - begin;
        known->second.times[range] = {work * (0.5 + random.unit()) / replicas,
                                      work * (1 + random.unit()) / replicas,
                                      set.size() > 1 ? machines * work * random.unit() : 0};
        known->second.room[range] = tight ? random.between(0, 4) : costs.micro_batches;
      }
    return known->second;
  }
};

double latency_of(const DappleCosts& costs, const std::vector<DappleStage>& stages) {
  std::vector<PhaseTimes> row;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto range = static_cast<std::size_t>(stages[s].begin * (costs.layers + 1) + stages[s].end);
    const SliceCosts& slice = *costs.stage(stages[s].devices);
    if (slice.room[range] < std::min(static_cast<int>(stages.size() - s), costs.micro_batches)) return kNever;
    if (s > 0)
      row.push_back((*costs.transfer(stages[s - 1].devices,
                                     stages[s].devices))[static_cast<std::size_t>(stages[s].begin)]);
    row.push_back(slice.times[range]);
  }
  return planners::dapple_latency(row, costs.micro_batches);
}

/// Every cut, count and rule, stages placed from the last to the first.
class ExhaustiveDapple {
 public:
  explicit ExhaustiveDapple(const DappleCosts& costs) : costs_(costs), used_(costs.machines.size()) {}
  double run() {
    extend(costs_.layers);
    return best_;
  }

 private:
  void extend(int end) {
    if (end == 0) {
      if (used_ == costs_.machines)
        best_ = std::min(best_, latency_of(costs_, {chosen_.rbegin(), chosen_.rend()}));
      return;
    }
    for (int begin = 0; begin < end; ++begin)
      for (int count : costs_.replicas)
        for (PlacementPolicy rule : planners::kPlacements)
          if (std::accumulate(used_.begin(), used_.end(), count) <=
              std::accumulate(costs_.machines.begin(), costs_.machines.end(), 0))
            place(begin, end, planners::placed(rule, costs_.machines, used_, count));
  }

  void place(int begin, int end, const Occupancy& taken) {
    DappleStage stage{begin, end, {}};
    int first = 0;
    for (std::size_t m = 0; m < taken.size(); first += costs_.machines[m++])
      for (int d = 0; d < taken[m]; ++d) stage.devices.push_back(first + used_[m] + d);
    const Occupancy before = used_;
    for (std::size_t m = 0; m < taken.size(); ++m) used_[m] += taken[m];
    chosen_.push_back(stage);
    extend(begin);
    chosen_.pop_back();
    used_ = before;
  }

  const DappleCosts& costs_;
  Occupancy used_;
  std::vector<DappleStage> chosen_;
  double best_ = kNever;
};

}  // namespace

TEST_CASE("two stages by hand") {
  // M = 3. First stage F 1, B 2, all-reduce 4; second F 2, B 4, all-reduce 1. Pivot 1: T_w = 1 + 2, T_s = 2 *
  // 6, T_e = max(1 + 4, 4 + 2 + 4) = 10: 25. Pivot 0: T_w = 1, T_s = 2 * 3, T_e = max(4 + 2, 1 - 4) = 6: 13.
  CHECK(planners::dapple_latency({{1, 2, 4}, {2, 4, 1}}, 3) == 25);
  // A lone stage: M (F + B) and its all-reduce.
  CHECK(planners::dapple_latency({{1, 2, 4}}, 5) == 5 * 3 + 4);
}

TEST_CASE(
    "the latency is the largest over pivots, stage by stage from the back, and mostly at the paper's "
    "pivot") {
  int same = 0, rows = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto row = random_row(random);
    const int micro_batches = random.between(1, 16);
    double largest = -kNever;
    for (std::size_t q = 0; q < row.size(); ++q) largest = std::max(largest, at_pivot(row, micro_batches, q));
    const double latency = planners::dapple_latency(row, micro_batches);
    CHECK(latency == support::near(largest, 1e-12));
    LatencyTail tail;
    for (std::size_t s = row.size(); s-- > 0;) tail = planners::in_front(row[s], tail, micro_batches);
    CHECK(tail.whole == support::near(latency, 1e-12));
    const double papers = at_pivot(row, micro_batches, paper_pivot(row, micro_batches));
    CHECK(papers <= latency * (1 + 1e-12));
    same += papers >= latency * (1 - 1e-12);
    ++rows;
  }
  CHECK(same > rows * 8 / 10);
}

TEST_CASE("the rules of placement: machines of 4, two devices of the first in use") {
  const Occupancy capacity{4, 4, 4}, used{2, 0, 0};
  CHECK(planners::placed(PlacementPolicy::fresh_first, capacity, used, 3) == Occupancy{0, 3, 0});
  CHECK(planners::placed(PlacementPolicy::fresh_first, capacity, used, 9) == Occupancy{1, 4, 4});
  CHECK(planners::placed(PlacementPolicy::append_first, capacity, used, 2) == Occupancy{2, 0, 0});
  CHECK(planners::placed(PlacementPolicy::append_first, capacity, used, 3) == Occupancy{2, 1, 0});
  CHECK(planners::placed(PlacementPolicy::scatter_first, capacity, used, 2) ==
        Occupancy{2, 0, 0});  // machines in use suffice
  CHECK(planners::placed(PlacementPolicy::scatter_first, capacity, used, 3) == Occupancy{1, 1, 1});
  CHECK(planners::placed(PlacementPolicy::scatter_first, capacity, used, 8) == Occupancy{2, 3, 3});
  CHECK(planners::placed(PlacementPolicy::scatter_first, capacity, {0, 0, 0}, 4) == Occupancy{2, 1, 1});
  CHECK(planners::placed(PlacementPolicy::scatter_first, capacity, {1, 3, 0}, 3) == Occupancy{2, 1, 0});
}

TEST_CASE("the search finds the least latency of all partitions and placements") {
  int possible = 0, impossible = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    DappleInstance instance(seed);
    const auto found = planners::least_latency(instance.costs, 1 << 20, {});
    const double expected = ExhaustiveDapple(instance.costs).run();
    CHECK(found.has_value() == (expected < kNever));
    found ? ++possible : ++impossible;
    if (!found) continue;
    CHECK(found->exact);
    CHECK(found->latency == support::near(expected, 1e-12));
    CHECK(latency_of(instance.costs, found->stages) == support::near(found->latency, 1e-12));
    instance.costs.give_up = found->latency;
    CHECK_FALSE(planners::least_latency(instance.costs, 1 << 20, {}));  // nothing is faster
    instance.costs.give_up *= 1 + 1e-9;
    CHECK(planners::least_latency(instance.costs, 1 << 20, {})->latency == support::near(expected, 1e-12));
    const auto hasty =
        planners::least_latency(instance.costs, 1, {});  // one partial plan per cut: worse, or the same
    if (hasty) CHECK(hasty->latency >= found->latency * (1 - 1e-12));
  }
  CHECK(possible > 200);
  CHECK(impossible > 30);
}
