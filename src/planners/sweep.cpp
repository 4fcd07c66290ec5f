#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "assemble.hpp"
#include "obstacle.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/series_parallelize.hpp"

namespace penstock::planners {
namespace {

using core::BadInput;

std::vector<std::int64_t> micro_batch_sizes(const cost::Problem& problem, const SearchOptions& options) {
  const std::int64_t mini_batch = problem.training.mini_batch;
  if (options.micro_batch) {
    if (*options.micro_batch < 1 || mini_batch % *options.micro_batch != 0)
      throw BadInput(fmt::format("micro-batch {} does not divide the mini-batch {}", *options.micro_batch, mini_batch));
    return {*options.micro_batch};
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 1; b <= mini_batch && mini_batch % b == 0; b *= 2) sizes.push_back(b);
  return sizes;
}

std::vector<int> replica_counts(int devices, bool any) {
  std::vector<int> counts;
  for (int r = 1; r <= devices; r = any ? r + 1 : r * 2) counts.push_back(r);
  return counts;
}

/// Each entry is searched on its own: one size for all stages, or all sizes at once.
std::vector<Choices> searches(const cost::Problem& problem, const SearchOptions& options) {
  if (options.k < 1) throw BadInput("k must be at least 1");
  const auto sizes = micro_batch_sizes(problem, options);
  const auto replicas = replica_counts(static_cast<int>(problem.cluster.size()), options.any_degree);
  if (options.per_stage_micro_batch) return {{sizes, replicas, options.k}};
  std::vector<Choices> out;
  for (std::int64_t b : sizes) out.push_back({{b}, replicas, options.k});
  return out;
}

graph::SpTree tree_of(const cost::Problem& problem, const Units& units, const Choices& choices) {
  if (auto tree = graph::decompose(units.dag)) return std::move(*tree);
  std::vector<double> weights;
  for (const auto& unit : units.operators)
    weights.push_back(cost::compute_time(problem, unit, problem.cluster.types().front(), choices.micro_batches.back())
                          .total()
                          .value());
  return graph::make_series_parallel(units.dag, weights).tree;
}

struct Candidate {
  plan::Plan plan;
  double bottleneck = 0;
  double iteration = 0;
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
    // The largest size goes first: it is the most efficient, and what it attains lets the others give up early.
    const std::size_t first = searches_.size() - 1;
    found[first] = search(searches_[first], std::numeric_limits<double>::infinity(), rows[first]);
    const double give_up = found[first] && !options_.evaluate
                               ? found[first]->iteration / static_cast<double>(problem_.training.mini_batch)
                               : std::numeric_limits<double>::infinity();
    core::parallel_for(first, [&](std::size_t i) { found[i] = search(searches_[i], give_up, rows[i]); });
    return best(found, rows);
  }

 private:
  struct Search {
    Choices choices;
    Structure structure;
  };

  Arrangement arrangement(const Search& search) const {
    if (search.structure != Structure::series_parallel) return arrange_in_row(units_.operators.size());
    return arrange(tree_, unit_faces(problem_, units_, search.choices));
  }

  std::optional<Candidate> search(const Search& search, double give_up, std::uint64_t& rows) const {
    const Arrangement arranged = arrangement(search);
    const StageTable table(problem_, units_, arranged, search.choices);
    const auto bottleneck = least_bottleneck(arranged, table, stop_, give_up);
    if (!bottleneck) return std::nullopt;
    rows = bottleneck->rows;
    Candidate out{assemble(problem_, table, bottleneck->stages, search.structure == Structure::row),
                  bottleneck->seconds_per_sample, 0};
    out.iteration = options_.evaluate
                        ? options_.evaluate(out.plan).value()
                        : score::estimate(problem_, out.plan, plan::StageGraph(problem_.graph, out.plan)).iteration.value();
    return out;
  }

  SearchResult best(std::vector<std::optional<Candidate>>& found, const std::vector<std::uint64_t>& rows) const {
    std::optional<Candidate>* chosen = nullptr;
    for (auto& candidate : found)
      if (candidate && (!chosen || candidate->iteration < (*chosen)->iteration)) chosen = &candidate;
    if (!chosen) explain();
    SearchResult out{std::move((*chosen)->plan), (*chosen)->bottleneck, 0};
    for (std::uint64_t n : rows) out.states += n;
    return out;
  }

  [[noreturn]] void explain() const {
    for (const Search& search : searches_)  // the smallest micro-batch that can occupy all devices needs least
      if (const auto reason = obstacle(problem_, units_, arrangement(search), search.choices, stop_))
        throw core::Infeasible(*reason);
    throw core::Infeasible(fmt::format("no plan uses exactly {} devices with micro-batches of up to {} samples",
                                       problem_.cluster.size(), searches_.back().choices.micro_batches.back()));
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  core::StopToken stop_;
  std::vector<Search> searches_;
  Units units_;
  graph::SpTree tree_;
};

}  // namespace

SearchResult sweep(const cost::Problem& problem, const SearchOptions& options, const std::vector<Structure>& structures,
                   core::StopToken stop) {
  return Sweep(problem, options, structures, stop).run();
}

}  // namespace penstock::planners
