// One plan simulated with many seeds.

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "interruptible.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/thread_limit.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/repeat.hpp"
#include "plan_state.hpp"
#include "simulations.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

/// A plan on a perturbed cluster.
struct PerturbedPlan {
  Plan plan;
  std::string file, text;  ///< of the perturbation
  SimulationSetting setting;
};
using State = std::tuple<PlanState, std::string, std::string, std::string, std::string, std::string>;

/// Seconds of an iteration with the seeds from `seed` on.
std::vector<double> times(const PerturbedPlan& repeat, std::uint64_t seed, std::size_t runs, int threads,
                          const Beat& beat) {
  sim::SimulationOptions options = repeat.setting.options();
  const auto found = interruptible(
      [&](core::StopToken stop) {
        const core::ThreadLimit limit(threads);
        const cost::Problem problem = repeat.plan.about.problem();
        const auto perturbation = sim::parse_perturbation(repeat.text, repeat.file, problem.cluster);
        options.perturbation = &perturbation;
        options.seed = seed;
        plan::Plan plan = repeat.plan.plan;
        experiment::complete(problem, plan, repeat.plan.file);
        return sim::repeat(problem, score::scheduled(problem, std::move(plan)), options, runs, stop);
      },
      [&] { beat(); });
  std::vector<double> out;
  for (const core::Picoseconds time : found) out.push_back(to_seconds(time).value());
  return out;
}

}  // namespace

void bind_repeats(nb::module_& m) {
  nb::class_<PerturbedPlan>(m, "Repeat", "A plan on a perturbed cluster. Immutable; can be pickled.")
      .def(
          "__init__",
          [](PerturbedPlan* self, const Plan& plan, const std::string& file, const std::string& network,
             const std::string& collective, const std::string& pass_collectives) {
            new (self)
                PerturbedPlan{plan, file, core::read_file(file), {network, collective, pass_collectives}};
          },
          "plan"_a, "perturbation"_a, "network"_a, "collective"_a, "pass_collectives"_a)
      .def("__getstate__",
           [](const PerturbedPlan& r) {
             return State(state_of(r.plan), r.file, r.text, r.setting.network, r.setting.collective,
                          r.setting.pass_collectives);
           })
      .def("__setstate__",
           [](PerturbedPlan& self, const State& state) {
             const auto& [plan, file, text, network, collective, pass_collectives] = state;
             new (&self) PerturbedPlan{plan_of(plan), file, text, {network, collective, pass_collectives}};
           })
      .def("times", times, "seed"_a, "runs"_a, "threads"_a, "beat"_a,
           "Seconds of an iteration with the seeds from `seed` on.");
}

}  // namespace penstock::python
