#pragma once
// Code shared by the sub-commands of `penstock calibrate`; one file per sub-command.

#include "command.hpp"

namespace penstock::cli {

/// `penstock calibrate` itself, without a sub-command of its own.
void add_calibrate_measure(CLI::App& calibrate, Action& action);
void add_calibrate_verify(CLI::App& calibrate, Action& action);
void add_calibrate_report(CLI::App& calibrate, Action& action);
void add_calibrate_coverage(CLI::App& calibrate, Action& action);
void add_calibrate_cluster(CLI::App& calibrate, Action& action);
void add_calibrate_fit(CLI::App& calibrate, Action& action);

}  // namespace penstock::cli
