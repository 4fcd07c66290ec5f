#pragma once
// A calibration as one HTML page.

#include <string>
#include <utility>
#include <vector>

#include "penstock/cost/calibration.hpp"

namespace penstock::cli {

/// Titles and texts, as `penstock calibrate report` prints them; empty texts are left out.
using PageTexts = std::vector<std::pair<std::string, std::string>>;

/// Everything is in the file, nothing is fetched: the texts, and pictures of what was measured beside what
/// was fitted.
std::string calibration_page(const cost::Calibration& calibration, const PageTexts& texts);

}  // namespace penstock::cli
