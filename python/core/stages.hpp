#pragma once
// Stages as Python states them: mappings with the keys of a plan file.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <string>

#include "values.hpp"

namespace penstock::python {

using StageList = nanobind::object;

/// Bytes by the name of their kind.
std::map<std::string, std::int64_t> by_kind(const plan::MemoryByKind& memory);

}  // namespace penstock::python
