#include <algorithm>
#include <cmath>

#include "candidates.hpp"
#include "families.hpp"
#include "own_options.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"
#include "tensor/partition_types.hpp"
#include "tensor/shares.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;

/// Maximum number of evaluations, which take much longer than the planner's formula.
constexpr std::size_t kMostTypesEvaluated = 8;
/// Prices of memory, as powers of two of "the plan's time for all memory": range, and number of halvings.
constexpr double kCheapest = -45, kDearest = 15;
constexpr int kHalvings = 10;
/// Maximum alternations between shares and types; ends early at the first without gain.
constexpr int kTurns = 4;

/// Groups of `size` consecutive devices; with several device types, also groups with equally many of each
/// type, if they divide.
std::vector<std::vector<DeviceId>> arrangements(const cluster::Cluster& cluster, std::size_t size) {
  std::vector<std::vector<DeviceId>> by_type(cluster.types().size());
  std::vector<DeviceId> row, dealt;
  for (std::size_t d = 0; d < cluster.size(); ++d) {
    row.emplace_back(d);
    by_type[cluster.devices()[d].type].emplace_back(d);
  }
  const std::size_t groups = cluster.size() / size;
  for (std::size_t g = 0; g < groups; ++g)
    for (const auto& alike : by_type) {
      if (alike.size() % groups != 0) return {{row}};
      const auto each = static_cast<std::ptrdiff_t>(alike.size() / groups);
      const auto begin = alike.begin() + static_cast<std::ptrdiff_t>(g) * each;
      dealt.insert(dealt.end(), begin, begin + each);
    }
  std::vector<std::vector<DeviceId>> out = {row};
  if (dealt != row) out.push_back(dealt);
  return out;
}

class TypeSearch {
 public:
  TypeSearch(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), types_(problem) {}

  std::vector<plan::Stage> shapes() const {
    std::vector<plan::Stage> out;
    for (const int t : group_sizes()) {
      const auto size = static_cast<std::size_t>(t);
      const int replicas = static_cast<int>(problem_.cluster.size() / size);
      for (const auto& devices : arrangements(problem_.cluster, size))
        for (const std::int64_t micro_batch : shared_sizes(problem_, options_, replicas)) {
          plan::Stage& stage = out.emplace_back();
          for (std::size_t v = 0; v < problem_.graph.size(); ++v) stage.operators.emplace_back(v);
          stage.devices = devices;
          stage.tensor_parallel = t;
          stage.micro_batch = micro_batch;
          stage.k = options_.k;
        }
    }
    return out;
  }

  /// Best plan of a shape; `solved` counts dynamic programmes.
  PlanCandidate candidate(const plan::Stage& shape, std::uint64_t& solved) const {
    PlanCandidate out;
    try {
      stop_.check();
      plan::Stage stage = shape.tensor_parallel == 1 ? shape : divided(shape, solved);
      out.plan = plan_of(stage);
      if (fits(problem_, *out.plan)) out.seconds = lone_stage_seconds(problem_, stage);
      out.late = false;
    } catch (const core::LimitHit&) {
    }
    return out;
  }

 private:
  /// Replica counts, and always all devices.
  std::vector<int> group_sizes() const {
    auto out = rank_sizes(problem_, options_);
    const int all = static_cast<int>(problem_.cluster.size());
    if (out.back() != all) out.push_back(all);
    std::erase_if(out, [&](int size) { return size > options_.max_tensor_parallel.value_or(size); });
    return out;
  }
  plan::Plan plan_of(const plan::Stage& stage) const {
    plan::Plan out;
    out.training = problem_.training;
    out.stages = {stage};
    score::derive_in_flight(problem_, out);
    return out;
  }
  bool has_room(const plan::Stage& stage) const { return score::fits_memory(problem_, plan_of(stage)); }

  plan::Stage divided(plan::Stage shape, std::uint64_t& solved) const {
    shape.shares = even_load(problem_, shape);
    PartitionTypes::TypeChoice best = affordable(shape, solved);
    for (int turn = 1; turn < kTurns && !best.stage.shares.empty(); ++turn) {
      plan::Stage balanced = best.stage;
      balanced.shares = best_shares(problem_, best.stage, stop_);
      PartitionTypes::TypeChoice next = affordable(balanced, solved);
      if (next.seconds >= best.seconds || (has_room(best.stage) && !has_room(next.stage))) break;
      best = std::move(next);
    }
    return best.stage;
  }

  /// Best types that fit, by a price on memory (a Lagrange multiplier, so other types may fit and be faster).
  /// If none fit, those at the highest price.
  PartitionTypes::TypeChoice affordable(const plan::Stage& shape, std::uint64_t& solved) const {
    const auto at = [&](double price) {
      auto found = types_.best(shape, price, stop_);
      solved += found.solved;
      return found;
    };
    PartitionTypes::TypeChoice best = at(0);
    if (has_room(best.stage)) return best;
    const double unit = best.seconds / static_cast<double>(problem_.cluster.type(DeviceId(0)).memory.value());
    best = at(unit * std::exp2(kDearest));
    if (!has_room(best.stage)) return best;
    double low = kCheapest, high = kDearest;
    for (int step = 0; step < kHalvings; ++step) {
      const double middle = (low + high) / 2;
      PartitionTypes::TypeChoice found = at(unit * std::exp2(middle));
      const bool fitting = has_room(found.stage);
      (fitting ? high : low) = middle;
      if (fitting && found.seconds < best.seconds) best = std::move(found);
    }
    return best;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  PartitionTypes types_;
};

}  // namespace

// Song et al., "AccPar: Tensor Partitioning for Heterogeneous Deep Learning Accelerators", HPCA 2020,
// reconstructed from memory of the paper, not from its text. Every operator is divided by samples (type I),
// by its input (II), by its output (III), or not at all. Dynamic programming chooses the types that minimise
// compute, partial sums and conversions between operators. Shares are in proportion to the speed of device
// types.
//
// Differs: the paper halves the array of devices level by level and chooses types and a ratio per layer and
// level. Our plans have two levels, replicas (samples, evenly) of tensor-parallel groups, with one type per
// operator and one share per device for all operators. Every group size is tried, including one and all
// devices. Costs are those of cost/sharding.hpp, where collectives do not depend on the shares, so that
// shares balance only compute. Memory, which the paper ignores, has a price until the plan fits. The plan
// with the smallest lone_stage_seconds is chosen; if plans are evaluated, the best of the 8 first.
SearchResult accpar(const cost::Problem& problem, const SearchOptions& asked, core::StopToken stop) {
  const SearchOptions options = limited(asked, OwnValues("accpar", tensor_parallel_options(), asked.own));
  if (options.k < 1) throw core::BadInput("k must be at least 1");
  stop.check();
  const TypeSearch search(problem, options, stop);
  const auto shapes = search.shapes();
  if (shapes.empty()) throw core::Infeasible("no group of devices has a sample for each of its replicas");
  std::vector<PlanCandidate> found(shapes.size());
  std::vector<std::uint64_t> solved(shapes.size());
  core::parallel_for(shapes.size(),
                     [&](std::size_t i) { found[i] = search.candidate(shapes[i], solved[i]); });
  bool complete = in_time(found);
  if (by_evaluation(options))
    complete = evaluate_leading(found, options, kMostTypesEvaluated, stop) && complete;
  plan::Plan& plan = *winner(problem, found, stop).plan;
  SearchResult out{std::move(plan), 0, shapes.size(), {}, complete};
  for (const std::uint64_t n : solved) out.states += n;
  out.bottleneck = score::estimate(problem, out.plan).bottleneck;
  out.estimate = core::Seconds(lone_stage_seconds(problem, out.plan.stages.front()));
  return out;
}

}  // namespace penstock::planners
