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
#include "penstock/schedule/in_flight_search.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::planners {

using core::BadInput;

core::Seconds evaluated(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat) {
  const bool against = options.evaluate_against && std::isfinite(to_beat.value());
  return against ? options.evaluate_against(plan, to_beat) : options.evaluate(plan);
}

core::Seconds evaluated_to_win(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat) {
  return evaluated(options, plan, to_beat - kTick);
}

PlanVerdict judged(const SearchOptions& options, const plan::Plan& plan, core::Seconds estimate,
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

/// Space given by a planner's own options, besides the rules for the prices of stages.
struct SweepSpace {
  StageChoices rules;
  FreeFlows free = FreeFlows::all_pins;
  int most_replicas = 0;  ///< 0: no limit
};

/// Sizes of stages with 1, 2, 4, ... replicas that take `per_replica` samples each, ascending.
std::vector<std::int64_t> sizes_by_replicas(const cost::Problem& problem, const SearchOptions& options,
                                            int most, std::int64_t per_replica) {
  std::vector<std::int64_t> out;
  SearchOptions pinned = options;
  pinned.micro_batch = per_replica;
  pinned.any_degree = false;
  for (const int r : replica_counts(pinned, most))
    for (const std::int64_t size : shared_sizes(problem, pinned, r)) out.push_back(size);
  return out;
}

/// Choices of every search of one space. Each entry is a separate search with one size for all stages. With
/// sizes per stage there are also searches with all sizes up to each one, because the bottleneck would always
/// favour the largest and leave no pipeline.
class SearchList {
 public:
  SearchList(const cost::Problem& problem, const SearchOptions& options, const SweepSpace& space)
      : problem_(problem), options_(options), space_(space) {
    if (options.k < 1) throw BadInput("k must be at least 1");
    const int devices = static_cast<int>(problem.cluster.size());
    most_ = space.most_replicas == 0 ? devices : std::min(devices, space.most_replicas);
    replicas_ = replica_counts(options, most_);
  }

  /// All searches; the largest size is last.
  std::vector<StageChoices> all() {
    if (options_.per_stage_micro_batch && !options_.micro_batch && space_.free == FreeFlows::all_pins)
      for (const std::int64_t size : free_sizes(problem_)) add_pinned_per_stage(size);
    std::vector<std::int64_t> sizes;
    for (const PipelineFlow& flow : flows(problem_, options_, replicas_, space_.free)) {
      if (flow.replicas == 0) sizes.push_back(flow.samples);
      if (options_.per_stage_micro_batch && flow.replicas == 0 && sizes.size() > 1) add(sizes, replicas_);
      add({flow.samples}, flow.replicas == 0 ? replicas_ : std::vector{flow.replicas});
    }
    if (options_.per_stage_micro_batch && options_.micro_batch) add_pinned_per_stage(*options_.micro_batch);
    return std::move(out_);
  }

 private:
  StageChoices& add(const std::vector<std::int64_t>& sizes, const std::vector<int>& counts) {
    out_.push_back(space_.rules);
    out_.back().micro_batches = sizes;
    out_.back().replicas = counts;
    return out_.back();
  }

  /// Adds stages with different replica counts, each of which takes this many samples per replica.
  void add_pinned_per_stage(std::int64_t per_replica) {
    const auto sizes = sizes_by_replicas(problem_, options_, most_, per_replica);
    if (!sizes.empty()) add(sizes, replicas_).per_replica = per_replica;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  const SweepSpace& space_;
  int most_ = 1;
  std::vector<int> replicas_;
  std::vector<StageChoices> out_;
};

/// Weights operators at the largest free size, independent of fixed sizes, so that all searches of a problem
/// use one tree.
graph::SpTree tree_of(const cost::Problem& problem, const UnitGraph& units, core::StopToken stop) {
  if (auto tree = graph::decompose(units.dag)) return std::move(*tree);
  std::vector<double> weights;
  for (const auto& unit : units.operators)
    weights.push_back(
        cost::compute_time(problem, unit, problem.cluster.type(core::DeviceId(0)), free_sizes(problem).back())
            .total()
            .value());
  return graph::make_series_parallel(units.dag, weights, {}, stop).tree;
}

/// True for several device types: a bottleneck, which assumes the slowest type, is then no lower bound on the
/// estimate.
bool mixed(const cluster::Cluster& cluster) {
  return std::any_of(cluster.devices().begin(), cluster.devices().end(), [&](const cluster::Device& device) {
    return device.type != cluster.devices().front().type;
  });
}

/// True if the bottleneck bounds the estimate: not with other sums.
bool bounds_estimate(const StageChoices& choices) {
  return choices.objective == StageTimeRule::longer && choices.reduced == ReduceFrequency::per_iteration;
}

struct SweepCandidate {
  plan::Plan plan;
  double bottleneck = 0;
  double iteration = 0;
  /// False: the deadline left no time for the evaluation, and `iteration` is an estimate.
  bool judged = true;
};

class StructureSweep {
 public:
  StructureSweep(const cost::Problem& problem, const SearchOptions& options,
                 const std::vector<UnitStructure>& structures, const std::vector<SweepSpace>& spaces,
                 core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), units_(planning_units(problem.graph)) {
    for (const SweepSpace& space : spaces)
      for (const StageChoices& choices : SearchList(problem, options, space).all())
        for (UnitStructure structure : structures) searches_.push_back({choices, structure});
    if (std::find(structures.begin(), structures.end(), UnitStructure::series_parallel) != structures.end())
      tree_ = tree_of(problem, units_, stop);
  }

  SearchResult run() {
    std::vector<std::optional<SweepCandidate>> found(searches_.size());
    std::vector<std::uint64_t> rows(searches_.size());
    std::vector<PipelineFlow> flows;
    for (const SweepSearch& search : searches_) flows.push_back(search.flow());
    double give_up = std::numeric_limits<double>::infinity();
    for (const auto& round : rounds(flows)) {
      const core::Seconds to_beat = fastest_.seconds();
      core::parallel_in_order(round.size(), [&](std::size_t n) {
        const std::size_t i = round[n];
        if (!hopeless(problem_, options_, flows[i], to_beat))
          found[i] = search(searches_[i], give_up, rows[i]);
      });
      if (found.back()) give_up = bound_by(*found.back());
    }
    return best(found, rows);
  }

 private:
  double estimated(const plan::Plan& plan) const { return score::estimate(problem_, plan).iteration.value(); }

  struct SweepSearch {
    StageChoices choices;
    UnitStructure structure;
    /// Flow of its plans; of several sizes the largest.
    PipelineFlow flow() const {
      const bool pinned = choices.micro_batches.size() == 1 && choices.replicas.size() == 1;
      return {choices.micro_batches.back(), pinned ? choices.replicas.front() : 0};
    }
  };

  /// Upper bound on the seconds per sample of the slowest stage of a faster plan; infinite if the objective
  /// does not bound the estimate.
  double bound_by(const SweepCandidate& first) const {
    if (by_evaluation(options_) || mixed(problem_.cluster) || !bounds_estimate(searches_.back().choices))
      return std::numeric_limits<double>::infinity();
    return first.iteration / static_cast<double>(problem_.training.mini_batch);
  }

  UnitArrangement arrangement(const SweepSearch& search) const {
    if (search.structure != UnitStructure::series_parallel) return arrange_in_row(units_.operators.size());
    return arrange(tree_, unit_faces(problem_, units_, search.choices));
  }

  /// Returns nothing if no plan fits, or if none was found in time.
  std::optional<SweepCandidate> search(const SweepSearch& search, double give_up, std::uint64_t& rows) {
    try {
      stop_.check();
      return search_on(search, give_up, rows);
    } catch (const core::LimitHit&) {
      late_ = true;
      return std::nullopt;
    }
  }

  std::optional<SweepCandidate> search_on(const SweepSearch& search, double give_up, std::uint64_t& rows) {
    const UnitArrangement arranged = arrangement(search);
    const StageTable table(problem_, units_, arranged, search.choices, stop_);
    const auto bottleneck = least_bottleneck(arranged, table, stop_, give_up);
    if (!bottleneck) return std::nullopt;
    rows = bottleneck->rows;
    SweepCandidate out{assemble(problem_, table, bottleneck->stages, search.structure == UnitStructure::row),
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

  /// Evaluates in-flight counts and iteration time, as far as the deadline allows.
  void judge(SweepCandidate& candidate, int k) const {
    plan::Plan tightened = candidate.plan;
    try {
      stop_.check();
      if (k > 1 && options_.evaluate)  // with k > 1 the in-flight rule is safe, but not tight
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
    if (std::isfinite(options_.give_up.value()))
      throw core::Infeasible("no plan computes for less time than the search allows");
    for (const SweepSearch& search :
         searches_)  // the smallest micro-batch that can occupy all devices needs the least memory
      if (const auto reason = obstacle(problem_, units_, arrangement(search), search.choices,
                                       search.structure != UnitStructure::series_parallel, stop_))
        throw core::Infeasible(*reason);
    throw core::Infeasible(
        fmt::format("no plan uses exactly {} devices with micro-batches of up to {} samples",
                    problem_.cluster.size(), searches_.back().choices.micro_batches.back()));
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  std::vector<SweepSearch> searches_;
  UnitGraph units_;
  graph::SpTree tree_;
  LeastSoFar fastest_;                     ///< fastest plan found by any search
  mutable std::atomic<bool> late_{false};  ///< some search was stopped early; searches run in parallel
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
            "depth, less one, so that they are hidden; or what turns out faster"),
      choose_by_option(),
      number("max_replicas", 0, 0, std::int64_t{1} << 20,
             "most replicas of a stage; 1: pipelines without data parallelism, 0: no limit")};
  return options;
}

namespace {

/// Spaces given by a planner's own options, one for each in-flight rule to try.
std::vector<SweepSpace> spaces(const char* planner, const SearchOptions& options) {
  using schedule::InFlight;
  const OwnValues own(planner, sweep_options(), options.own);
  SweepSpace space{
      {{}, {}, options.k}, free_flows(own.word(kChooseBy)), static_cast<int>(own.number("max_replicas"))};
  space.rules.objective = own.word("objective") == "sum" ? StageTimeRule::sum : StageTimeRule::longer;
  space.rules.reduced = own.word("all_reduce") == "per_iteration" ? ReduceFrequency::per_iteration
                                                                  : ReduceFrequency::per_micro_batch;
  std::vector<SweepSpace> out;
  for (const auto& [word, in_flight] :
       {std::pair{"depth", InFlight::depth}, std::pair{"hide_transfers", InFlight::hide_transfers}}) {
    if (own.word("in_flight") != word && own.word("in_flight") != "either") continue;
    out.push_back(space);
    out.back().rules.in_flight = in_flight;
  }
  return out;
}

}  // namespace

SearchResult sweep(const char* planner, const cost::Problem& problem, const SearchOptions& options,
                   const std::vector<UnitStructure>& structures, core::StopToken stop) {
  return StructureSweep(problem, options, structures, spaces(planner, options), stop).run();
}

}  // namespace penstock::planners
