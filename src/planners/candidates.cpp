#include "candidates.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>

#include "least_so_far.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/score/validate.hpp"
#include "sweep.hpp"

namespace penstock::planners {

using core::Bytes;

bool fits(const cost::Problem& problem, const plan::Plan& plan) {
  return score::stage_violations(problem, plan).empty() && score::fits_memory(problem, plan);
}

Bytes fullest_need(const cost::Problem& problem, const plan::Plan& plan) {
  const auto rank = plan::rank_of_stage(plan);
  std::vector<Bytes> need(plan.stages.size());
  const auto memories = score::stage_memories(problem, plan);
  for (std::size_t s = 0; s < need.size(); ++s)
    need[static_cast<std::size_t>(rank[s])] += plan::total(memories[s]);
  return *std::max_element(need.begin(), need.end());
}

void fail_on(const cost::Problem& problem, const plan::Plan& plan) {
  const auto violations = score::violations(problem, plan);
  core::require(!violations.empty(), "a plan without faults is a plan");
  if (const auto rules = score::rule_violations(problem, plan); !rules.empty())
    throw core::Infeasible("no plan keeps the rules: " + rules.front());
  throw core::Infeasible("no plan fits: even with the least memory " + violations.front());
}

namespace {

/// Indices of candidates with a time, fastest first.
std::vector<std::size_t> by_seconds(const std::vector<PlanCandidate>& found) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].seconds) out.push_back(i);
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return *found[a].seconds < *found[b].seconds; });
  return out;
}

/// Samples that a replica of the first stage takes at a time.
std::int64_t replica_samples(const plan::Plan& plan) {
  const plan::Stage& first = plan.stages.front();
  return cost::samples_per_device(first.micro_batch, first.replicas());
}

/// Indices of the `most` fastest candidates of each micro-batch size, fastest first. A search with a fixed
/// size has the same leading candidates, so it cannot beat a free search.
std::vector<std::size_t> leading_by_size(const std::vector<PlanCandidate>& found, std::size_t most) {
  std::vector<std::size_t> out;
  std::map<std::int64_t, std::size_t> taken;  // [samples of a replica]
  for (const std::size_t i : by_seconds(found))
    if (taken[replica_samples(*found[i].plan)]++ < most) out.push_back(i);
  return out;
}

struct CandidateBound {
  double at_least;  ///< lower bound in seconds
  std::size_t candidate;
  friend auto operator<=>(const CandidateBound&, const CandidateBound&) = default;
};

/// Candidates in order of their lower bounds, so that later ones may need no evaluation.
std::vector<CandidateBound> most_promising(const std::vector<PlanCandidate>& found,
                                           const std::vector<std::size_t>& chosen,
                                           const SearchOptions& options) {
  std::vector<CandidateBound> out(chosen.size());
  core::parallel_for(chosen.size(), [&](std::size_t i) {
    out[i] = {evaluated_at_least(options, *found[chosen[i]].plan).value(), chosen[i]};
  });
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

bool evaluate_leading(std::vector<PlanCandidate>& found, const SearchOptions& options, std::size_t most,
                      core::StopToken stop) {
  const bool alike = std::all_of(found.begin(), found.end(),
                                 [](const PlanCandidate& c) { return c.seconds.value_or(0) == 0; });
  const auto chosen = leading_by_size(found, most);
  const auto order = most_promising(found, chosen, options);
  std::vector<std::optional<double>> seconds(found.size());
  LeastSoFar least;
  std::atomic<std::size_t> done = 0;
  core::parallel_in_order(order.size(), [&](std::size_t i) {
    const CandidateBound& promise = order[i];
    try {
      stop.check();
      if (!(promise.at_least > least.seconds().value())) {  // strictly less: among equals the first must win
        const core::Seconds here = evaluated(options, *found[promise.candidate].plan, least.seconds());
        seconds[promise.candidate] = here.value();
        least.lower(here);
      }
      ++done;
    } catch (const core::LimitHit&) {
    }
  });
  const bool any = least.seconds().value() < std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < found.size() && (any || alike); ++i) {
    found[i].late = found[i].late || (found[i].seconds && !any);
    found[i].seconds = seconds[i];
  }
  return done == chosen.size();
}

bool in_time(const std::vector<PlanCandidate>& found) {
  return std::none_of(found.begin(), found.end(), [](const PlanCandidate& c) { return c.late; });
}

PlanCandidate& winner(const cost::Problem& problem, std::vector<PlanCandidate>& found, core::StopToken stop) {
  const auto best = by_seconds(found);
  if (!best.empty()) return found[best.front()];
  if (!in_time(found)) stop.give_up();
  const auto thriftier = [&](const PlanCandidate& a, const PlanCandidate& b) {
    return fullest_need(problem, *a.plan) < fullest_need(problem, *b.plan);
  };
  fail_on(problem, *std::min_element(found.begin(), found.end(), thriftier)->plan);
}

}  // namespace penstock::planners
