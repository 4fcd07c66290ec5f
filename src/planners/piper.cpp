#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "families.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/validate.hpp"
#include "piper_search.hpp"
#include "piper_workload.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"
#include "tensor_groups.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;

struct Variant {
  bool in_row = false;
  bool flush = false;
};

struct Candidate {
  plan::Plan plan;
  double estimate = 0;   ///< seconds of an iteration, by Piper's own formula
  double iteration = 0;  ///< seconds, by which micro-batch sizes are compared
};

/// The search at one micro-batch size.
class AtSize {
 public:
  AtSize(const cost::Problem& problem, const SearchOptions& options, const Units& units,
         const PiperLattice& lattice, const std::vector<ShardedOperators>& sharded, std::int64_t samples,
         Variant variant, core::StopToken stop)
      : problem_(problem),
        units_(units),
        lattice_(lattice),
        samples_(samples),
        stop_(stop),
        workload_(piper_workload(problem, units, samples, variant.in_row, sharded)) {
    rules_.rules.recompute = Recompute::per_stage;
    rules_.rules.powers_of_two = !options.any_degree;
    rules_.flush = variant.flush;
    rules_.all_devices = true;
  }

  /// A plan that keeps to `memory` on every device as score::faults counts it, and takes less than `below`
  /// seconds by Piper's formula. What Piper does not count is taken off its memory until the plan fits.
  std::optional<Candidate> best(Bytes memory, double below = std::numeric_limits<double>::infinity()) {
    rules_.below = below;
    workload_.setting.memory = static_cast<double>(memory.value());
    for (int round = 0; round < kRounds; ++round) {
      const auto found = piper_search(workload_, lattice_, rules_, stop_);
      if (!found) return std::nullopt;
      states_ += found->states;
      Candidate out{assembled(*found), found->iteration, 0};
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

  /// Stages follow one another even where no data flows; d replicas take d micro-batches at once. Devices are
  /// consecutive, unless that would spread a group over nodes.
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
      stage.recompute = from.configurations.front() == 1;
      if (plan.stages.size() > 1) stage.after = {core::StageId(plan.stages.size() - 2)};
    }
    unite_groups(problem_.cluster, plan);
    schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan));
    return plan;
  }

  Bytes fullest(const plan::Plan& plan) const {
    Bytes most(0);
    for (std::size_t s = 0; s < plan.stages.size(); ++s)
      most = std::max(most, plan::total(score::stage_memory(problem_, plan, core::StageId(s))));
    return most;
  }

  const cost::Problem& problem_;
  const Units& units_;
  const PiperLattice& lattice_;
  std::int64_t samples_;
  core::StopToken stop_;
  graph::PiperWorkload workload_;
  PiperOptions rules_;
  std::uint64_t states_ = 0;
};

/// Says how much memory a device would need for some plan.
[[noreturn]] void explain(AtSize& size, const cost::Problem& problem, std::int64_t samples) {
  constexpr Bytes kUnlimited(std::int64_t{1} << 50);
  if (!size.best(kUnlimited))
    throw core::Infeasible(fmt::format("no plan uses exactly {} devices with micro-batches of {} samples",
                                       problem.cluster.size(), samples));
  const Bytes has = smallest_device(problem.cluster);
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

class Search {
 public:
  Search(const cost::Problem& problem, const SearchOptions& options, Variant variant, core::StopToken stop)
      : problem_(problem),
        options_(options),
        variant_(variant),
        stop_(stop),
        sizes_(micro_batch_sizes(problem, options)),
        units_(planning_units(problem.graph)),
        sharded_(sharded_operators(problem, options)),
        lattice_(dag_of(piper_workload(problem, units_, sizes_.front(), variant.in_row, {})), kMostDownsets,
                 stop) {}

  SearchResult run() {
    double below = std::numeric_limits<double>::infinity();
    auto found = at_all_sizes({}, below);
    for (const Candidate& plain : found) below = std::min(below, plain.estimate);
    if (!sharded_.empty())
      for (Candidate& better : at_all_sizes(sharded_, below)) found.push_back(std::move(better));
    if (found.empty() && !complete_) throw core::TimedOut();
    if (found.empty()) {
      AtSize smallest(problem_, options_, units_, lattice_, sharded_, sizes_.front(), variant_, stop_);
      explain(smallest, problem_, sizes_.front());
    }
    const auto best =
        std::min_element(found.begin(), found.end(),
                         [](const Candidate& a, const Candidate& b) { return a.iteration < b.iteration; });
    const double bottleneck = best->estimate / static_cast<double>(problem_.training.mini_batch);
    return {std::move(best->plan), bottleneck, states_, core::Seconds(best->estimate), complete_};
  }

 private:
  /// The best plan of each size, as far as there is one and time to find it.
  std::vector<Candidate> at_all_sizes(const std::vector<ShardedOperators>& sharded, double below) {
    std::vector<std::optional<Candidate>> found(sizes_.size());
    std::vector<std::uint64_t> states(sizes_.size());
    core::parallel_for(sizes_.size(), [&](std::size_t i) {
      try {
        AtSize size(problem_, options_, units_, lattice_, sharded, sizes_[i], variant_, stop_);
        auto candidate = size.best(smallest_device(problem_.cluster), below);
        states[i] = size.states();
        if (!candidate) return;
        candidate->iteration = judged_seconds(problem_, options_, candidate->plan);
        found[i] = std::move(candidate);
      } catch (const core::TimedOut&) {
        complete_ = false;
      }
    });
    std::vector<Candidate> out;
    for (auto& candidate : found)
      if (candidate) out.push_back(std::move(*candidate));
    for (std::uint64_t n : states) states_ += n;
    return out;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  Variant variant_;
  core::StopToken stop_;
  std::vector<std::int64_t> sizes_;
  Units units_;
  std::vector<ShardedOperators> sharded_;
  PiperLattice lattice_;
  std::uint64_t states_ = 0;
  std::atomic<bool> complete_ = true;  ///< false: some size was cut short
};

SearchResult search(const cost::Problem& problem, const SearchOptions& options, Variant variant,
                    core::StopToken stop) {
  if (options.per_stage_micro_batch) throw core::BadInput("piper: all replicas have one micro-batch size");
  if (options.k != 1) throw core::BadInput("piper: k must be 1");
  return Search(problem, options, variant, stop).run();
}

}  // namespace

// Tarnawski, Narayanan, Phanishayee, "Piper: Multidimensional Planner for DNN Parallelization", NeurIPS 2021.
// Differs in that a stage recomputes as a whole; that no device stays idle; that memory is Penstock's,
// in-flight micro-batches of 1F1B included; that tensor-parallel degrees are powers of two within a node, at
// the times of ShardedTimes, and looked for where Piper's model takes less than by any plan without them; and
// in the choice of micro-batch size.
SearchResult piper(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return search(problem, options, {}, stop);
}

// Ours: the same over one row of operators, which never has too many downsets.
SearchResult piper_row(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return search(problem, options, {.in_row = true}, stop);
}

// Ours: the authors name the flush as an open item.
SearchResult piper_flush(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return search(problem, options, {.flush = true}, stop);
}

}  // namespace penstock::planners
