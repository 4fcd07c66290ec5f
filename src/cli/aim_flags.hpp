#pragma once
// Objective that a search minimises.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "penstock/experiment/aim.hpp"

namespace penstock::cli {

/// --aim NAME, and parameters of some aims: --perturbation FILE, --seed N, --seeds N; --slower PERCENT.
class AimFlags {
 public:
  void add(CLI::App& command);
  /// Aim for this cluster. Throws a usage error where an aim lacks a flag that it needs, or has one that it
  /// does not use.
  experiment::AimSetting setting(const cluster::Cluster& cluster) const;

 private:
  void check() const;

  std::string aim_ = "time", perturbation_;
  std::uint64_t seed_ = 0;
  std::size_t seeds_ = experiment::kUsualSeeds;
  double slower_ = experiment::kUsuallySlower;
  CLI::Option* slower_option_ = nullptr;
};

}  // namespace penstock::cli
