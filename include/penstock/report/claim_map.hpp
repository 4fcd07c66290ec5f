#pragma once
// Picture of the region in which a claim holds, with all its values.

#include <string>

#include "penstock/report/claims.hpp"

namespace penstock::report {

/// SVG of the claim's map: one panel for each two values of `map->panels`, a field for each value of `across`
/// and `up`. A field shows the claim's value before any reduction: on orange above the claim's `even`, on
/// blue below. A frame marks values in the paper's interval, widened by the tolerance. Numbers on either axis
/// ascend; other texts keep the order of the rows. Throws BadInput like judge, and for two values in one
/// field.
std::string claim_map_svg(const Claim& claim, const TextRows& rows);

/// File name of a claim's picture, beside claims.csv; claims count from 0: "claim_1.svg" for the first.
std::string map_file(std::size_t claim);

}  // namespace penstock::report
