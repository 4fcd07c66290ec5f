// Rows of results: what a planner's plan is worth.

#include "rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/report/results.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using Row = report::CellResult;

/// The least and the most over stages.
template <std::optional<plan::ValueRange> Row::*Field>
std::optional<std::pair<std::int64_t, std::int64_t>> extent(const Row& row) {
  const auto& value = row.*Field;
  return value ? std::optional(std::pair(value->least, value->most)) : std::nullopt;
}

}  // namespace

nb::object to_pandas(const std::string& csv) {
  return nb::module_::import_("penstock._frames").attr("of_csv")(csv.c_str());
}

void bind_rows(nb::module_& m) {
  nb::class_<Row>(m, "Row",
                  "Figures of one planner's plan; None if it has no plan. Immutable. A pair is the smallest "
                  "and the largest over stages.")
      .def_ro("model", &Row::model)
      .def_ro("cluster", &Row::cluster)
      .def_ro("devices", &Row::devices)
      .def_ro("planner", &Row::planner)
      .def_ro("mini_batch", &Row::mini_batch, "Samples per iteration.")
      .def_ro("strategy", &Row::strategy, "The plan in one line.")
      .def_ro("pipeline_parallel", &Row::pipeline_parallel)
      .def_prop_ro("data_parallel", extent<&Row::data_parallel>)
      .def_prop_ro("tensor_parallel", extent<&Row::tensor_parallel>)
      .def_prop_ro("zero", extent<&Row::zero>, "ZeRO stage.")
      .def_ro("recompute", &Row::recompute, "Number of stages that recompute.")
      .def_prop_ro("micro_batch", extent<&Row::micro_batch>, "Samples that a replica takes at a time.")
      .def_ro("stages", &Row::stages, "Number of stages.")
      .def_ro("depth", &Row::depth, "Stages on the longest path.")
      .def_ro("schedule", &Row::schedule)
      .def_ro("estimate_s", &Row::estimate_s, "Seconds of an iteration that the planner expects.")
      .def_ro("iteration_s", &Row::iteration_s, "Seconds of the simulated iteration.")
      .def_ro("estimate_error", &Row::estimate_error, "estimate_s / iteration_s - 1.")
      .def_ro("lower_bound_s", &Row::lower_bound_s, "Lower bound in seconds for plans of the same family.")
      .def_ro("gap", &Row::gap, "iteration_s / lower_bound_s - 1.")
      .def_ro("samples_per_s", &Row::samples_per_s)
      .def_ro("tokens_per_s", &Row::tokens_per_s)
      .def_ro("tflops_per_device", &Row::tflops_per_device, "Model TFLOP/s, in the mean over devices.")
      .def_ro("mfu", &Row::mfu, "Model FLOPs utilisation, 0 to 1.")
      .def_ro("bubble", &Row::bubble, "Idle share of compute, 0 to 1.")
      .def_ro("peak_memory_bytes", &Row::peak_memory_bytes, "Bytes of the fullest device.")
      .def_ro("search_s", &Row::search_s, "Wall time of the search.")
      .def_ro("states", &Row::states, "Number of table rows that the planner computed.")
      .def_ro("search_memory_bytes", &Row::search_memory_bytes, "Growth of the process during the search.")
      .def_ro("costs", &Row::costs, "Origin of the operators' times.")
      .def_prop_ro(
          "doubts", [](const Row& row) { return experiment::doubts(row); },
          "Limits that the numbers break, each with its likely cause: MFU above 1, no time, a time below its "
          "bound. Empty if they are plausible.")
      .def_ro("status", &Row::status,
              "\"ok\", or the reason for no plan, or for a plan that may not be the best.")
      .def("__repr__", [](const Row& row) {
        return "<penstock.Row " + row.planner + ": " + row.strategy.value_or(row.status) + ">";
      });
}

}  // namespace penstock::python
