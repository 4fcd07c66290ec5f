#include "penstock/cost/crowding.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::cost {
namespace {

constexpr std::string_view kKernels[kUses] = {"product", "addition"};

/// Asked for an operator's time it says how much of it goes to memory.
class MemoryTimes final : public CostModel {
 public:
  explicit MemoryTimes(const CostModel& costs) : costs_(costs) {}
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override {
    return part_time(graph, op, device, samples, {});
  }
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpPart& part) const override {
    return costs_.memory_time(graph, op, device, samples, part);
  }

 private:
  const CostModel& costs_;
};

/// `busy` are the kernels of a pass that takes `all`, `moving` their time at the memory.
Uses uses(core::Seconds all, core::Seconds busy, core::Seconds moving) {
  if (!(all.value() > 0)) return {};
  const double memory = std::clamp(moving / all, 0.0, 1.0);
  return {std::clamp((busy - moving) / all, 0.0, 1 - memory), memory};
}

}  // namespace

std::string_view kernel_of(Use use) {
  return kKernels[static_cast<std::size_t>(use)];
}

Crowding::Crowding(Table table) : table_(std::move(table)) {
  for (auto& row : table_)
    for (auto& factors : row)
      for (double& factor : factors) factor = std::max(1.0, factor);
}

bool Crowding::empty() const {
  return std::ranges::all_of(table_, [](const auto& row) {
    return std::ranges::all_of(row, [](const auto& factors) {
      return std::ranges::all_of(factors, [](double factor) { return factor == 1; });
    });
  });
}

double Crowding::slowdown(Use own, Use neighbours, double count) const {
  const auto& factors = table_[static_cast<std::size_t>(own)][static_cast<std::size_t>(neighbours)];
  if (factors.empty()) return 1;
  const auto most = static_cast<double>(factors.size());
  if (count >= most) return 1 + (factors.back() - 1) * count / most;
  const auto below = static_cast<std::size_t>(count);
  const double low = below == 0 ? 1 : factors[below - 1];
  return low + (factors[below] - low) * (count - static_cast<double>(below));
}

Crowding crowding(std::span<const CrowdingTest> tests) {
  Crowding::Table table;
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
  return Crowding(std::move(table));
}

double expected_slowdown(const Crowding& crowding, const Uses& own, const Uses& others) {
  const double busy = others.arithmetic + others.memory;
  if (!(busy > 0)) return 1;
  const auto longer = [&](Use use) {
    return (others.arithmetic * (crowding.slowdown(use, Use::arithmetic, busy) - 1) +
            others.memory * (crowding.slowdown(use, Use::memory, busy) - 1)) /
           busy;
  };
  return 1 + own.arithmetic * longer(Use::arithmetic) + own.memory * longer(Use::memory);
}

double predicted_slowdown(const Crowding& crowding, const CrowdingTest& test) {
  const Uses own{1 - test.memory_share, test.memory_share};
  const double count = test.neighbours;
  return expected_slowdown(crowding, own,
                           test.beside == kernel_of(Use::memory) ? Uses{0, count} : Uses{count, 0});
}

StageUses::StageUses(const Problem& problem) : problem_(problem), unattended_(problem.cluster.run_by({})) {}

PassUses StageUses::of(const plan::Stage& stage, std::size_t replica, std::int64_t samples) const {
  const auto time = [&](const Problem& problem) {
    return stage_time(problem, stage, stage.operators, replica, samples);
  };
  const MemoryTimes moving{problem_.costs};
  const Problem free{problem_.graph, unattended_, problem_.costs, problem_.training, problem_.memory};
  const Problem at_memory{problem_.graph, unattended_, moving, problem_.training, problem_.memory};
  const OpTime all = time(problem_).total(), busy = time(free).compute, memory = time(at_memory).compute;
  return {uses(all.forward, busy.forward, memory.forward),
          uses(all.recompute, busy.recompute, memory.recompute),
          uses(all.backward(), busy.backward(), memory.backward()),
          uses(all.input_gradient, busy.input_gradient, memory.input_gradient),
          uses(all.weight_gradient, busy.weight_gradient, memory.weight_gradient)};
}

}  // namespace penstock::cost
