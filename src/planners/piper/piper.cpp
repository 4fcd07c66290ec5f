#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "families.hpp"
#include "least_so_far.hpp"
#include "own_options.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/validate.hpp"
#include "piper/piper_search.hpp"
#include "piper/piper_workload.hpp"
#include "row_plan.hpp"
#include "smallest_memory.hpp"
#include "sweep.hpp"
#include "tensor/tensor_groups.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;

/// Sets which layers of a stage may recompute. If some layers of a stage do, the stage recomputes as a whole
/// when it runs.
void choose_recompute(const std::string& word, PiperRules& rules) {
  rules.recompute = word == "never"    ? RecomputeMode::never
                    : word == "always" ? RecomputeMode::always
                    : word == "stage"  ? RecomputeMode::per_stage
                                       : RecomputeMode::per_layer;
  rules.knapsack = word == "greedy" ? KnapsackRule::greedy : KnapsackRule::exact;
}

PiperOptions rules_of(const OwnValues& own, const SearchOptions& options) {
  PiperOptions out;
  choose_recompute(own.word("recompute"), out.rules);
  out.rules.data_parallel = own.word("data_parallel") == "true";
  out.rules.powers_of_two = !options.any_degree;
  out.flush = own.flag("flush");
  out.all_devices = true;
  out.give_up = options.give_up.value();
  return out;
}

/// Origin of the layers' costs, and their limits on a device.
struct CostSource {
  bool imported = false;  ///< from the costs' workload, for micro-batches of one sample
  Bytes memory{};         ///< bytes per device as the workload counts; zero: the device's memory
  int most_devices = 1;   ///< maximum devices per tensor-parallel group
};

CostSource source_of(const cost::Problem& problem, const SearchOptions& options, const OwnValues& own) {
  CostSource out;
  out.imported = own.word("costs") == "imported";
  out.memory = Bytes(own.number("memory"));
  out.most_devices = options.max_tensor_parallel.value_or(static_cast<int>(problem.cluster.size()));
  if (out.memory.value() > 0 && !out.imported)
    throw core::BadInput("piper: memory is by the imported workload's count: it goes with costs=imported");
  return out;
}

struct PiperCandidate {
  plan::Plan plan;
  double estimate = 0;  ///< seconds of an iteration, by Piper's formula
  bool complete = true;
  PlanVerdict verdict;  ///< score by which micro-batch sizes are compared
};

/// The search at one micro-batch size.
class PiperAtSize {
 public:
  PiperAtSize(const cost::Problem& problem, const PiperOptions& rules, const CostSource& source,
              const UnitGraph& units, const PiperLattice& lattice,
              const std::vector<ShardedOperators>& sharded, std::int64_t samples, bool in_row,
              core::StopToken stop)
      : problem_(problem),
        units_(units),
        lattice_(lattice),
        samples_(samples),
        stop_(stop),
        source_(source),
        workload_(source.imported ? imported_workload(problem, units, source.most_devices)
                                  : piper_workload(problem, units, samples, in_row, sharded)),
        rules_(rules) {}

  /// Returns a plan that stays within `memory` on every device as score::violations counts it, and takes less
  /// than `below` seconds by Piper's formula. Memory that Piper does not count is subtracted from its limit
  /// until the plan fits; an imported workload uses its own memory.
  std::optional<PiperCandidate> best(Bytes memory, double below = std::numeric_limits<double>::infinity()) {
    rules_.below = below;
    const Bytes limit = source_.memory.value() > 0 ? source_.memory : memory;
    workload_.setting.memory = static_cast<double>(limit.value());
    for (int round = 0; round < kRounds; ++round) {
      const auto found = piper_search(workload_, lattice_, rules_, stop_);
      if (!found) return std::nullopt;
      states_ += found->states;
      PiperCandidate out{assembled(*found), found->iteration, found->complete, {}};
      if (source_.imported) return out;
      const std::int64_t missing = fullest(out.plan).value() - memory.value();
      if (missing <= 0) return out;
      workload_.setting.memory -=
          std::max(static_cast<double>(missing), static_cast<double>(memory.value()) * 1e-3);
      if (workload_.setting.memory < 0) return std::nullopt;
    }
    return std::nullopt;
  }
  std::uint64_t states() const { return states_; }

 private:
  static constexpr int kRounds = 24;

  /// Builds the plan. Stages follow one another even without data flow; d replicas take d micro-batches at
  /// once. Devices are consecutive, unless that would spread a group over nodes.
  plan::Plan assembled(const PiperPlan& found) const {
    plan::Plan plan;
    plan.training = problem_.training;
    std::size_t device = 0;
    for (const PiperStage& from : found.stages) {
      plan::Stage& stage = plan.stages.emplace_back();
      for (graph::Vertex unit : from.layers)
        for (core::OpId op : units_.operators[static_cast<std::size_t>(unit)]) stage.operators.push_back(op);
      std::sort(stage.operators.begin(), stage.operators.end());
      stage.tensor_parallel = from.tensor_degree;
      for (int d = 0; d < from.data_degree * from.tensor_degree; ++d) stage.devices.emplace_back(device++);
      stage.micro_batch = samples_ * from.data_degree;
      if (std::count(from.configurations.begin(), from.configurations.end(), 1) > 0)
        stage.recompute = plan::kRecomputeStage;
      if (plan.stages.size() > 1) stage.after = {core::StageId(plan.stages.size() - 2)};
    }
    unite_groups(problem_.cluster, plan);
    schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan));
    return plan;
  }

  Bytes fullest(const plan::Plan& plan) const {
    Bytes most(0);
    for (const plan::MemoryByKind& stage : score::stage_memories(problem_, plan))
      most = std::max(most, plan::total(stage));
    return most;
  }

  const cost::Problem& problem_;
  const UnitGraph& units_;
  const PiperLattice& lattice_;
  std::int64_t samples_;
  core::StopToken stop_;
  CostSource source_;
  graph::PiperWorkload workload_;
  PiperOptions rules_;
  std::uint64_t states_ = 0;
};

core::Seconds estimated(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration;
}

/// Throws with the memory that a device would need for some plan.
[[noreturn]] void explain(PiperAtSize& size, const cost::Problem& problem, std::int64_t samples) {
  constexpr Bytes kUnlimited(std::int64_t{1} << 50);
  if (!size.best(kUnlimited))
    throw core::Infeasible(fmt::format("no plan uses exactly {} devices with micro-batches of {} samples",
                                       problem.cluster.size(), samples));
  const Bytes has = smallest_memory(problem.cluster);
  Bytes low = has, high = has * 2;
  while (high < kUnlimited && !size.best(high)) low = high, high = high * 2;
  while ((high - low).value() > has.value() / 1000 + 1) {
    const Bytes middle = low + (high - low) / 2;
    (size.best(middle) ? high : low) = middle;
  }
  throw core::Infeasible(fmt::format(
      "no plan fits in memory: with micro-batches of {} samples a device needs {}, it has {}: {} missing",
      samples, core::show(high), core::show(has), core::show(high - has)));
}

std::vector<ShardedOperators> sharded_operators(const cost::Problem& problem, const SearchOptions& options) {
  std::vector<ShardedOperators> out;
  for (int degree : tensor_degrees(problem.cluster, options))
    if (degree > 1) out.emplace_back(problem, degree);
  return out;
}

class SizeSearch {
 public:
  SizeSearch(const cost::Problem& problem, const SearchOptions& options, const PiperOptions& rules,
             const CostSource& source, bool in_row, core::StopToken stop)
      : problem_(problem),
        options_(options),
        rules_(rules),
        source_(source),
        in_row_(in_row),
        stop_(stop),
        sizes_(source.imported ? std::vector<std::int64_t>{1} : replica_sizes(problem, options, "piper")),
        units_(planning_units(problem.graph)),
        sharded_(source.imported ? std::vector<ShardedOperators>{} : sharded_operators(problem, options)),
        lattice_(dag_of(piper_workload(problem, units_, sizes_.front(), in_row, {})), kMostDownsets, stop) {}

  SearchResult run() {
    std::vector<double> below(sizes_.size(), std::numeric_limits<double>::infinity());
    auto found = at_all_sizes({}, below);
    if (!sharded_.empty())
      for (PiperCandidate& better : at_all_sizes(sharded_, below)) found.push_back(std::move(better));
    if (found.empty() && !complete_) stop_.give_up();
    if (found.empty() && std::isfinite(options_.give_up.value())) nothing_within("piper", options_.give_up);
    if (found.empty()) {
      PiperAtSize smallest(problem_, rules_, source_, units_, lattice_, sharded_, sizes_.front(), in_row_,
                           stop_);
      if (source_.memory.value() > 0)
        throw core::Infeasible(
            fmt::format("no plan keeps to {} on exactly {} devices by the workload's count",
                        core::show(source_.memory), problem_.cluster.size()));
      explain(smallest, problem_, sizes_.front());
    }
    const auto best = std::min_element(
        found.begin(), found.end(),
        [](const PiperCandidate& a, const PiperCandidate& b) { return a.verdict < b.verdict; });
    const double bottleneck = best->estimate / static_cast<double>(problem_.training.mini_batch);
    return {std::move(best->plan), bottleneck, states_, core::Seconds(best->estimate), complete_};
  }

 private:
  /// Best plan of each size, if there is one and time to find it. `below` [size]: estimate that a plan must
  /// beat, lowered to the one found. If simulation decides, sizes do not compete by their estimates, so that
  /// a free search finds every plan of a search with a fixed size.
  std::vector<PiperCandidate> at_all_sizes(const std::vector<ShardedOperators>& sharded,
                                           std::vector<double>& below) {
    std::vector<std::optional<PiperCandidate>> found(sizes_.size());
    std::vector<std::uint64_t> states(sizes_.size());
    const bool all = until_limit(sizes_.size(), [&](std::size_t n) {
      const std::size_t i = sizes_.size() - 1 - n;  // the largest is the most efficient
      stop_.check();
      PiperAtSize size(problem_, rules_, source_, units_, lattice_, sharded, sizes_[i], in_row_, stop_);
      found[i] = size.best(smallest_memory(problem_.cluster), below[i]);
      states[i] = size.states();
      if (!found[i]) return;
      found[i]->verdict =
          judged(options_, found[i]->plan, estimated(problem_, found[i]->plan), fastest_.seconds());
      if (!found[i]->verdict.late) fastest_.lower(found[i]->verdict.iteration);
    });
    complete_ = complete_ && all;
    std::vector<PiperCandidate> out;
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto& candidate = found[i];
      if (!candidate) continue;
      below[i] = std::min(below[i], candidate->estimate);
      complete_ = complete_ && candidate->complete && !candidate->verdict.late;
      out.push_back(std::move(*candidate));
    }
    if (!by_evaluation(options_)) std::ranges::fill(below, *std::ranges::min_element(below));
    for (std::uint64_t n : states) states_ += n;
    return out;
  }

  const cost::Problem& problem_;
  SearchOptions options_;
  PiperOptions rules_;
  CostSource source_;
  bool in_row_;
  core::StopToken stop_;
  std::vector<std::int64_t> sizes_;
  UnitGraph units_;
  std::vector<ShardedOperators> sharded_;
  PiperLattice lattice_;
  LeastSoFar fastest_;  ///< over all sizes
  std::uint64_t states_ = 0;
  bool complete_ = true;  ///< false: some size was stopped early
};

SearchResult search(const cost::Problem& problem, const SearchOptions& options, const char* name, bool in_row,
                    core::StopToken stop) {
  if (options.per_stage_micro_batch) throw core::BadInput("piper: all replicas have one micro-batch size");
  if (options.k != 1) throw core::BadInput("piper: k must be 1");
  const OwnValues own(name, piper_options(), options.own);
  const SearchOptions within = limited(options, own);
  const CostSource source = source_of(problem, within, own);
  if (source.imported && (in_row || options.micro_batch.value_or(1) != 1))
    throw core::BadInput(
        "piper: an imported workload is of micro-batches of one sample, and keeps its graph: --micro-batch "
        "1, "
        "and not piper_row");
  return SizeSearch(problem, within, rules_of(own, options), source, in_row, stop).run();
}

}  // namespace

const std::vector<PlannerOption>& piper_options() {
  static const std::vector<PlannerOption> options = {
      words("recompute", {"stage", "layer", "greedy", "never", "always"},
            "stages recompute as a whole where that pays; or layer by layer in the search, by an exact "
            "knapsack or the "
            "published program's greedy one, and as a whole when they run; or none, or all"),
      words("data_parallel", {"true", "false"},
            "stages may have replicas; false: the published program's nodp"),
      flag("flush",
           "filling and draining count, by GPipe's formula: fewer stages may pay; ours, an open item of the "
           "authors"),
      words("costs", {"counted", "imported"},
            "times, memory and messages as Penstock counts them; or those of the imported workload (penstock "
            "import piper-json), group by group, recomputed or not"),
      number("memory", 0, 0, std::int64_t{1} << 50,
             "bytes of a device by the imported workload's count; 0: as many as the device has"),
      tensor_parallel_limit(),
  };
  return options;
}

// Tarnawski, Narayanan, Phanishayee, "Piper: Multidimensional Planner for DNN Parallelization", NeurIPS 2021.
// Differs: a stage recomputes as a whole; no device stays idle; memory is Penstock's, with the in-flight
// micro-batches of 1F1B. Tensor-parallel degrees are powers of two within a node, at the times of
// ShardedTimes, and searched only where Piper's model is faster with them. The micro-batch size is chosen
// differently.
SearchResult piper(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return search(problem, options, "piper", false, stop);
}

// An addition of ours: the same search over one row of operators, which never has too many downsets.
SearchResult piper_row(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return search(problem, options, "piper_row", true, stop);
}

}  // namespace penstock::planners
