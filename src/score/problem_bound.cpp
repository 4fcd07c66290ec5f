#include "penstock/score/problem_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "least_all_reduce.hpp"
#include "least_times.hpp"
#include "most_at.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/training_state.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/ties.hpp"
#include "penstock/plan/violations.hpp"
#include "residency.hpp"

namespace penstock::score {
namespace {

using core::Bytes;

class ProblemBoundSearch {
 public:
  ProblemBoundSearch(const cost::Problem& problem, Reduction reduction, PlanFamily family,
                     const BoundCheck& check)
      : problem_(problem),
        family_(family),
        check_(check),
        samples_(static_cast<double>(problem.training.mini_batch)),
        times_(problem, family, check) {
    if (reduction == Reduction::closed_form && family != PlanFamily::zero) reduce_.emplace(problem.cluster);
    for (const graph::Parameter& parameter : problem.graph.all_parameters())
      if (parameter.tied()) lends_.insert(parameter.owner().index());
    way_ = longest_way(problem.graph, passes([&](std::size_t op) {
                         const LeastTimes& least = times_.over_all(op);
                         return PassTimes{least.forward, least.input_gradient,
                                          least.weight_gradient + update(op, problem.cluster.size())};
                       }));
  }

  ProblemBounds all() const {
    const double seconds[kProblemBoundKinds] = {work(),   way_.length,  operators(), replication(),
                                                memory(), relaxation(), resident()};
    constexpr double kRounding = 1 - 1e-9;
    ProblemBounds out{family_, {}};
    for (std::size_t k = 0; k < kProblemBoundKinds; ++k)
      out.by_kind[k] = {static_cast<ProblemBoundKind>(k), core::Seconds(seconds[k] * kRounding)};
    return out;
  }

 private:
  std::size_t size() const { return problem_.graph.size(); }
  Bytes weights(std::size_t op) const { return problem_.graph.parameter_bytes(core::OpId(op)); }
  Bytes all_weights() const { return Bytes(problem_.graph.parameters() * problem_.graph.element_bytes()); }
  std::vector<PassTimes> passes(auto&& of) const {
    std::vector<PassTimes> out;
    for (std::size_t op = 0; op < size(); ++op) out.push_back(of(op));
    return out;
  }

  static Bytes part(Bytes bytes, std::size_t parts) {
    const auto n = static_cast<std::int64_t>(parts);
    return Bytes((bytes.value() + n - 1) / n);
  }
  /// Seconds to update an operator's weights on one of this many devices.
  double update(std::size_t op, std::size_t devices) const {
    return times_.update(part(weights(op), family_ == PlanFamily::replicated ? 1 : devices));
  }
  double reduce(std::size_t replicas, Bytes bytes) const {
    return reduce_ ? reduce_->seconds(replicas, problem_.training.sent_gradients(bytes)) : 0;
  }
  /// Minimum time of the reduction. Other stages may take part if they share the operator's parameters.
  double reduce(std::size_t op, std::size_t replicas, Bytes bytes) const {
    double least = reduce(replicas, bytes);
    for (std::size_t r = replicas + 1; lends_.contains(op) && r <= problem_.cluster.size(); ++r)
      least = std::min(least, reduce(r, bytes));
    return least;
  }

  double work() const {
    double sum = times_.update_work(all_weights());
    for (std::size_t op = 0; op < size(); ++op) sum += samples_ * times_.over_all(op).work.all;
    return sum;
  }

  /// Bound for an operator with this many replicas, each with the maximum number of devices.
  double on(std::size_t op, std::size_t replicas) const {
    const std::size_t group = family_ == PlanFamily::tensor_parallel ? problem_.cluster.size() / replicas : 1;
    const double share = samples_ / static_cast<double>(replicas * group);
    const LeastTimes& least = times_.over_all(op);
    const double after = reduce(op, replicas, part(weights(op), group)) + update(op, replicas * group);
    return most_of_producers(problem_.graph, op, way_.down) +
           std::max(share * least.rate.all + after,
                    share * least.held_rate + most_of_producers(problem_.graph, op, way_.up));
  }
  double on_at_least(std::size_t op, std::size_t replicas) const {
    const std::size_t most =
        std::min(problem_.cluster.size(), static_cast<std::size_t>(problem_.training.mini_batch));
    double least = on(op, std::min(replicas, most));
    for (std::size_t r = replicas + 1; r <= most; ++r) least = std::min(least, on(op, r));
    return least;
  }
  double operators() const {
    double most = 0;
    for (std::size_t op = 0; op < size(); ++op) {
      if (check_) check_();
      most = std::max(most, on_at_least(op, 1));
    }
    return most;
  }
  double replication() const {
    const std::size_t replicas = (problem_.cluster.size() + size() - 1) / size();
    if (replicas < 2 || family_ == PlanFamily::tensor_parallel) return 0;
    double least = on_at_least(0, replicas);
    for (std::size_t op = 1; op < size(); ++op) least = std::min(least, on_at_least(op, replicas));
    return least;
  }

  /// Bytes on all devices without weights and their gradients and state.
  double left() const {
    Bytes all(0);
    for (std::size_t d = 0; d < problem_.cluster.size(); ++d)
      all += problem_.cluster.type(core::DeviceId(d)).memory;
    const Bytes held = cost::training_state(problem_);
    if (held > all)
      throw core::Infeasible(
          fmt::format("weights, gradients and optimizer state take {}, all devices together have {}",
                      core::show(held), core::show(all)));
    return static_cast<double>(std::max<std::int64_t>(1, (all - held).value()));
  }

  /// Bytes that all samples save for an operator's backward pass: without attention's core; of the core.
  struct SavedBytes {
    double rest, core;
  };
  SavedBytes kept(std::size_t op) const {
    const graph::Operator& known = problem_.graph.op(core::OpId(op));
    const Bytes core = std::min(known.saved_bytes, graph::core_bytes(known, problem_.graph.element_bytes()));
    const auto bytes = [&](Bytes activations) {
      return samples_ * static_cast<double>(activations.value() * problem_.memory.activation_copies);
    };
    return {bytes(known.saved_bytes - core), bytes(core)};
  }

  double memory() const {
    double byte_seconds = 0;
    for (std::size_t op = 0; op < size(); ++op) {
      const LeastTimes& least = times_.over_all(op);
      const auto [rest, core] = kept(op);
      byte_seconds += rest * (least.forward + least.input_gradient) + core * least.input_gradient;
    }
    return byte_seconds / left();
  }

  /// Bound `residency` on the path with the most work.
  double resident() const {
    const Way hardest = hardest_way();
    std::vector<std::vector<Stay>> kinds;
    std::vector<std::size_t> firsts;  // first of each set of equal operators
    std::vector<std::size_t> kind;    // [operator of the path] index of its set
    std::vector<Resident> way;
    double other = times_.update_work(all_weights());
    for (std::size_t op = 0; op < size(); ++op) {
      const LeastTimes& least = times_.over_all(op);
      if (hardest.steps[op].forward == 0) {
        other += samples_ * least.work.all;
        continue;
      }
      const auto same =
          std::ranges::find_if(firsts, [&](std::size_t first) { return times_.alike(first, op); });
      kind.push_back(static_cast<std::size_t>(same - firsts.begin()));
      if (same == firsts.end()) firsts.push_back(op), kinds.push_back(corners(times_.stays(op)));
      const auto [rest, core] = kept(op);
      way.push_back({nullptr, rest, core, times_.weighed(samples_ * least.forward_rate),
                     times_.weighed(samples_ * least.core_rate), least.input_gradient});
    }
    for (std::size_t k = 0; k < way.size(); ++k) way[k].choices = &kinds[kind[k]];
    return residency(way, other, left(), work(), check_);
  }

  /// Choices of a plan for each of a set of equal operators.
  struct Term {
    std::vector<Division> choices;
    double leads;  ///< Steps::leads
    double count = 1;
  };
  /// The Lagrangian with weight `down` for the way down and `up` for the way up, which is at most `down`.
  static double relaxed(const std::vector<Term>& terms, double down, double up) {
    double sum = 0;
    for (const Term& term : terms) {
      const double all = 1 - down, backward = term.leads * (down - up);
      double least = std::numeric_limits<double>::infinity();
      for (const Division& each : term.choices)
        least = std::min(
            least, all * each.work.all + backward * each.work.backward + down * each.down + up * each.up);
      sum += term.count * least;
    }
    return sum;
  }
  double relaxation(const std::vector<Steps>& steps, double last_update) const {
    std::vector<Term> terms;
    std::vector<std::size_t> firsts;  // first of each set of equal operators
    double leads_all = 1;
    for (std::size_t op = 0; op < size(); ++op) {
      if (check_) check_();
      if (weights(op).value() > 0) leads_all = std::min(leads_all, steps[op].leads);
      const auto same = std::ranges::find_if(
          firsts, [&](std::size_t first) { return steps[first] == steps[op] && times_.alike(first, op); });
      if (same != firsts.end()) {
        ++terms[static_cast<std::size_t>(same - firsts.begin())].count;
      } else {
        firsts.push_back(op);
        terms.push_back({times_.divisions(op, steps[op]), steps[op].leads});
      }
    }
    const double updates = times_.update_work(all_weights());
    terms.push_back({{{{updates, updates}, 0, last_update}}, leads_all});
    return most_at([&](double down) {
      if (check_) check_();
      return most_at([&](double of_it) { return relaxed(terms, down, down * of_it); });
    });
  }
  double relaxation(const Way& way) const {
    return relaxation(way.steps, update(way.end, problem_.cluster.size()));
  }
  Way hardest_way() const {
    return longest_way(problem_.graph, passes([&](std::size_t op) {
                         const double work = times_.over_all(op).work.all;
                         return PassTimes{work, work, work};
                       }));
  }
  double relaxation() const {
    const Way hardest = hardest_way();
    return std::max(
        {relaxation(way_), relaxation(hardest), relaxation(mean_way(problem_.graph, hardest.down), 0)});
  }

  const cost::Problem& problem_;
  PlanFamily family_;
  const BoundCheck& check_;
  double samples_;
  LeastTimesTable times_;
  std::optional<LeastAllReduce> reduce_;
  std::set<std::size_t> lends_;  ///< operators whose parameters others share
  Way way_;                      ///< by the minimum times
};

}  // namespace

std::string_view name(ProblemBoundKind kind) {
  constexpr std::string_view kNames[] = {"work",   "chain",      "operators", "replication",
                                         "memory", "relaxation", "residency"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(PlanFamily family) {
  constexpr std::string_view kNames[] = {"without ZeRO or tensor parallelism", "with ZeRO",
                                         "with tensor parallelism"};
  return kNames[static_cast<std::size_t>(family)];
}

PlanFamily family_of(const plan::Plan& plan) {
  PlanFamily family = PlanFamily::replicated;
  for (const plan::Stage& stage : plan.stages) {
    if (stage.replica_size() > 1 || stage.expert_parallel > 1) return PlanFamily::tensor_parallel;
    if (stage.zero > 0) family = PlanFamily::zero;
  }
  return family;
}

const ProblemBound& ProblemBounds::best() const {
  return *std::max_element(by_kind.begin(), by_kind.end(),
                           [](const ProblemBound& a, const ProblemBound& b) { return a.time < b.time; });
}

const ProblemBound& ProblemBounds::holds_for(const plan::Plan& plan) const {
  core::require(family_of(plan) <= family, "a plan is held to bounds of its family");
  return plan::asynchronous(plan) ? by_kind[static_cast<std::size_t>(ProblemBoundKind::work)] : best();
}

ProblemBounds problem_bounds(const cost::Problem& problem, Reduction reduction, PlanFamily family,
                             const BoundCheck& check) {
  if (const auto violation = plan::mini_batch_violation(problem.graph, problem.training.mini_batch))
    throw core::BadInput(*violation);
  return ProblemBoundSearch(problem, reduction, family, check).all();
}

ProblemBound bound_for(const cost::Problem& problem, const plan::Plan& plan, Reduction reduction,
                       const BoundCheck& check) {
  return problem_bounds(problem, reduction, family_of(plan), check).holds_for(plan);
}

}  // namespace penstock::score
