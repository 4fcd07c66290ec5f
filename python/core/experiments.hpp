#pragma once
// Experiment files and how they are run, as Python holds them.

#include <string>
#include <vector>

#include "penstock/experiment/run.hpp"

namespace penstock::python {

/// An experiment file, and what it was read from.
struct Experiment {
  std::string text, path;
  experiment::Overrides overrides;
  experiment::Spec spec;
};

/// Where results go, and whose they are.
struct RunSetting {
  std::string folder, cache, command;
  std::vector<std::string> only;

  /// With the provenance of this process, now.
  experiment::RunOptions options() const;
};

}  // namespace penstock::python
