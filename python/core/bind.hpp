#pragma once
// The parts of the module; each registers the classes and functions of one idea.

#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_errors(nanobind::module_& m);
void bind_inputs(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
void bind_plans(nanobind::module_& m);
void bind_simulations(nanobind::module_& m);
void bind_schedules(nanobind::module_& m);
void bind_results(nanobind::module_& m);

}  // namespace penstock::python
