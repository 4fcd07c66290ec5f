#pragma once
// Results as one picture for a paper: small multiples, in the style of the page's charts.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

enum class ChartQuantity : std::uint8_t { throughput, memory, search_time };
const std::vector<std::string_view>& quantity_names();
ChartQuantity quantity(std::string_view name);  ///< throws BadInput for an unknown name, with a hint

/// SVG with a panel for each model on each cluster (and for each setting, if there are several). It shows the
/// quantity over devices, over mini-batches if all rows have one device count, or as bars if both are
/// constant. Each planner has a line; of more than 12 only the best. Search times have a logarithmic axis.
/// Throws BadInput if no row has the quantity.
std::string results_chart_svg(std::span<const CellResult> rows, ChartQuantity quantity,
                              std::string_view title);

}  // namespace penstock::report
