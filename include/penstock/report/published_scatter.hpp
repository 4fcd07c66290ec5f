#pragma once
// Scatter plot of predictions and measurements of published runs.

#include <span>
#include <string>
#include <string_view>

#include "penstock/report/published_errors.hpp"

namespace penstock::report {

/// SVG of predicted over measured iteration times, both axes logarithmic in seconds. It has a dot per run in
/// its set's colour, sets in order of appearance with their mean error, the diagonal, and dashed lines at
/// +-20 %. `title` is the heading. Precondition: at least one prediction.
std::string published_scatter_svg(std::span<const PublishedPrediction> predictions, std::string_view title);

}  // namespace penstock::report
