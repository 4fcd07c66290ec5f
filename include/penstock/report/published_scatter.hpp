#pragma once
// A picture of predictions beside runs that others measured.

#include <span>
#include <string>
#include <string_view>

#include "penstock/report/published_errors.hpp"

namespace penstock::report {

/// Predicted over measured iteration times as SVG, both axes logarithmic in seconds: a dot per run in its
/// set's colour, sets in order of appearance with their mean error, the diagonal, and 20 % to either side of
/// it dashed. `title` stands above. At least one prediction.
std::string published_scatter_svg(std::span<const PublishedPrediction> predictions, std::string_view title);

}  // namespace penstock::report
