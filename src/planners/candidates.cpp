#include "candidates.hpp"

#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::planners {

using core::Bytes;

bool fits(const cost::Problem& problem, const plan::Plan& plan) {
  return score::faults(problem, plan).empty();
}

Bytes fullest_need(const cost::Problem& problem, const plan::Plan& plan) {
  const auto rank = plan::rank_of_stage(plan);
  std::vector<Bytes> need(plan.stages.size());
  for (std::size_t s = 0; s < need.size(); ++s)
    need[static_cast<std::size_t>(rank[s])] +=
        plan::total(score::stage_memory(problem, plan, core::StageId(s)));
  return *std::max_element(need.begin(), need.end());
}

void fail_on(const cost::Problem& problem, const plan::Plan& plan) {
  const auto faults = score::faults(problem, plan);
  core::require(!faults.empty(), "a plan without faults is a plan");
  throw core::Infeasible("no plan fits: even with the least memory " + faults.front());
}

namespace {

/// By their numbers: at most `most` candidates, those of least seconds.
std::vector<std::size_t> leading(const std::vector<Candidate>& found, std::size_t most) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].seconds) out.push_back(i);
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return *found[a].seconds < *found[b].seconds; });
  out.resize(std::min(out.size(), most));
  return out;
}

}  // namespace

bool evaluate_leading(std::vector<Candidate>& found, const SearchOptions& options, std::size_t most,
                      core::StopToken stop) {
  const auto chosen = leading(found, most);
  std::vector<std::optional<double>> seconds(found.size());
  core::parallel_for(chosen.size(), [&](std::size_t i) {
    try {
      stop.check();
      seconds[chosen[i]] = options.evaluate(*found[chosen[i]].plan).value();
    } catch (const core::LimitHit&) {
    }
  });
  const auto judged =
      std::count_if(seconds.begin(), seconds.end(), [](const auto& s) { return s.has_value(); });
  for (std::size_t i = 0; i < found.size() && judged > 0; ++i) found[i].seconds = seconds[i];
  return judged == static_cast<std::ptrdiff_t>(chosen.size());
}

bool in_time(const std::vector<Candidate>& found) {
  return std::none_of(found.begin(), found.end(), [](const Candidate& c) { return c.late; });
}

Candidate& winner(const cost::Problem& problem, std::vector<Candidate>& found, core::StopToken stop) {
  const auto best = leading(found, 1);
  if (!best.empty()) return found[best.front()];
  if (!in_time(found)) stop.give_up();
  const auto thriftier = [&](const Candidate& a, const Candidate& b) {
    return fullest_need(problem, *a.plan) < fullest_need(problem, *b.plan);
  };
  fail_on(problem, *std::min_element(found.begin(), found.end(), thriftier)->plan);
}

}  // namespace penstock::planners
