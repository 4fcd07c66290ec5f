#include "calibrate_command.hpp"

namespace penstock::cli {

void add_calibrate(CLI::App& app, Action& action) {
  auto* calibrate = app.add_subcommand(
      "calibrate", "Show what a calibration of a device holds, and what of a model it covers.");
  calibrate->require_subcommand(1);
  for (auto add : {add_calibrate_report, add_calibrate_coverage}) add(*calibrate, action);
}

}  // namespace penstock::cli
