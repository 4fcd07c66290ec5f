#pragma once
// Plans that were both measured and simulated: the table that shows how far to trust a simulation.

#include <string>
#include <vector>

namespace penstock::report {

/// Iteration times of one plan, in seconds.
struct ValidationRow {
  std::string plan;
  double measured_s = 0;  ///< median
  double measured_low_s = 0, measured_high_s = 0;
  double simulated_s = 0;
  double error = 0;  ///< simulated_s / measured_s - 1
};

/// Parses CSV (RFC 4180) with the header plan,measured_s,measured_low_s,measured_high_s,simulated_s,error;
/// further columns are ignored. Throws BadInput naming file, line and key; times must be above zero.
std::vector<ValidationRow> parse_validation(const std::string& text, const std::string& file);

}  // namespace penstock::report
