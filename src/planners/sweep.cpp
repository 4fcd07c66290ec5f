#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <tuple>

#include "graphpipe/assemble.hpp"
#include "graphpipe/obstacle.hpp"
#include "least_so_far.hpp"
#include "own_options.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/graph/series_parallelize.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/schedule/in_flight_search.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::planners {

using core::BadInput;

namespace {

/// In few enough passes: see plan::structural_violations.
bool handled(const cost::Problem& problem, std::int64_t size) {
  return 2 * (problem.training.mini_batch / size) * static_cast<std::int64_t>(problem.cluster.size()) <=
         plan::kMostPasses;
}

void check_divides(const cost::Problem& problem, std::int64_t size) {
  if (size < 1 || problem.training.mini_batch % size != 0)
    throw BadInput(
        fmt::format("micro-batch {} does not divide the mini-batch {}", size, problem.training.mini_batch));
}

void check_options(const cost::Problem& problem, const SearchOptions& options) {
  if (const auto violation = plan::mini_batch_violation(problem.graph, problem.training.mini_batch))
    throw BadInput(*violation);
  if (const auto violation = plan::precision_violation(problem.graph, problem.training))
    throw BadInput(*violation);
  if (options.micro_batch && options.pipeline_micro_batch)
    throw BadInput("micro_batch and pipeline_micro_batch pin the same thing: give one of them");
}

[[noreturn]] void too_many_passes(std::int64_t size) {
  throw BadInput(fmt::format("micro-batch {} splits the mini-batch into too many passes", size));
}

std::vector<std::int64_t> sizes(const cost::Problem& problem, const std::optional<std::int64_t>& pinned) {
  const std::int64_t mini_batch = problem.training.mini_batch;
  if (pinned) {
    check_divides(problem, *pinned);
    if (!handled(problem, *pinned)) too_many_passes(*pinned);
    return {*pinned};
  }
  std::vector<std::int64_t> out;
  for (std::int64_t b = 1; b <= mini_batch && mini_batch % b == 0; b *= 2)
    if (handled(problem, b)) out.push_back(b);
  if (out.empty())
    throw BadInput(
        fmt::format("no power of two splits the mini-batch {} into few enough passes", mini_batch));
  return out;
}

}  // namespace

std::vector<std::int64_t> replica_sizes(const cost::Problem& problem, const SearchOptions& options,
                                        const char* planner) {
  check_options(problem, options);
  if (options.pipeline_micro_batch)
    throw BadInput(fmt::format(
        "{}: replicas take whole micro-batches, none is split over them: pin micro_batch", planner));
  return sizes(problem, options.micro_batch);
}

std::vector<std::int64_t> shared_sizes(const cost::Problem& problem, const SearchOptions& options,
                                       int replicas) {
  check_options(problem, options);
  if (!options.micro_batch) {
    auto out = sizes(problem, options.pipeline_micro_batch);
    std::erase_if(out, [&](std::int64_t size) { return size < replicas; });
    return out;
  }
  check_divides(problem, *options.micro_batch);
  const std::int64_t size = *options.micro_batch * replicas;
  if (problem.training.mini_batch % size != 0 || !handled(problem, size)) return {};
  return {size};
}

std::vector<Flow> flows(const cost::Problem& problem, const SearchOptions& options,
                        const std::vector<int>& counts) {
  std::vector<Flow> out;
  if (!options.micro_batch) {
    for (const std::int64_t size : shared_sizes(problem, options, 1)) out.push_back({size});
    return out;
  }
  for (const int replicas : counts)
    if (problem.cluster.size() % static_cast<std::size_t>(replicas) == 0)
      for (const std::int64_t size : shared_sizes(problem, options, replicas))
        out.push_back({size, replicas});
  if (out.empty()) too_many_passes(*options.micro_batch);
  return out;
}

core::Seconds evaluated(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat) {
  const bool against = options.evaluate_against && std::isfinite(to_beat.value());
  return against ? options.evaluate_against(plan, to_beat) : options.evaluate(plan);
}

core::Seconds evaluated_to_win(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat) {
  return evaluated(options, plan, to_beat - kTick);
}

Verdict judged(const SearchOptions& options, const plan::Plan& plan, core::Seconds estimate,
               core::Seconds to_beat) {
  if (!by_evaluation(options)) return {false, estimate};
  try {
    if (const core::Seconds least = evaluated_at_least(options, plan); least > to_beat) return {false, least};
    return {false, evaluated(options, plan, to_beat)};
  } catch (const core::LimitHit&) {
    return {true, estimate};
  }
}

core::Seconds evaluated_at_least(const SearchOptions& options, const plan::Plan& plan) {
  return by_evaluation(options) && options.at_least ? options.at_least(plan) : core::Seconds(0);
}

void nothing_within(const char* planner, core::Seconds give_up) {
  throw core::Infeasible(
      fmt::format("{}: no plan of which every device computes less than {}", planner, core::show(give_up)));
}

bool until_limit(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<bool> complete{true};
  core::parallel_in_order(count, [&](std::size_t i) {
    try {
      body(i);
    } catch (const core::LimitHit&) {
      complete = false;
    }
  });
  return complete;
}

namespace {

std::vector<int> replica_counts(int devices, bool any) {
  std::vector<int> counts;
  for (int r = 1; r <= devices; r = any ? r + 1 : r * 2) counts.push_back(r);
  return counts;
}

/// Of a pinned micro-batch the sizes of stages with 1, 2, 4, ... replicas.
std::vector<std::int64_t> sizes_by_replicas(const cost::Problem& problem, const SearchOptions& options) {
  std::vector<std::int64_t> out;
  for (const int r : replica_counts(static_cast<int>(problem.cluster.size()), false))
    for (const std::int64_t size : shared_sizes(problem, options, r)) out.push_back(size);
  return out;
}

/// Each entry is searched on its own: one size for all stages; with sizes per stage also all sizes up to each
/// one, since the bottleneck alone would always favour the largest and leave no pipeline.
std::vector<Choices> searches(const cost::Problem& problem, const SearchOptions& options,
                              const Choices& rules) {
  if (options.k < 1) throw BadInput("k must be at least 1");
  const auto replicas = replica_counts(static_cast<int>(problem.cluster.size()), options.any_degree);
  std::vector<Choices> out;
  const auto add = [&](const std::vector<std::int64_t>& sizes, const std::vector<int>& counts) -> Choices& {
    out.push_back(rules);
    out.back().micro_batches = sizes;
    out.back().replicas = counts;
    return out.back();
  };
  std::vector<std::int64_t> sizes;
  for (const Flow& flow : flows(problem, options, replicas)) {
    sizes.push_back(flow.samples);
    if (options.per_stage_micro_batch && !options.micro_batch && sizes.size() > 1) add(sizes, replicas);
    add({flow.samples}, flow.replicas == 0 ? replicas : std::vector{flow.replicas});
  }
  if (options.per_stage_micro_batch && options.micro_batch)
    add(sizes_by_replicas(problem, options), replicas).per_replica = options.micro_batch;
  return out;
}

graph::SpTree tree_of(const cost::Problem& problem, const Units& units, const Choices& choices,
                      core::StopToken stop) {
  if (auto tree = graph::decompose(units.dag)) return std::move(*tree);
  std::vector<double> weights;
  for (const auto& unit : units.operators)
    weights.push_back(cost::compute_time(problem, unit, problem.cluster.type(core::DeviceId(0)),
                                         choices.micro_batches.back())
                          .total()
                          .value());
  return graph::make_series_parallel(units.dag, weights, {}, stop).tree;
}

/// There a bottleneck, which takes the slowest type for all, does not bound the estimate from below.
bool mixed(const cluster::Cluster& cluster) {
  return std::any_of(cluster.devices().begin(), cluster.devices().end(), [&](const cluster::Device& device) {
    return device.type != cluster.devices().front().type;
  });
}

/// A bottleneck of other sums says nothing of the estimate.
bool bounds_estimate(const Choices& choices) {
  return choices.objective == Objective::longer && choices.reduced == Reduced::per_iteration;
}

struct SweepCandidate {
  plan::Plan plan;
  double bottleneck = 0;
  double iteration = 0;
  bool judged = true;  ///< false: the deadline left no time for the evaluation, `iteration` is an estimate
};

class Sweep {
 public:
  Sweep(const cost::Problem& problem, const SearchOptions& options, const std::vector<Structure>& structures,
        const std::vector<Choices>& rules, core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), units_(planning_units(problem.graph)) {
    for (const Choices& rule : rules)
      for (const Choices& choices : searches(problem, options, rule))
        for (Structure structure : structures) searches_.push_back({choices, structure});
    if (std::find(structures.begin(), structures.end(), Structure::series_parallel) != structures.end())
      tree_ = tree_of(problem, units_, searches_.back().choices, stop);
  }

  SearchResult run() {
    std::vector<std::optional<SweepCandidate>> found(searches_.size());
    std::vector<std::uint64_t> rows(searches_.size());
    // The largest sizes go first: they are the most efficient, and what they attain lets the others give up
    // early.
    const std::size_t first = searches_.size() - 1;
    found[first] = search(searches_[first], std::numeric_limits<double>::infinity(), rows[first]);
    // An estimate takes the longer, and says nothing of sums.
    const double give_up = found[first] && !by_evaluation(options_) && !mixed(problem_.cluster) &&
                                   bounds_estimate(searches_[first].choices)
                               ? found[first]->iteration / static_cast<double>(problem_.training.mini_batch)
                               : std::numeric_limits<double>::infinity();
    core::parallel_in_order(first, [&](std::size_t n) {
      const std::size_t i = first - 1 - n;
      found[i] = search(searches_[i], give_up, rows[i]);
    });
    return best(found, rows);
  }

 private:
  double estimated(const plan::Plan& plan) const { return score::estimate(problem_, plan).iteration.value(); }

  struct Search {
    Choices choices;
    Structure structure;
  };

  Arrangement arrangement(const Search& search) const {
    if (search.structure != Structure::series_parallel) return arrange_in_row(units_.operators.size());
    return arrange(tree_, unit_faces(problem_, units_, search.choices));
  }

  /// Nothing when no plan fits, or none was found in time.
  std::optional<SweepCandidate> search(const Search& search, double give_up, std::uint64_t& rows) {
    try {
      stop_.check();
      return search_on(search, give_up, rows);
    } catch (const core::LimitHit&) {
      late_ = true;
      return std::nullopt;
    }
  }

  std::optional<SweepCandidate> search_on(const Search& search, double give_up, std::uint64_t& rows) {
    const Arrangement arranged = arrangement(search);
    const StageTable table(problem_, units_, arranged, search.choices, stop_);
    const auto bottleneck = least_bottleneck(arranged, table, stop_, give_up);
    if (!bottleneck) return std::nullopt;
    rows = bottleneck->rows;
    SweepCandidate out{assemble(problem_, table, bottleneck->stages, search.structure == Structure::row),
                       bottleneck->seconds_per_sample, 0};
    if (!bottleneck->complete) {
      late_ = true;
      if (!score::violations(problem_, out.plan).empty()) return std::nullopt;
    }
    if (evaluated_at_least(options_, out.plan) > fastest_.seconds()) return std::nullopt;
    judge(out, search.choices.k);
    if (out.judged) fastest_.lower(core::Seconds(out.iteration));
    return out;
  }

  /// In-flight counts and iteration time by evaluation, as far as the deadline allows.
  void judge(SweepCandidate& candidate, int k) const {
    plan::Plan tightened = candidate.plan;
    try {
      stop_.check();
      if (k > 1 && options_.evaluate)  // there the in-flight rule is only safe, not tight
        schedule::search_in_flight(tightened,
                                   [&](const plan::Plan& p) { return to_picoseconds(options_.evaluate(p)); });
      candidate.iteration = by_evaluation(options_)
                                ? evaluated(options_, tightened, fastest_.seconds()).value()
                                : estimated(tightened);
      candidate.plan = std::move(tightened);
    } catch (const core::LimitHit&) {
      late_ = true;
      candidate.judged = false;
      candidate.iteration = estimated(candidate.plan);
    }
  }

  /// An evaluation counts more than an estimate.
  static bool better(const SweepCandidate& a, const SweepCandidate& b) {
    return std::tuple(!a.judged, a.iteration) < std::tuple(!b.judged, b.iteration);
  }

  SearchResult best(std::vector<std::optional<SweepCandidate>>& found,
                    const std::vector<std::uint64_t>& rows) const {
    std::optional<SweepCandidate>* chosen = nullptr;
    for (auto& candidate : found)
      if (candidate && (!chosen || better(*candidate, **chosen))) chosen = &candidate;
    if (!chosen && late_) stop_.give_up();
    if (!chosen) explain();
    SearchResult out{std::move((*chosen)->plan), (*chosen)->bottleneck, 0};
    for (std::uint64_t n : rows) out.states += n;
    out.complete = !late_;
    return out;
  }

  [[noreturn]] void explain() const {
    for (const Search& search :
         searches_)  // the smallest micro-batch that can occupy all devices needs least
      if (const auto reason = obstacle(problem_, units_, arrangement(search), search.choices,
                                       search.structure != Structure::series_parallel, stop_))
        throw core::Infeasible(*reason);
    throw core::Infeasible(
        fmt::format("no plan uses exactly {} devices with micro-batches of up to {} samples",
                    problem_.cluster.size(), searches_.back().choices.micro_batches.back()));
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  std::vector<Search> searches_;
  Units units_;
  graph::SpTree tree_;
  LeastSoFar fastest_;                     ///< plan that a search has found
  mutable std::atomic<bool> late_{false};  ///< some search was cut short; searches run side by side
};

}  // namespace

const std::vector<PlannerOption>& sweep_options() {
  static const std::vector<PlannerOption> options = {
      words(
          "objective", {"max", "sum"},
          "a stage takes the longer of computing and sending, which overlap; or their sum, as where they do "
          "not"),
      words("all_reduce", {"per_iteration", "per_micro_batch"},
            "how often a stage's time counts its all-reduce: a study of what planners whose plans replicate "
            "little may "
            "have charged"),
      words("in_flight", {"depth", "hide_transfers", "either"},
            "micro-batches that a stage holds: its depth, so that transfers are waited for; up to twice the "
            "depth, less one, so that they are hidden; or what turns out faster")};
  return options;
}

namespace {

/// All that a planner's own options say, once for each rule it is to try.
std::vector<Choices> rules(const char* planner, const SearchOptions& options) {
  using schedule::InFlight;
  const OwnValues own(planner, sweep_options(), options.own);
  Choices rule{{}, {}, options.k};
  rule.objective = own.word("objective") == "sum" ? Objective::sum : Objective::longer;
  rule.reduced =
      own.word("all_reduce") == "per_iteration" ? Reduced::per_iteration : Reduced::per_micro_batch;
  std::vector<Choices> out;
  for (const auto& [word, in_flight] :
       {std::pair{"depth", InFlight::depth}, std::pair{"hide_transfers", InFlight::hide_transfers}}) {
    if (own.word("in_flight") != word && own.word("in_flight") != "either") continue;
    out.push_back(rule);
    out.back().in_flight = in_flight;
  }
  return out;
}

}  // namespace

SearchResult sweep(const char* planner, const cost::Problem& problem, const SearchOptions& options,
                   const std::vector<Structure>& structures, core::StopToken stop) {
  return Sweep(problem, options, structures, rules(planner, options), stop).run();
}

}  // namespace penstock::planners
