// Stages as Python states them: plans made of them, and what one costs and holds.

#include "stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bind.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

constexpr const char* kFile = "stages";
constexpr int kHeadLines = 5;

/// The plan file's rules for a stage hold for these too: each is on a line of its own of such a file.
plan::Plan parsed(const Problem& about, const StageList& stages, const std::string& schedule) {
  const auto lines =
      nb::cast<std::string>(nb::module_::import_("penstock._planners").attr("stage_lines")(stages));
  const std::string head =
      "penstock_plan: 1\nmodel: {name: model}\ncluster: {name: cluster, devices: 1}\n"
      "training: {mini_batch: 1}\nstages:\n";
  try {
    plan::Plan out = plan::parse_plan(head + (lines.empty() ? " []" : lines), kFile, *about.model.graph);
    out.model = about.model.ref;
    out.cluster = about.cluster.ref;
    out.training = about.training;
    out.schedule = schedule;
    return out;
  } catch (const core::BadInput& e) {
    const int stage = e.place().line - kHeadLines - 1;
    std::string what = e.what();
    for (const std::string& place :
         {fmt::format("{}:{}: ", kFile, e.place().line), fmt::format("stages[{}].", stage)})
      if (what.starts_with(place)) what.erase(0, place.size());
    throw core::BadInput(fmt::format("stage {}: {}", std::max(0, stage), what));
  }
}

Plan from_stages(const Problem& about, const StageList& stages, const std::string& schedule) {
  return {about, parsed(about, stages, schedule), "plan", nullptr};
}

/// A plan of one stage, which need not have all operators and devices.
plan::Plan lone_stage(const Problem& about, const StageList& stage) {
  plan::Plan out = parsed(about, stage, "1f1b");
  const graph::OpGraph& graph = *about.model.graph;
  auto violations = plan::part_violations(graph, *about.cluster.cluster, out);
  for (const auto& more : {layout::context_violations(graph, out), layout::expert_violations(graph, out)})
    if (violations.empty()) violations = more;
  if (!violations.empty())
    throw core::Error(core::ExitCode::invalid_plan,
                      fmt::format("the stage is not valid: {}", fmt::join(violations, "; ")));
  return out;
}

/// Seconds, by the formulas of planners (score::stage_terms, cost::stage_time).
struct StageCost {
  double forward = 0, backward = 0, recompute = 0, collectives = 0, communication = 0, reduce = 0, update = 0,
         per_sample = 0;
};

StageCost stage_cost(const Problem& about, const StageList& stage) {
  const plan::Plan plan = lone_stage(about, stage);
  const cost::Problem problem = about.problem();
  const plan::Stage& only = plan.stages.front();
  const auto time = cost::stage_time(problem, only, plan::samples_per_device(plan, only));
  const score::StageTerms terms = score::estimate(problem, plan).stages.front();
  const cost::OpTime total = time.total();
  StageCost out{total.forward.value(), total.backward().value(), total.recompute.value(),
                time.collectives.total().value()};
  out.communication = terms.communication * static_cast<double>(only.micro_batch);
  out.reduce = terms.reduce * static_cast<double>(plan.training.mini_batch);
  out.per_sample = terms.time_per_sample();
  for (std::size_t member = 0; member < static_cast<std::size_t>(only.replica_size()); ++member)
    out.update =
        std::max(out.update,
                 cost::step_time(problem, only, member, problem.cluster.type(only.devices[member])).value());
  return out;
}

std::map<std::string, std::int64_t> stage_memory(const Problem& about, const StageList& stage) {
  plan::Plan plan = lone_stage(about, stage);
  plan::Stage& only = plan.stages.front();
  if (only.in_flight == 0) only.in_flight = only.micro_batch;
  return by_kind(score::stage_memories(about.problem(), plan).front());
}

}  // namespace

std::map<std::string, std::int64_t> by_kind(const plan::MemoryByKind& memory) {
  std::map<std::string, std::int64_t> out;
  for (std::size_t k = 0; k < plan::kMemoryKinds; ++k)
    out[std::string(name(static_cast<plan::MemoryKind>(k)))] = memory[k].value();
  return out;
}

void bind_stages(nb::module_& m) {
  nb::class_<StageCost>(m, "StageCost", "Seconds of a stage on its slowest replica. Immutable.")
      .def_ro("forward_s", &StageCost::forward, "Forward pass of one micro-batch, collectives included.")
      .def_ro("backward_s", &StageCost::backward, "Backward pass of one micro-batch, collectives included.")
      .def_ro("recompute_s", &StageCost::recompute, "Recomputation before the backward pass.")
      .def_ro("collectives_s", &StageCost::collectives, "The collectives' part of these three times.")
      .def_ro(
          "communication_s", &StageCost::communication,
          "Transfers to and from other stages, for both passes of one micro-batch, beside the computation.")
      .def_ro("reduce_s", &StageCost::reduce,
              "Exposed sum of gradients after the last backward pass, once per iteration.")
      .def_ro("update_s", &StageCost::update, "The optimizer's update, once per iteration.")
      .def_ro("per_sample_s", &StageCost::per_sample,
              "Seconds per sample, of which planners minimise the slowest stage's: computation or "
              "communication, the longer of them, and reduce_s.")
      .def("__repr__", [](const StageCost& c) {
        return fmt::format(
            "<penstock.StageCost: {:.4g} s forward, {:.4g} s backward, {:.4g} s communication>", c.forward,
            c.backward, c.communication);
      });
  m.def("plan_from_stages", from_stages, "problem"_a, "stages"_a, "schedule"_a);
  m.def("stage_cost", stage_cost, "problem"_a, "stage"_a);
  m.def("stage_memory", stage_memory, "problem"_a, "stage"_a);
}

}  // namespace penstock::python
