// Headers that most files of the module include, compiled once.

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include "penstock/experiment/compare.hpp"
#include "penstock/experiment/plan_report.hpp"
#include "penstock/experiment/run.hpp"
