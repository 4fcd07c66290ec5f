#pragma once
// Tables of data for Python.

#include <nanobind/nanobind.h>

#include <string>

namespace penstock::python {

/// A CSV text as pandas' DataFrame. Raises ImportError without pandas.
nanobind::object to_pandas(const std::string& csv);

}  // namespace penstock::python
