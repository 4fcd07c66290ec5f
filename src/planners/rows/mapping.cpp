#include "rows/mapping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::planners {
namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();
constexpr int kCellsBetweenChecks = 16;  // cells, of up to some hundred microseconds each

}  // namespace

MappingTable::MappingTable(const MappingCosts& costs, int most_stages, double limit, core::StopToken stop)
    : costs_(costs), most_stages_(std::min({most_stages, costs.layers, costs.devices})), limit_(limit) {
  values_.assign(position(most_stages_ + 1, 0, 0), kUnreachable);
  std::fill_n(cell(0, costs_.layers, costs_.devices), costs_.replicas.size() + 1, 0.0);
  for (int x = 1; x <= most_stages_; ++x)
    for (int l = costs_.layers - x; l >= 0; --l) {
      for (int i = costs_.devices - x; i >= 0; --i) {
        if (i % kCellsBetweenChecks == 0) stop.check();
        if (balanced(l, i)) fill(x, l, i);
      }
    }
}

bool MappingTable::balanced(int l, int i) const {
  if (std::isinf(costs_.most_work)) return true;
  constexpr double kRounding = 1 + 1e-9;
  const double before = costs_.least_work[static_cast<std::size_t>(l)],
               behind = costs_.least_work.back() - before;
  const double most = costs_.most_work * kRounding;
  return before <= most * i && behind <= most * (costs_.devices - i);
}

void MappingTable::fill(int x, int l, int i) {
  double* here = cell(x, l, i);
  double& least = here[costs_.replicas.size()];
  for (std::size_t r = 0; r < costs_.replicas.size(); ++r) {
    here[r] = best(x, l, i, r).value;
    least = std::min(least, here[r]);
  }
}

MappingTable::StageContinuation MappingTable::best(int x, int l, int i, std::size_t r) const {
  StageContinuation best{kUnreachable, 0, 0};
  const int slice = costs_.slice[static_cast<std::size_t>(i)][r];
  if (slice < 0) return best;
  const auto& stage = costs_.stage[static_cast<std::size_t>(slice)];
  const auto& room = costs_.room[static_cast<std::size_t>(slice)];
  for (int end = x == 1 ? costs_.layers : l + 1; end <= costs_.layers - (x - 1); ++end) {
    const double own = stage[costs_.range(l, end)];
    if (own >= std::min(best.value, limit_)) break;
    if (room[costs_.range(l, end)] >= std::min(x, costs_.micro_batches)) lower_by(best, own, x, end, i, r);
  }
  return best;
}

void MappingTable::lower_by(StageContinuation& best, double own, int x, int end, int i, std::size_t r) const {
  const int next_device = i + costs_.replicas[r];
  const double* behind = cell(x - 1, end, next_device);
  if (std::max(own, behind[costs_.replicas.size()]) >= best.value) return;
  for (std::size_t next = 0; next < costs_.replicas.size(); ++next) {
    double value = std::max(own, behind[next]);
    if (value >= best.value) continue;
    if (x > 1)
      value = std::max(value, costs_.transfer[costs_.junction(i, r, next)][static_cast<std::size_t>(end)]);
    if (value < best.value) best = {value, end, next};
  }
}

std::vector<MappedStage> MappingTable::stages(int count) const {
  std::vector<MappedStage> out;
  int l = 0, i = 0;
  const double* first = cell(count, 0, 0);
  auto r = static_cast<std::size_t>(std::min_element(first, first + costs_.replicas.size()) - first);
  for (int x = count; x > 0; --x) {
    const StageContinuation choice = best(x, l, i, r);
    out.push_back({l, choice.end, i, costs_.replicas[r]});
    l = choice.end;
    i += costs_.replicas[r];
    r = choice.next;
  }
  return out;
}

}  // namespace penstock::planners
