#include "penstock/cost/crowding.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::cost {
namespace {

constexpr std::string_view kKernels[kUses] = {"product", "addition"};

/// Returns, as an operator's time, how much of it is spent at one level of demand.
class TimesAt final : public CostModel {
 public:
  TimesAt(const CostModel& costs, std::size_t level) : costs_(costs), level_(level) {}
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override {
    return part_time(graph, op, device, samples, {});
  }
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) const override {
    const OpTime time = costs_.part_time(graph, op, device, samples, part),
                 moving = costs_.memory_time(graph, op, device, samples, part);
    return {at_level(time.forward, moving.forward), at_level(time.input_gradient, moving.input_gradient),
            at_level(time.weight_gradient, moving.weight_gradient)};
  }

 private:
  core::Seconds at_level(core::Seconds time, core::Seconds moving) const {
    return time.value() > 0 ? time * uses_of(moving / time).at[level_] : time;
  }
  const CostModel& costs_;
  std::size_t level_;
};

/// Share of each level in a pass, of the time with all waiting.
UseShares shares(core::Seconds all, const std::array<core::Seconds, UseShares::kLevels>& levels) {
  UseShares out;
  if (!(all.value() > 0)) return out;
  double left = 1;
  for (std::size_t l = UseShares::kLevels; l-- > 0;)
    left -= out.at[l] = std::clamp(levels[l] / all, 0.0, left);
  return out;
}

/// Probabilities of what busy neighbours need together, in steps of the levels.
std::vector<double> sums(std::span<const UseShares> others) {
  std::vector<double> out = {1};
  for (const UseShares& one : others) {
    if (!(one.busy() > 0)) continue;
    std::vector<double> next(out.size() + UseShares::kLevels - 1);
    for (std::size_t v = 0; v < out.size(); ++v)
      for (std::size_t l = 0; l < UseShares::kLevels; ++l) next[v + l] += out[v] * one.at[l] / one.busy();
    out = std::move(next);
  }
  return out;
}

constexpr double kStep = 1.0 / (UseShares::kLevels - 1);

}  // namespace

UseShares uses_of(double demand) {
  const double level = std::clamp(demand, 0.0, 1.0) / kStep;
  const auto below = std::min(static_cast<std::size_t>(level), UseShares::kLevels - 2);
  UseShares out;
  out.at[below + 1] = level - static_cast<double>(below);
  out.at[below] = 1 - out.at[below + 1];
  return out;
}

std::string_view kernel_of(DeviceUse use) {
  return kKernels[static_cast<std::size_t>(use)];
}

CrowdingSlowdown::CrowdingSlowdown(Table table) : table_(std::move(table)) {
  for (auto& row : table_)
    for (auto& factors : row)
      for (double& factor : factors) factor = std::max(1.0, factor);
}

bool CrowdingSlowdown::empty() const {
  return std::ranges::all_of(table_, [](const auto& row) {
    return std::ranges::all_of(row, [](const auto& factors) {
      return std::ranges::all_of(factors, [](double factor) { return factor == 1; });
    });
  });
}

double CrowdingSlowdown::measured(DeviceUse own, DeviceUse neighbours, double count) const {
  const auto& factors = table_[static_cast<std::size_t>(own)][static_cast<std::size_t>(neighbours)];
  if (factors.empty()) return 1;
  const auto most = static_cast<double>(factors.size());
  if (count >= most) return 1 + (factors.back() - 1) * count / most;
  const auto below = static_cast<std::size_t>(count);
  const double low = below == 0 ? 1 : factors[below - 1];
  return low + (factors[below] - low) * (count - static_cast<double>(below));
}

double CrowdingSlowdown::slowdown(double demand, double neighbours, double others) const {
  if (!(neighbours > 0)) return 1;
  others = std::min(others, neighbours);
  // A product, or an addition, beside neighbours of which so many add.
  const auto beside = [&](DeviceUse own, double adding) {
    const double share = adding / neighbours;
    return measured(own, DeviceUse::arithmetic, neighbours) * (1 - share) +
           measured(own, DeviceUse::memory, neighbours) * share;
  };
  if (others > 1)
    return beside(DeviceUse::arithmetic, others) * (1 - demand) + beside(DeviceUse::memory, others) * demand;
  const double most = std::min(1.0, neighbours), filled = others / most;
  const double none = beside(DeviceUse::arithmetic, 0), own = beside(DeviceUse::memory, 0),
               theirs = beside(DeviceUse::arithmetic, most), both = beside(DeviceUse::memory, most);
  if (demand + filled <= 1) return none + demand * (own - none) + filled * (theirs - none);
  return both + (1 - demand) * (theirs - both) + (1 - filled) * (own - both);
}

CrowdingSlowdown crowding(std::span<const CrowdingTest> tests) {
  CrowdingSlowdown::Table table;
  for (std::size_t own = 0; own < kUses; ++own)
    for (std::size_t other = 0; other < kUses; ++other) {
      auto& factors = table[own][other];
      for (bool found = true; found;) {  // as long as one more neighbour was tried
        found = false;
        for (const CrowdingTest& test : tests)
          if (test.kernel == kKernels[own] && test.beside == kKernels[other] &&
              test.neighbours == std::ssize(factors) + 1) {
            factors.push_back(test.slowdown.value);
            found = true;
            break;
          }
      }
    }
  return CrowdingSlowdown(std::move(table));
}

double expected_slowdown(const CrowdingSlowdown& crowding, const UseShares& own,
                         std::span<const UseShares> others) {
  double neighbours = 0;
  for (const UseShares& one : others) neighbours += one.busy();
  if (!(neighbours > 0)) return 1;
  const std::vector<double> chance = sums(others);
  double longer = 0;
  for (std::size_t l = 0; l < UseShares::kLevels; ++l)
    for (std::size_t v = 0; v < chance.size(); ++v) {
      const double demand = static_cast<double>(l) * kStep, asked = static_cast<double>(v) * kStep;
      if (const double weight = own.at[l] * chance[v]; weight > 0)
        longer += weight * (crowding.slowdown(demand, neighbours, asked) - 1);
    }
  return 1 + longer;
}

double predicted_slowdown(const CrowdingSlowdown& crowding, const CrowdingTest& test) {
  const double count = test.neighbours;
  return crowding.slowdown(test.memory_share, count, test.beside == kernel_of(DeviceUse::memory) ? count : 0);
}

StageUses::StageUses(const Problem& problem)
    : problem_(problem), unattended_(problem.cluster.without_host_times()) {}

PassUses StageUses::of(const plan::Stage& stage, std::size_t replica, std::int64_t samples) const {
  const auto time = [&](const cluster::Cluster& cluster, const CostModel& costs) {
    const Problem problem{problem_.graph, cluster, costs, problem_.training, problem_.memory};
    return stage_time(problem, stage, stage.operators, replica, samples);
  };
  const OpTime all = time(problem_.cluster, problem_.costs).total();
  std::array<OpTime, UseShares::kLevels> levels;
  for (std::size_t l = 0; l < levels.size(); ++l)
    levels[l] = time(unattended_, TimesAt(problem_.costs, l)).compute;
  const auto uses = [&](auto pass) {
    return shares(pass(all), {pass(levels[0]), pass(levels[1]), pass(levels[2])});
  };
  return {uses([](const OpTime& t) { return t.forward; }), uses([](const OpTime& t) { return t.recompute; }),
          uses([](const OpTime& t) { return t.backward(); }),
          uses([](const OpTime& t) { return t.input_gradient; }),
          uses([](const OpTime& t) { return t.weight_gradient; })};
}

}  // namespace penstock::cost
