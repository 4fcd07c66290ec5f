#pragma once
// A failing problem made smaller.

#include "properties/property.hpp"

namespace penstock::properties {

/// A problem of which the property still fails, and of which no operator, device or setting can be left out
/// without that it holds. At most `tries` problems are tried.
ProblemSpec shrunk(ProblemSpec failing, const Property& property, int tries = 400);

/// The violation of the property by the spec: "" if it holds, does not concern the spec, or the spec cannot
/// be built.
std::string failure_of(const ProblemSpec& spec, const Property& property);

}  // namespace penstock::properties
