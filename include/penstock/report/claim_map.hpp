#pragma once
// Picture of where a claim holds, with every value it is made of.

#include <string>

#include "penstock/report/claims.hpp"

namespace penstock::report {

/// An SVG of the claim's map: one panel for each two values of `map->panels`, a field for each value of
/// `across` and `up`. In a field stands the claim's value before any reduction, above the claim's `even` on
/// orange, below on blue; a frame says that it lies in the paper's interval, widened by the tolerance.
/// Numbers on either axis ascend, other texts stand in the order of the rows. Throws BadInput as judge, and
/// for two values in one field.
std::string claim_map_svg(const Claim& claim, const Rows& rows);

/// File of the picture of a claim, counted from 0, beside claims.csv: "claim_1.svg" for the first.
std::string map_file(std::size_t claim);

}  // namespace penstock::report
