#include "calibrate_command.hpp"

namespace penstock::cli {

void add_calibrate(CLI::App& app, Action& action) {
  auto* calibrate = app.add_subcommand(
      "calibrate", "Measure a device: kernels, links, whole models; or show and check what was measured.");
  calibrate->require_subcommand(0, 1);
  for (auto add : {add_calibrate_measure, add_calibrate_verify, add_calibrate_report, add_calibrate_coverage,
                   add_calibrate_cluster, add_calibrate_fit})
    add(*calibrate, action);
}

}  // namespace penstock::cli
