#pragma once
// Results as one picture for a paper: small multiples, in the look of the page's charts.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

enum class Quantity : std::uint8_t { throughput, memory, search_time };
const std::vector<std::string_view>& quantity_names();
Quantity quantity(std::string_view name);  ///< throws BadInput for an unknown name, with a hint

/// An SVG. A panel for each model on each cluster (and for each setting, where there are several): the
/// quantity over devices, over mini-batches where all rows have one count of devices, or as bars where both
/// are one. A line for each planner, of more than 12 the best. Search times are drawn by their logarithms.
/// Throws BadInput where no row has the quantity.
std::string results_chart_svg(std::span<const CellResult> rows, Quantity quantity, std::string_view title);

}  // namespace penstock::report
