#include "bottleneck_search.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::planners {
namespace {

class Search {
 public:
  Search(const Arrangement& arrangement, const StageTable& table, core::StopToken stop)
      : arrangement_(arrangement), table_(table), stop_(stop) {}

  /// Lowers `best` and returns true when a partition meets the bound.
  bool probe(double bound) {
    Partition partition(arrangement_, table_, bound, stop_);
    auto stages = partition.solve();
    rows_ += partition.rows();
    if (!stages) return false;
    const double attained = slowest(*stages);
    core::require(attained <= bound, "a partition meets its bound");
    best = Bottleneck{std::move(*stages), attained, 0};
    return true;
  }
  std::optional<Bottleneck> finish() {
    if (best) best->rows = rows_;
    return std::move(best);
  }

  std::optional<Bottleneck> best;

 private:
  double slowest(const std::vector<PartStage>& stages) const {
    const auto& replicas = table_.choices().replicas;
    double most = 0;
    for (const PartStage& stage : stages) {
      const auto index = std::lower_bound(replicas.begin(), replicas.end(), stage.replicas) - replicas.begin();
      most = std::max(most, table_.time_per_sample(stage.set, table_.load(stage.set), stage.config, static_cast<int>(index)));
    }
    return most;
  }

  const Arrangement& arrangement_;
  const StageTable& table_;
  core::StopToken stop_;
  std::uint64_t rows_ = 0;
};

}  // namespace

double bottleneck_bound(const StageTable& table) {
  double bound = table.total_work() / table.devices();
  for (int p = 0; p < table.positions(); ++p) bound = std::max(bound, table.least_compute({{p, p + 1}}));
  return bound;
}

std::optional<Bottleneck> least_bottleneck(const Arrangement& arrangement, const StageTable& table,
                                           core::StopToken stop, double give_up) {
  constexpr double kGrowth[] = {1.01, 1.05, 1.2, 1.6, 3, 12, std::numeric_limits<double>::infinity()};
  constexpr double kFine = 1e-6;
  Search search(arrangement, table, stop);
  const double least = bottleneck_bound(table);
  double failed = least * (1 - 1e-12);
  for (double growth : kGrowth) {
    if (failed >= give_up || search.probe(least * growth)) break;
    failed = least * growth;
  }
  while (search.best && failed < give_up) {
    const double attained = search.best->seconds_per_sample;
    const bool last = attained - failed <= kFine * attained;
    const double bound = last ? std::nextafter(attained, 0) : failed + (attained - failed) / 2;
    if (search.probe(bound)) continue;
    if (last) return search.finish();
    failed = bound;
  }
  return std::nullopt;
}

}  // namespace penstock::planners
