// Schedules on their own, without a model or a cluster.

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "interruptible.hpp"
#include "penstock/experiment/timed_schedule.hpp"
#include "penstock/schedule/schedule_csv.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using experiment::TimedSchedule;

struct NamedSchedule {
  std::string name;
  std::shared_ptr<const TimedSchedule> timed;
};

constexpr std::size_t kColumns = 150;  ///< of the picture in letters

NamedSchedule make(const std::string& name, const experiment::ScheduleRequest& request) {
  experiment::ScheduleRequest asked = request;
  asked.name = name;
  return {name, interruptible([&](core::StopToken) {
            return std::make_shared<const TimedSchedule>(experiment::timed_schedule(asked));
          })};
}

std::string to_csv(const NamedSchedule& schedule) {
  if (schedule.timed->schedule.copies > 1)
    throw core::BadInput(schedule.name + ": a schedule file cannot tell the copies of the model apart");
  return schedule::to_csv(schedule.timed->schedule);
}

std::string to_json(const NamedSchedule& s) {
  return experiment::schedule_json(s.timed->schedule, s.timed->times, s.timed->style, s.timed->weights);
}

std::string text(const NamedSchedule& s) {
  const TimedSchedule& timed = *s.timed;
  return experiment::schedule_timeline(timed.schedule, timed.times, kColumns) + "\n" +
         experiment::schedule_summary(timed.schedule, timed.times, timed.style) +
         experiment::weights_line(timed.policy, timed.weights);
}

std::vector<double> peak_live(const NamedSchedule& s) {
  std::vector<double> out;
  for (const int stages : s.timed->times.peak_live) out.push_back(stages / s.timed->schedule.chunks());
  return out;
}

std::string svg(const NamedSchedule& s) {
  return experiment::timeline_svg(*s.timed, s.name);
}

void bind_request(nb::module_& m) {
  using experiment::ScheduleRequest;
  const auto shape = [](auto field) {
    return [field](ScheduleRequest& r, int value) { r.shape.*field = value; };
  };
  using schedule::ScheduleShape;
  nb::class_<ScheduleRequest>(m, "ScheduleRequest")
      .def(nb::init<>())
      .def("set_ranks", shape(&ScheduleShape::ranks))
      .def("set_chunks", shape(&ScheduleShape::chunks))
      .def("set_micro_batches", shape(&ScheduleShape::micro_batches))
      .def("set_group", shape(&ScheduleShape::group))
      .def("set_memory_limit", [](ScheduleRequest& r, int value) { r.shape.memory_limit = value; })
      .def_rw("forward", &ScheduleRequest::forward)
      .def_rw("backward_input", &ScheduleRequest::input_gradient)
      .def_rw("backward_weight", &ScheduleRequest::weight_gradient)
      .def_rw("recompute", &ScheduleRequest::recompute)
      .def_rw("step", &ScheduleRequest::step)
      .def_rw("latency", &ScheduleRequest::latency)
      .def_rw("lower", &ScheduleRequest::lower)
      .def_rw("text", &ScheduleRequest::text, nb::arg().none());
}

}  // namespace

void bind_schedules(nb::module_& m) {
  bind_request(m);
  nb::class_<NamedSchedule>(
      m, "Schedule", "The order of passes on every rank of a pipeline of equal stages, timed. Immutable.")
      .def_static(
          "from_lists",
          [](const nb::args& rows, const nb::kwargs& times) {
            return nb::module_::import_("penstock._schedules").attr("from_lists")(*rows, **times);
          },
          nb::sig("def from_lists(rows: collections.abc.Iterable[collections.abc.Iterable[str | None]], *, "
                  "name: str = "
                  "'lists', forward: float | str = '', backward_input: float | str = '', backward_weight: "
                  "float | "
                  "str = '', recompute: float | str = '', step: float | str = '', latency: float | str = '', "
                  "memory_limit: int | None = None, lower: bool = False) -> Schedule"),
          "A schedule of the caller's: a list of actions for each rank, such as \"0F0\", \"1I2\", \"3W1\", "
          "\"2B5\" "
          "(stage, kind, micro-batch) or None for a step without one, timed as penstock.schedule times a "
          "file. "
          "Raises BadInput naming rank and place, InvalidPlan for one that breaks rules.")
      .def_ro("name", &NamedSchedule::name)
      .def_prop_ro("ranks", [](const NamedSchedule& s) { return s.timed->schedule.ranks.size(); })
      .def_prop_ro(
          "chunks", [](const NamedSchedule& s) { return s.timed->schedule.chunks(); }, "Stages per rank.")
      .def_prop_ro(
          "unit", [](const NamedSchedule& s) { return s.timed->style.steps ? "step" : "s"; },
          "Unit of times: unit steps, or seconds.")
      .def_prop_ro(
          "makespan", [](const NamedSchedule& s) { return s.timed->style.number(s.timed->times.makespan); },
          "From the first start to the last end, in `unit`.")
      .def_prop_ro(
          "bubble", [](const NamedSchedule& s) { return s.timed->times.bubble_rate; },
          "Idle share of the longest rank's span, 0 to 1.")
      .def_prop_ro("peak_live", peak_live, "Largest number of full-stage activations of each rank.")
      .def("to_json", to_json, "The text that `penstock schedule --json` prints.")
      .def("to_csv", to_csv,
           "A schedule file, as torch.distributed.pipelining loads it. Raises BadInput for "
           "several copies of a model.")
      .def("svg", svg, "The timeline as a picture.")
      .def("_repr_svg_", svg)
      .def("__str__", text)
      .def("__repr__", [](const NamedSchedule& s) {
        return fmt::format("<penstock.Schedule {} on {} ranks: bubble {:.2f} %>", s.name,
                           s.timed->schedule.ranks.size(), s.timed->times.bubble_rate * 100);
      });
  m.def("schedule", make, "name"_a, "request"_a);
}

}  // namespace penstock::python
