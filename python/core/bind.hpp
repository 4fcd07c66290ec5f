#pragma once
// The parts of the module; each registers the classes and functions of one idea.

#include <nanobind/nanobind.h>
#include <nanobind/typing.h>

#include <exception>

namespace penstock::python {

/// Called every now and then while C++ works.
using Beat = nanobind::typed<nanobind::callable, nanobind::object()>;

void bind_errors(nanobind::module_& m);
/// A C++ exception as a Python value; None of none.
nanobind::object as_exception(const std::exception_ptr& thrown);
void bind_inputs(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
void bind_aims(nanobind::module_& m);
void bind_plans(nanobind::module_& m);
void bind_planners(nanobind::module_& m);
void bind_stages(nanobind::module_& m);
void bind_simulations(nanobind::module_& m);
void bind_schedules(nanobind::module_& m);
void bind_results(nanobind::module_& m);
void bind_experiments(nanobind::module_& m);
void bind_remote(nanobind::module_& m);
void bind_repeats(nanobind::module_& m);

}  // namespace penstock::python
