#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "families.hpp"
#include "own_options.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "pipedream/pipedream_levels.hpp"
#include "pipedream/pipedream_memory.hpp"
#include "smallest_memory.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;

/// Replica counts up to `most` that divide `turns`.
std::vector<int> dividing(std::int64_t turns, int most, bool any) {
  std::vector<int> out;
  for (int r = 1; r <= most; r = any ? r + 1 : 2 * r)
    if (turns % r == 0) out.push_back(r);
  return out;
}

struct PipedreamCandidate {
  plan::Plan plan;
  double seconds = 0;  ///< per micro-batch, by the planner's formula
  PlanVerdict verdict;
  std::vector<PlacedStage> placed;
};

/// Memory rule of the search; the resulting plans must fit in any case.
enum class MemoryRule {
  full,   ///< all of it, like score::violations
  stash,  ///< flag of the public optimizer: copies of weights and activations stashed for later stages
  none,
};

struct PipedreamVariant {
  PipedreamForm form = PipedreamForm::paper;
  MemoryRule memory = MemoryRule::full;
  bool straight = false;
  bool each_round = false;  ///< replicas reduce after each backward pass

  explicit PipedreamVariant(const OwnOptions& given) {
    const OwnValues own("pipedream", pipedream_options(), given);
    if (own.word("formula") == "code") form = PipedreamForm::code;
    if (own.word("memory") == "stash") memory = MemoryRule::stash;
    if (own.word("memory") == "none") memory = MemoryRule::none;
    straight = own.flag("straight");
    each_round = own.word("reduce") == "round";
  }
};

/// The search at one micro-batch size. Over nodes, the pipeline inside a node lacks the stages behind the
/// node, and so its in-flight counts. So memory is checked for the resulting plan, and only the search over
/// single devices includes it.
class PipedreamAtSize {
 public:
  PipedreamAtSize(const cost::Problem& problem, const SearchOptions& options, const PipedreamVariant& variant,
                  const ProblemCuts& cuts, const StashMemory& memory, std::int64_t samples,
                  core::StopToken stop)
      : problem_(problem),
        options_(options),
        variant_(variant),
        cuts_(cuts),
        samples_(samples),
        turns_(problem.training.mini_batch / samples),
        stop_(stop),
        states_(cuts.weighed(samples)),
        memory_(memory) {}

  /// Searches over nodes; if the plan does not fit, over devices side by side.
  std::optional<PipedreamCandidate> best() {
    if (auto found = over_nodes(); found && fits(found->placed)) return found;
    auto found = side_by_side(smallest_memory(problem_.cluster));
    return found && fits(found->placed) ? std::move(found) : std::nullopt;
  }
  std::optional<PipedreamCandidate> side_by_side(Bytes memory) {
    auto levels = flat_level(problem_.cluster);
    levels[0].replicas = dividing(turns_, levels[0].machines, options_.any_degree);
    PipedreamRules rules = this->rules();
    if (variant_.memory == MemoryRule::full)
      rules.fits = [this, memory](const StageUse& use) {
        return memory_.fits({use.first, use.last, use.machines, use.behind}, samples_, memory);
      };
    return search(levels, rules);
  }
  std::uint64_t states() const { return visited_; }

 private:
  PipedreamRules rules() const {
    PipedreamRules rules;
    rules.form = variant_.form;
    rules.straight = variant_.straight;
    rules.nested = true;
    rules.update_every = variant_.each_round ? 0 : static_cast<double>(turns_);
    if (variant_.memory == MemoryRule::stash)
      rules.fits = stash_rule(states_, static_cast<double>(smallest_memory(problem_.cluster).value()));
    return rules;
  }

  /// A stage's replicas at all levels together must divide the micro-batches; `inner` of them are within a
  /// node.
  std::optional<PipedreamCandidate> over_nodes() {
    auto levels = node_levels(problem_.cluster);
    if (levels.size() == 1) return std::nullopt;
    std::optional<PipedreamCandidate> best;
    std::set<std::vector<int>> seen;
    const auto shares = dividing(turns_, levels[0].machines, options_.any_degree);
    for (auto inner = shares.rbegin(); inner != shares.rend(); ++inner) {
      levels[0].replicas = dividing(*inner, *inner, options_.any_degree);
      levels[1].replicas = dividing(turns_ / *inner, levels[1].machines, options_.any_degree);
      if (!seen.insert(levels[1].replicas).second && !options_.any_degree) continue;
      auto found = search(levels, rules());
      if (found && (!best || found->seconds < best->seconds)) best = std::move(found);
    }
    return best;
  }

  std::optional<PipedreamCandidate> search(const std::vector<PipedreamLevel>& levels,
                                           const PipedreamRules& rules) {
    const auto found = pipedream_search(states_, levels, rules, stop_);
    if (!found) return std::nullopt;
    visited_ += found->states;
    auto placed = place(found->stages, levels);
    return PipedreamCandidate{assembled(placed), found->seconds, {}, placed};
  }

  plan::Plan assembled(const std::vector<PlacedStage>& stages) const {
    plan::Plan plan;
    plan.training = problem_.training;
    plan.schedule = "pipedream";
    for (const PlacedStage& placed : stages) {
      plan::Stage& stage = plan.stages.emplace_back();
      stage.operators = cuts_.operators(placed.first, placed.last);
      stage.devices = placed.devices;
      stage.micro_batch = samples_;
    }
    schedule::derive_in_flight(plan, plan::StageGraph(problem_.graph, plan));
    return plan;
  }

  bool fits(const std::vector<PlacedStage>& stages) const {
    const Bytes has = smallest_memory(problem_.cluster);
    std::int64_t behind = 0;
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
      const auto replicas = static_cast<std::int64_t>(stage->devices.size());
      if (!memory_.fits({stage->first, stage->last, replicas, behind}, samples_, has)) return false;
      behind += replicas;
    }
    return true;
  }

  const cost::Problem& problem_;
  const SearchOptions& options_;
  const PipedreamVariant& variant_;
  const ProblemCuts& cuts_;
  std::int64_t samples_, turns_;
  core::StopToken stop_;
  std::vector<CutState> states_;
  const StashMemory& memory_;
  std::uint64_t visited_ = 0;
};

/// Throws with the memory that a device would need for some plan.
[[noreturn]] void explain(const cost::Problem& problem, const SearchOptions& options,
                          const PipedreamVariant& variant, const ProblemCuts& cuts, const StashMemory& memory,
                          std::int64_t samples, core::StopToken stop) {
  PipedreamAtSize size(problem, options, variant, cuts, memory, samples, stop);
  constexpr Bytes kUnlimited(std::int64_t{1} << 56);
  if (!size.side_by_side(kUnlimited))
    throw core::Infeasible(fmt::format(
        "no pipeline of whole micro-batches in turn uses exactly {} devices with micro-batches of {} samples",
        problem.cluster.size(), samples));
  if (variant.memory != MemoryRule::full)
    throw core::Infeasible(
        "no plan that pipedream finds without counting all memory fits; memory=full looks for one that does");
  const Bytes has = smallest_memory(problem.cluster);
  Bytes low = has, high = has * 2;
  while (!size.side_by_side(high)) low = high, high = high * 2;
  while ((high - low).value() > has.value() / 1000 + 1) {
    const Bytes middle = low + (high - low) / 2;
    (size.side_by_side(middle) ? high : low) = middle;
  }
  throw core::Infeasible(
      fmt::format("no plan fits in memory: with weight stashing and micro-batches of {} samples a device "
                  "needs {}, it has {}: {} missing",
                  samples, core::show(high), core::show(has), core::show(high - has)));
}

double estimate(const PipedreamCandidate& candidate, const cost::Problem& problem, std::int64_t samples) {
  return candidate.seconds / static_cast<double>(samples) * static_cast<double>(problem.training.mini_batch);
}

void check(const SearchOptions& options) {
  if (options.per_stage_micro_batch) throw core::BadInput("pipedream: all stages have one micro-batch size");
  if (options.k != 1) throw core::BadInput("pipedream: k must be 1");
}

}  // namespace

const std::vector<PlannerOption>& pipedream_options() {
  static const std::vector<PlannerOption> options = {
      words("formula", {"paper", "code"},
            "cost of a stage as in the paper, or as the public optimizer computes it"),
      words("reduce", {"mini_batch", "round"},
            "how often the search counts an all-reduce: once per mini-batch, as plans run; or, as PipeDream "
            "trains and its optimizer counts, after every round in which each replica takes a micro-batch"),
      flag("straight", "no stage is replicated, as the optimizer's --straight_pipeline"),
      words("memory", {"full", "stash", "none"},
            "what the search counts: all, or only what is stashed for later stages, as the optimizer's "
            "memory flag; "
            "plans that do not fit are dropped"),
  };
  return options;
}

// Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP 2019, section 3.1,
// in the paper's form, at every micro-batch size. By default weights are updated once per mini-batch, so an
// all-reduce counts once for all its micro-batches. Differs: memory is a constraint (section 3.3 leaves it to
// the user). Replica counts divide the micro-batches (required by the runtime, ignored by the optimizer); the
// micro-batch size is chosen by simulation.
SearchResult pipedream(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  check(options);
  const PipedreamVariant variant(options.own);
  const auto sizes = replica_sizes(problem, options, "pipedream");
  const ProblemCuts cuts(problem, stop);
  const StashMemory memory(problem, cuts, stop);
  std::vector<std::optional<PipedreamCandidate>> found(sizes.size());
  std::vector<std::uint64_t> states(sizes.size());
  SearchResult out;
  out.complete = until_limit(sizes.size(), [&](std::size_t i) {
    stop.check();
    PipedreamAtSize at_size(problem, options, variant, cuts, memory, sizes[i], stop);
    found[i] = at_size.best();
    states[i] = at_size.states();
    if (found[i])
      found[i]->verdict =
          judged(options, found[i]->plan, core::Seconds(estimate(*found[i], problem, sizes[i])));
  });
  std::size_t best = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out.states += states[i];
    out.complete = out.complete && !(found[i] && found[i]->verdict.late);
    if (found[i] && (best == sizes.size() || found[i]->verdict < found[best]->verdict)) best = i;
  }
  if (best == sizes.size() && !out.complete) stop.give_up();
  if (best == sizes.size()) explain(problem, options, variant, cuts, memory, sizes.front(), stop);
  out.bottleneck = found[best]->seconds / static_cast<double>(sizes[best]);
  out.estimate = core::Seconds(estimate(*found[best], problem, sizes[best]));
  out.plan = std::move(found[best]->plan);
  return out;
}

}  // namespace penstock::planners
