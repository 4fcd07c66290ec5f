#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <tuple>

#include "assemble.hpp"
#include "obstacle.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/series_parallelize.hpp"
#include "penstock/plan/faults.hpp"
#include "penstock/schedule/in_flight_search.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::planners {

using core::BadInput;

std::vector<std::int64_t> micro_batch_sizes(const cost::Problem& problem, const SearchOptions& options) {
  const std::int64_t mini_batch = problem.training.mini_batch;
  if (const auto fault = plan::mini_batch_fault(problem.graph, mini_batch)) throw BadInput(*fault);
  const auto handled = [&](std::int64_t b) {  // see plan::structural_faults
    return 2 * (mini_batch / b) * static_cast<std::int64_t>(problem.cluster.size()) <= plan::kMostPasses;
  };
  if (options.micro_batch) {
    if (*options.micro_batch < 1 || mini_batch % *options.micro_batch != 0)
      throw BadInput(
          fmt::format("micro-batch {} does not divide the mini-batch {}", *options.micro_batch, mini_batch));
    if (!handled(*options.micro_batch))
      throw BadInput(
          fmt::format("micro-batch {} splits the mini-batch into too many passes", *options.micro_batch));
    return {*options.micro_batch};
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 1; b <= mini_batch && mini_batch % b == 0; b *= 2)
    if (handled(b)) sizes.push_back(b);
  if (sizes.empty())
    throw BadInput(
        fmt::format("no power of two splits the mini-batch {} into few enough passes", mini_batch));
  return sizes;
}

Verdict judged(const SearchOptions& options, const plan::Plan& plan, core::Seconds estimate) {
  if (!by_evaluation(options)) return {false, estimate};
  try {
    return {false, options.evaluate(plan)};
  } catch (const core::LimitHit&) {
    return {true, estimate};
  }
}

bool until_limit(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<bool> complete{true};
  core::parallel_for(count, [&](std::size_t i) {
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

/// Each entry is searched on its own: one size for all stages; with sizes per stage also all sizes up to each
/// one, since the bottleneck alone would always favour the largest and leave no pipeline.
std::vector<Choices> searches(const cost::Problem& problem, const SearchOptions& options) {
  if (options.k < 1) throw BadInput("k must be at least 1");
  const auto sizes = micro_batch_sizes(problem, options);
  const auto replicas = replica_counts(static_cast<int>(problem.cluster.size()), options.any_degree);
  std::vector<Choices> out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (options.per_stage_micro_batch && i > 0)
      out.push_back(
          {{sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1}, replicas, options.k});
    out.push_back({{sizes[i]}, replicas, options.k});
  }
  return out;
}

graph::SpTree tree_of(const cost::Problem& problem, const Units& units, const Choices& choices) {
  if (auto tree = graph::decompose(units.dag)) return std::move(*tree);
  std::vector<double> weights;
  for (const auto& unit : units.operators)
    weights.push_back(cost::compute_time(problem, unit, problem.cluster.type(core::DeviceId(0)),
                                         choices.micro_batches.back())
                          .total()
                          .value());
  return graph::make_series_parallel(units.dag, weights).tree;
}

/// There a bottleneck, which takes the slowest type for all, does not bound the estimate from below.
bool mixed(const cluster::Cluster& cluster) {
  return std::any_of(cluster.devices().begin(), cluster.devices().end(), [&](const cluster::Device& device) {
    return device.type != cluster.devices().front().type;
  });
}

struct Candidate {
  plan::Plan plan;
  double bottleneck = 0;
  double iteration = 0;
  bool judged = true;  ///< false: the deadline left no time for the evaluation, `iteration` is an estimate
};

class Sweep {
 public:
  Sweep(const cost::Problem& problem, const SearchOptions& options, const std::vector<Structure>& structures,
        core::StopToken stop)
      : problem_(problem), options_(options), stop_(stop), units_(planning_units(problem.graph)) {
    for (const Choices& choices : searches(problem, options))
      for (Structure structure : structures) searches_.push_back({choices, structure});
    if (std::find(structures.begin(), structures.end(), Structure::series_parallel) != structures.end())
      tree_ = tree_of(problem, units_, searches_.back().choices);
  }

  SearchResult run() {
    std::vector<std::optional<Candidate>> found(searches_.size());
    std::vector<std::uint64_t> rows(searches_.size());
    // The largest size goes first: it is the most efficient, and what it attains lets the others give up
    // early.
    const std::size_t first = searches_.size() - 1;
    found[first] = search(searches_[first], std::numeric_limits<double>::infinity(), rows[first]);
    if (found[first] && found[first]->judged) to_beat_ = core::Seconds(found[first]->iteration);
    const double give_up = found[first] && !by_evaluation(options_) && !mixed(problem_.cluster)
                               ? found[first]->iteration / static_cast<double>(problem_.training.mini_batch)
                               : std::numeric_limits<double>::infinity();
    core::parallel_for(first, [&](std::size_t i) { found[i] = search(searches_[i], give_up, rows[i]); });
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
  std::optional<Candidate> search(const Search& search, double give_up, std::uint64_t& rows) const {
    try {
      stop_.check();
      return search_on(search, give_up, rows);
    } catch (const core::LimitHit&) {
      late_ = true;
      return std::nullopt;
    }
  }

  std::optional<Candidate> search_on(const Search& search, double give_up, std::uint64_t& rows) const {
    const Arrangement arranged = arrangement(search);
    const StageTable table(problem_, units_, arranged, search.choices);
    const auto bottleneck = least_bottleneck(arranged, table, stop_, give_up);
    if (!bottleneck) return std::nullopt;
    rows = bottleneck->rows;
    Candidate out{assemble(problem_, table, bottleneck->stages, search.structure == Structure::row),
                  bottleneck->seconds_per_sample, 0};
    if (!bottleneck->complete) {
      late_ = true;
      if (!score::faults(problem_, out.plan).empty()) return std::nullopt;
    }
    if (hopeless(out.plan)) return std::nullopt;
    judge(out, search.choices.k);
    return out;
  }

  /// Not worth an evaluation.
  bool hopeless(const plan::Plan& plan) const {
    return by_evaluation(options_) && options_.at_least && to_beat_ && options_.at_least(plan) >= *to_beat_;
  }

  /// In-flight counts and iteration time by evaluation, as far as the deadline allows.
  void judge(Candidate& candidate, int k) const {
    plan::Plan tightened = candidate.plan;
    try {
      stop_.check();
      if (k > 1 && options_.evaluate)  // there the in-flight rule is only safe, not tight
        schedule::search_in_flight(tightened,
                                   [&](const plan::Plan& p) { return to_picoseconds(options_.evaluate(p)); });
      candidate.iteration =
          by_evaluation(options_) ? options_.evaluate(tightened).value() : estimated(tightened);
      candidate.plan = std::move(tightened);
    } catch (const core::LimitHit&) {
      late_ = true;
      candidate.judged = false;
      candidate.iteration = estimated(candidate.plan);
    }
  }

  /// An evaluation counts more than an estimate.
  static bool better(const Candidate& a, const Candidate& b) {
    return std::tuple(!a.judged, a.iteration) < std::tuple(!b.judged, b.iteration);
  }

  SearchResult best(std::vector<std::optional<Candidate>>& found,
                    const std::vector<std::uint64_t>& rows) const {
    std::optional<Candidate>* chosen = nullptr;
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
  std::optional<core::Seconds> to_beat_;   ///< by evaluation of the first search
  mutable std::atomic<bool> late_{false};  ///< some search was cut short; searches run side by side
};

}  // namespace

SearchResult sweep(const cost::Problem& problem, const SearchOptions& options,
                   const std::vector<Structure>& structures, core::StopToken stop) {
  return Sweep(problem, options, structures, stop).run();
}

}  // namespace penstock::planners
