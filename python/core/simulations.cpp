#include "simulations.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "interruptible.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/experiment/plan_sentences.hpp"
#include "penstock/report/perfetto.hpp"
#include "penstock/report/rows.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "rows.hpp"
#include "stages.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

void verify_trace(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                  const trace::Trace& trace, const sim::SimulationOptions& options) {
  const auto violations = check::trace_violations(problem, scheduled, trace, options);
  if (!violations.empty())
    throw core::Error(core::ExitCode::internal, "the simulation breaks a rule: " + violations.front());
}

/// One stage of a plan that was simulated.
struct SimulatedStage {
  std::vector<std::string> operators;
  std::vector<std::size_t> devices;
  plan::Stage stage;
  std::int64_t micro_batch = 0;
  plan::MemoryByKind memory{};
};

std::vector<SimulatedStage> stages(const Simulation& simulation) {
  const auto& graph = *simulation.about.model.graph;
  const plan::Plan& plan = *simulation.outcome.plan;
  const auto memories = score::stage_memories(simulation.about.problem(), plan);
  std::vector<SimulatedStage> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    SimulatedStage one{{}, {}, plan.stages[s], plan::samples_per_device(plan, plan.stages[s]), memories[s]};
    for (core::OpId op : one.stage.operators) one.operators.push_back(graph.op(op).name);
    for (core::DeviceId device : one.stage.devices) one.devices.push_back(device.index());
    out.push_back(std::move(one));
  }
  return out;
}

void bind_stage(nb::module_& m) {
  nb::class_<SimulatedStage>(m, "Stage", "Operators that devices run together. Immutable.")
      .def_ro("operators", &SimulatedStage::operators, "Names, in topological order.")
      .def_ro("devices", &SimulatedStage::devices,
              "Device numbers; those of a tensor-parallel group are consecutive.")
      .def_ro("micro_batch", &SimulatedStage::micro_batch, "Samples that a replica takes at a time.")
      .def_prop_ro(
          "replicas", [](const SimulatedStage& s) { return s.stage.replicas(); }, "Data-parallel degree.")
      .def_prop_ro("tensor_parallel", [](const SimulatedStage& s) { return s.stage.tensor_parallel; })
      .def_prop_ro("sequence_parallel", [](const SimulatedStage& s) { return s.stage.sequence_parallel; })
      .def_prop_ro(
          "zero", [](const SimulatedStage& s) { return s.stage.zero; }, "ZeRO stage, 0 to 3.")
      .def_prop_ro(
          "in_flight", [](const SimulatedStage& s) { return s.stage.in_flight; },
          "Samples between their forward and backward pass.")
      .def_prop_ro("recompute", [](const SimulatedStage& s) { return plan::written(s.stage.recompute); })
      .def_prop_ro(
          "memory_bytes", [](const SimulatedStage& s) { return by_kind(s.memory); },
          "Bytes of a device by kind.")
      .def("__repr__", [](const SimulatedStage& s) {
        return fmt::format("<penstock.Stage {} .. {} ({} operators) on {} devices>", s.operators.front(),
                           s.operators.back(), s.operators.size(), s.devices.size());
      });
}

/// Every span of the trace: what pandas is given.
report::TextRows spans(const Simulation& simulation) {
  report::TextRows out{
      {"kind", "device", "peer", "stage", "micro_batch", "start_s", "end_s", "bytes"}, {}, {}};
  const auto seconds = [](core::Picoseconds time) { return fmt::format("{}", to_seconds(time).value()); };
  for (const trace::Span& span : simulation.outcome.trace->spans)
    out.cells.push_back({std::string(name(span.kind)), std::to_string(span.device.index()),
                         span.peer.valid() ? std::to_string(span.peer.index()) : "",
                         std::to_string(span.stage.index()),
                         span.micro_batch < 0 ? "" : std::to_string(span.micro_batch), seconds(span.start),
                         seconds(span.end), std::to_string(span.bytes.value())});
  return out;
}

experiment::ReportExtras beside(const Simulation& simulation) {
  return {.explained = simulation.explained,
          .reached = simulation.reached,
          .what_if = simulation.what_if,
          .traffic = simulation.traffic,
          .free_order = simulation.free_order,
          .memory = true};
}

std::string text(const Simulation& s) {
  return experiment::plan_table(s.about.problem(), s.outcome, s.options, beside(s)) +
         in_python_words(s.about.assumptions()) + "\n";
}
std::string json(const Simulation& s) {
  experiment::ReportExtras all = beside(s);
  all.assumptions = s.about.assumptions();
  return experiment::plan_json(s.about.problem(), s.outcome, s.options, all);
}

/// Part of the JSON as Python values; of a key that is not there the other one.
nb::object part_of_json(const Simulation& simulation, const char* key, nb::object without) {
  return nb::module_::import_("json").attr("loads")(json(simulation)).attr("get")(key, without);
}

nb::object waterfall(const Simulation& s) {
  const auto found =
      sim::waterfall(s.about.problem(), *s.outcome.plan, trace::TraceByDevice(*s.outcome.trace), s.options);
  return nb::module_::import_("json").attr("loads")(experiment::to_json(found));
}

std::vector<std::int64_t> device_peaks(const Simulation& simulation) {
  std::vector<std::int64_t> out;
  for (const auto& device : simulation.outcome.summary->devices) out.push_back(device.peak.value());
  return out;
}

void add_what_if(const std::string& changes, core::StopToken stop, Simulation& simulation) {
  const Problem& about = simulation.about;
  const experiment::PlanInput input{*about.model.graph, about.costs, *about.cluster.cluster,
                                    *simulation.outcome.plan};
  sim::SimulationOptions options = simulation.options;
  options.stop = stop;
  simulation.what_if = experiment::what_if(input, experiment::what_if_changes(changes), options);
}

Simulation simulate(const Plan& plan, const std::optional<std::string>& schedule, const std::string& network,
                    const std::string& collective, const std::string& pass_collectives,
                    const std::string& communication, const SimulationParts& parts,
                    const std::optional<std::string>& what_if) {
  const SimulationSetting setting{network, collective, pass_collectives, communication};
  return interruptible([&](core::StopToken stop) {
    Simulation out = simulated(plan, schedule, setting, parts, stop);
    if (what_if) add_what_if(*what_if, stop, out);
    return out;
  });
}

}  // namespace

sim::SimulationOptions SimulationSetting::options() const {
  return {.network = sim::network_model(network),
          .collective = sim::collective(collective),
          .pass_collectives = sim::pass_collectives(pass_collectives),
          .message_order = sim::message_order(communication)};
}

Simulation simulated(const Plan& given, const std::optional<std::string>& schedule,
                     const SimulationSetting& setting, const SimulationParts& parts, core::StopToken stop) {
  plan::Plan plan = given.plan;
  if (schedule) experiment::reschedule(plan, *schedule);
  const cost::Problem problem = given.about.problem();
  experiment::complete(problem, plan, given.file);
  Simulation out{given.about, {}, setting.options(), {}};
  sim::SimulationOptions options = out.options;
  options.stop = stop;
  const auto scheduled = score::scheduled(problem, std::move(plan));
  experiment::Cell cell = given.about.cell();
  cell.planner.name = scheduled.plan.planner;
  out.outcome = experiment::evaluate(problem, scheduled, experiment::describe(problem, cell), options, true);
  if (parts.verify) verify_trace(problem, scheduled, *out.outcome.trace, out.options);
  if (parts.traffic) out.traffic = sim::traffic(problem, scheduled);
  out.free_order = experiment::free_order_time(problem, scheduled, options);
  if (parts.explain) out.explained = experiment::explained_run(problem, scheduled, options, out.outcome.row);
  return out;
}

namespace {

/// The sentences of `penstock explain`, by subject.
std::vector<std::pair<std::string, std::string>> sentences(const Plan& given) {
  return interruptible([&](core::StopToken stop) {
    const Simulation run = simulated(given, {}, {}, {}, stop);
    const experiment::PlanInput input{*given.about.model.graph, given.about.costs,
                                      *given.about.cluster.cluster, *run.outcome.plan};
    sim::SimulationOptions options = run.options;
    options.stop = stop;
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& each : experiment::plan_sentences(input, run.outcome, options).sentences)
      out.emplace_back(each.about, each.words);
    return out;
  });
}

}  // namespace

void bind_simulations(nb::module_& m) {
  bind_stage(m);
  nb::class_<Simulation>(m, "Simulation", "One simulated iteration of a plan. Immutable.")
      .def_prop_ro(
          "row", [](const Simulation& s) { return s.outcome.row; }, "The figures of the plan.")
      .def_prop_ro("problem", [](const Simulation& s) { return s.about; })
      .def_prop_ro(
          "iteration_s", [](const Simulation& s) { return *s.outcome.row.iteration_s; },
          "Seconds of an iteration.")
      .def_prop_ro("samples_per_s", [](const Simulation& s) { return *s.outcome.row.samples_per_s; })
      .def_prop_ro(
          "peak_memory_bytes", [](const Simulation& s) { return *s.outcome.row.peak_memory_bytes; },
          "Bytes of the fullest device.")
      .def_ro("reached", &Simulation::reached,
              "Result of a search with another aim than time; otherwise None.")
      .def_prop_ro("device_peak_bytes", device_peaks, "Peak memory of every device.")
      .def_prop_ro(
          "device_peaks", [](const Simulation& s) { return part_of_json(s, "device_peaks", nb::list()); },
          "Peak memory of every device: memory_bytes, at_s, moment (forward, backward, step, ...), by_kind.")
      .def_prop_ro("stages", stages)
      .def_prop_ro("waterfall", waterfall,
                   "Parts of the device time, from peak to MFU: iteration_ps, and parts with part, name, "
                   "time_ps, share, mfu_so_far, mfu_without.")
      .def_prop_ro(
          "what_if", [](const Simulation& s) { return part_of_json(s, "what_if", nb::list()); },
          "Results of simulate(what_if=...): the present plan, each change by itself, and all together.")
      .def_prop_ro(
          "traffic", [](const Simulation& s) { return part_of_json(s, "traffic", nb::list()); },
          "What every rank sends in an iteration, after simulate(traffic=True): devices, and rows with "
          "collective, among, ranks, count, bytes, sent_bytes.")
      .def_prop_ro(
          "next_best", [](const Simulation& s) { return part_of_json(s, "next_best", nb::list()); },
          "The next best plans of other kinds, after a search with `top`.")
      .def("to_json", json, "The text that `penstock simulate --json` prints.")
      .def("__str__", text)
      .def(
          "svg", [](const Simulation& s) { return experiment::timeline_svg(s.outcome); },
          "The timeline as a picture.")
      .def("_repr_svg_", [](const Simulation& s) { return experiment::timeline_svg(s.outcome); })
      .def("_repr_html_",
           [](nb::handle self) { return nb::module_::import_("penstock._show").attr("simulation")(self); })
      .def(
          "perfetto",
          [](const Simulation& s, const std::string& path) {
            report::write_perfetto(path, *s.outcome.trace, s.about.cluster.cluster.get());
          },
          "path"_a, "Writes a trace for ui.perfetto.dev; JSON if the name ends in .json.")
      .def(
          "to_csv", [](const Simulation& s) { return report::to_csv(spans(s)); },
          "Every task: kind, device, peer (of a transfer), stage, micro_batch, start_s, end_s, bytes.")
      .def(
          "to_pandas", [](const Simulation& s) { return to_pandas(report::to_csv(spans(s))); },
          "to_csv as a DataFrame. Raises ImportError without pandas.")
      .def("__repr__", [](const Simulation& s) {
        return fmt::format("<penstock.Simulation {}: {:.1f} samples/s, {:.6g} s per iteration>",
                           *s.outcome.row.strategy, *s.outcome.row.samples_per_s, *s.outcome.row.iteration_s);
      });
  m.def(
      "simulate",
      [](const Plan& plan, const std::optional<std::string>& schedule, const std::string& network,
         const std::string& collective, const std::string& pass_collectives, const std::string& communication,
         bool verify, bool explain, bool traffic, const std::optional<std::string>& what_if) {
        return simulate(plan, schedule, network, collective, pass_collectives, communication,
                        {verify, explain, traffic}, what_if);
      },
      "plan"_a, "schedule"_a.none(), "network"_a, "collective"_a, "pass_collectives"_a, "communication"_a,
      "verify"_a, "explain"_a, "traffic"_a, "what_if"_a.none());
  m.def("sentences", sentences, "plan"_a);
}

}  // namespace penstock::python
