#pragma once
// What a search makes least.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "penstock/experiment/aim.hpp"

namespace penstock::cli {

/// --aim NAME, and what some aims are told: --perturbation FILE, --seed N, --seeds N; --slower PERCENT.
class AimFlags {
 public:
  void add(CLI::App& command);
  /// For this cluster. Throws a usage error where an aim lacks what it needs, or is told what it has no use
  /// for.
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
