// Times of one plan.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "penstock/check/trace_violations.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/plan_pipeline.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/repeat.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/sim/waterfall.hpp"
#include "properties/property.hpp"

namespace penstock::properties {
namespace {

schedule::ScheduledPlan scheduled(const BuiltProblem& world) {
  return score::scheduled(world.problem(), plan_or_skip(world));
}

double seconds(const BuiltProblem& world, const sim::SimulationOptions& options = {}) {
  return to_seconds(sim::simulate_time(world.problem(), scheduled(world), options)).value();
}

/// Seconds of the unchanged plan on a changed problem.
double seconds_on(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
}
double seconds_on(const BuiltProblem& world, const cluster::Cluster& cluster) {
  return seconds_on({world.graph(), cluster, world.costs(), world.spec().training}, plan_or_skip(world));
}

/// A world with another cluster; its plan must be valid too.
template <class Change>
double seconds_with(const BuiltProblem& world, const Change& change) {
  ProblemSpec spec = world.spec();
  change(spec);
  const BuiltProblem other(spec);
  return seconds(other);
}

void analytic_only(const BuiltProblem& world) {
  if (world.spec().costs != CostsKind::analytic) throw NotConcerned();
}

/// All that takes time, `factor` times as fast.
void speed_up(ClusterSpec& c, double factor) {
  c.flops *= factor, c.bandwidth *= factor, c.link *= factor, c.uplink *= factor;
  c.launch /= factor, c.link_latency /= factor, c.uplink_latency /= factor;
}

std::string memo_changes_nothing(const BuiltProblem& world) {
  const double plain = seconds(world);
  cost::StageMemo memo;
  cost::Problem problem = world.problem();
  memo.serve(problem);
  for (int turn = 0; turn < 2; ++turn)
    if (auto bad = equal(plain, seconds_on(problem, plan_or_skip(world)), "without and with a memo", 0);
        !bad.empty())
      return bad;
  return equal(score::estimate(world.problem(), plan_or_skip(world)).iteration.value(),
               score::estimate(problem, plan_or_skip(world)).iteration.value(),
               "estimate without and with a memo", 0);
}

std::string verified(const BuiltProblem& world, const sim::SimulationOptions& options) {
  const auto order = scheduled(world);
  const auto trace = sim::simulate(world.problem(), order, options);
  const auto violations = check::trace_violations(world.problem(), order, trace, options);
  return violations.empty() ? "" : violations.front();
}

std::string waterfall_sums(const BuiltProblem& world) {
  const auto waterfall = sim::waterfall(world.problem(), scheduled(world));
  core::Picoseconds sum;
  for (const core::Picoseconds part : waterfall.time) {
    if (part < core::Picoseconds(0)) return "a part is below zero";
    sum += part;
  }
  return sum == waterfall.iteration ? "" : "parts do not sum to the iteration";
}

double mfu(const BuiltProblem& world) {
  const double rate = static_cast<double>(world.spec().training.mini_batch) / seconds(world);
  return cost::utilisation(world.graph(), world.cluster(), rate).mfu;
}

std::string path_tiles(const BuiltProblem& world) {
  const auto why = sim::explain(world.problem(), scheduled(world), {}, 0);
  core::Picoseconds at(0);
  for (const auto& entry : why.path) {
    if (entry.start != at) return "the path has a gap";
    at = entry.end;
  }
  return at == why.run ? "" : "the path does not end with the run";
}

std::string shares_sum(const BuiltProblem& world) {
  const auto why = sim::explain(world.problem(), scheduled(world), {}, 0);
  double sum = 0;
  for (const auto& share : why.shares) sum += share.share;
  return equal(sum, 1, "shares of the path", 1e-9);
}

/// Without a flush an iteration is what later mini-batches add, and the first ones count among the busy time.
std::string busy_within_iteration(const BuiltProblem& world) {
  if (plan::asynchronous(plan_or_skip(world))) throw NotConcerned();
  const auto summary = sim::simulate_summary(world.problem(), scheduled(world));
  for (const auto& device : summary.devices)
    if (auto bad = not_above(device.busy.value(), summary.iteration.value(), "a device is busy");
        !bad.empty())
      return bad;
  return "";
}

std::string devices_renumbered(const BuiltProblem& world) {
  const plan::Plan& plan = plan_or_skip(world);
  const ClusterSpec& c = world.spec().cluster;
  if (c.nodes != 2) throw NotConcerned();
  plan::Plan turned = plan;
  const auto each = static_cast<std::size_t>(c.devices), all = 2 * each;
  for (plan::Stage& stage : turned.stages)
    for (core::DeviceId& device : stage.devices) device = core::DeviceId((device.index() + each) % all);
  return equal(seconds(world), seconds_on(world.problem(), turned), "two equal nodes in turn", 1e-9);
}

std::string seeds_agree(const BuiltProblem& world) {
  const auto order = scheduled(world);
  for (const core::Picoseconds time : sim::repeat(world.problem(), order, {}, 3))
    if (auto bad = equal(seconds(world), to_seconds(time).value(), "unperturbed", 0); !bad.empty())
      return bad;
  return "";
}

std::string against_agrees(const BuiltProblem& world) {
  const double time = seconds(world);
  const auto at = core::to_picoseconds(core::Seconds(time * 2));
  return equal(time, to_seconds(sim::simulate_time_against(world.problem(), scheduled(world), at)).value(),
               "a time to beat that is slower", 0);
}

std::string larger_mini_batch(const BuiltProblem& world) {
  if (plan::asynchronous(plan_or_skip(world))) throw NotConcerned();
  const double twice = seconds_with(world, [](ProblemSpec& s) { s.training.mini_batch *= 2; });
  return not_above(seconds(world), twice, "an iteration, and one of twice the samples");
}

std::string fewer_bytes(const BuiltProblem& world) {
  const plan::Plan& plan = plan_or_skip(world);
  plan::Plan less = plan;
  less.training.compression = {0.5, 0.5};
  const cost::Problem problem{world.graph(), world.cluster(), world.costs(), less.training};
  return not_above(score::estimate(problem, less).iteration.value(),
                   score::estimate(world.problem(), plan).iteration.value(),
                   "estimate with compressed messages");
}

}  // namespace

std::vector<Property> of_simulation() {
  using sim::NetworkModel;
  std::vector<Property> out = {
      {"time_is_of_the_trace", "the time alone is that of the trace",
       [](const BuiltProblem& w) {
         return equal(seconds(w), to_seconds(sim::simulate(w.problem(), scheduled(w)).iteration).value(),
                      "time", 0);
       }},
      {"summary_is_of_the_trace", "the summary's iteration is that of the trace",
       [](const BuiltProblem& w) {
         return equal(seconds(w), sim::simulate_summary(w.problem(), scheduled(w)).iteration.value(), "time",
                      0);
       }},
      {"memo_changes_nothing", "times with and without a memo of stages are equal", memo_changes_nothing},
      {"verifier_accepts_fair", "the verifier accepts the trace on a fair network",
       [](const BuiltProblem& w) { return verified(w, {}); }},
      {"verifier_accepts_fifo", "the verifier accepts the trace on a fifo network",
       [](const BuiltProblem& w) { return verified(w, {.network = NetworkModel::fifo}); }},
      {"verifier_accepts_collectives", "the verifier accepts collectives that travel over links",
       [](const BuiltProblem& w) {
         return verified(w, {.collective = sim::collective("automatic"),
                             .pass_collectives = sim::PassCollectives::links});
       }},
      {"problem_bound_below", "no bound of the problem is above the simulated time",
       [](const BuiltProblem& w) {
         return not_above(score::bound_for(w.problem(), plan_or_skip(w)).time.value(),
                          seconds(w) + rounding(plan_or_skip(w)), "bound", 0);
       }},
      {"plan_bound_below", "no bound of the plan is above the simulated time",
       [](const BuiltProblem& w) {
         const auto bound = score::lower_bound(w.problem(), plan_or_skip(w));
         if (!bound) throw NotConcerned();
         return not_above(to_seconds(bound->time).value(), seconds(w), "bound", 0);
       }},
      {"least_iteration_below", "the quick bound is not above the simulated time",
       [](const BuiltProblem& w) {
         return not_above(
             score::least_iteration(w.problem(), plan_or_skip(w), score::ReductionTiming::closed_form)
                 .value(),
             seconds(w), "bound", 0);
       }},
      {"estimate_is_a_time", "estimates are finite and above zero",
       [](const BuiltProblem& w) -> std::string {
         const double time = score::estimate(w.problem(), plan_or_skip(w)).iteration.value();
         return std::isfinite(time) && time > 0 ? "" : fmt::format("estimate {}", time);
       }},
      {"waterfall_sums", "parts of device time sum to the iteration, none below zero", waterfall_sums},
      {"waterfall_begins_with_mfu", "the model's share of the waterfall is the MFU",
       [](const BuiltProblem& w) {
         const double share = sim::waterfall(w.problem(), scheduled(w)).share(sim::TimePart::model);
         if (w.spec().costs != CostsKind::analytic) throw NotConcerned();  // which are never above the peak
         return equal(share, mfu(w), "share and MFU", 1e-5);
       }},
      {"mfu_at_most_one", "no plan computes above the devices' peak",
       [](const BuiltProblem& w) {
         analytic_only(w), plan_or_skip(w);
         return not_above(mfu(w), 1, "MFU");
       }},
      {"path_tiles_the_run", "the critical path has neither gaps nor overlaps", path_tiles},
      {"path_shares_sum", "shares of the critical path sum to one", shares_sum},
      {"busy_within_iteration", "no device is busy for longer than the iteration", busy_within_iteration},
      {"equal_nodes_in_turn", "which of two equal nodes comes first changes nothing", devices_renumbered},
      {"unperturbed_seeds_agree", "without a perturbation all seeds give one time", seeds_agree},
      {"time_to_beat_agrees", "a time to beat that is slower changes nothing", against_agrees},
      {"larger_mini_batch_is_not_faster", "twice the samples take as long or longer", larger_mini_batch},
      {"compression_estimates_no_slower", "fewer bytes are not estimated to take longer", fewer_bytes},
      {"times_scale", "everything twice as fast takes half the time",
       [](const BuiltProblem& w) {
         analytic_only(w);
         if (w.spec().cluster.runtime != "") throw NotConcerned();
         const double half = seconds_with(w, [](ProblemSpec& s) { speed_up(s.cluster, 2); });
         return equal(seconds(w), 2 * half, "time, and twice that of a cluster twice as fast");
       }},
      {"faster_network_estimates_no_slower", "a faster network is not estimated to take longer",
       [](const BuiltProblem& w) {
         ProblemSpec spec = w.spec();
         spec.cluster.link *= 2, spec.cluster.uplink *= 2;
         const BuiltProblem other(spec);
         return not_above(score::estimate(other.problem(), plan_or_skip(other)).iteration.value(),
                          score::estimate(w.problem(), plan_or_skip(w)).iteration.value(), "estimate");
       }},
      {"faster_network_is_not_slower", "twice the bandwidth takes as long or less where no messages meet",
       [](const BuiltProblem& w) {
         if (w.spec().plan.ranks > 2 || w.spec().plan.chunks > 1) throw NotConcerned();  // Graham's anomalies
         const double fast =
             seconds_with(w, [](ProblemSpec& s) { s.cluster.link *= 2, s.cluster.uplink *= 2; });
         return not_above(fast, seconds(w), "time on a faster network");
       }},
      {"faster_devices_are_not_slower", "twice the FLOP/s takes as long or less on one rank",
       [](const BuiltProblem& w) {
         if (w.spec().plan.ranks > 1) throw NotConcerned();
         analytic_only(w);
         const double fast = seconds_with(w, [](ProblemSpec& s) { s.cluster.flops *= 2; });
         return not_above(fast, seconds(w), "time on faster devices");
       }},
      {"slowed_kernels_are_slower", "kernels that take twice as long make no iteration shorter on one rank",
       [](const BuiltProblem& w) {
         if (w.spec().plan.ranks > 1) throw NotConcerned();
         return not_above(seconds(w), seconds_on(w, w.cluster().slowed_by(2)), "time");
       }},
      {"slowed_kernels_at_most_double", "kernels that take twice as long at most double the time of one rank",
       [](const BuiltProblem& w) {
         if (w.spec().plan.ranks > 1) throw NotConcerned();
         return not_above(seconds_on(w, w.cluster().slowed_by(2)), 2 * seconds(w), "time of slowed kernels");
       }},
      {"hosts_take_time", "a runtime makes no iteration of one rank shorter", [](const BuiltProblem& w) {
         if (w.spec().plan.ranks > 1 || w.spec().cluster.runtime.empty()) throw NotConcerned();
         return not_above(seconds_on(w, w.cluster().run_by({})), seconds(w), "time without a runtime");
       }}};
  return out;
}

}  // namespace penstock::properties
