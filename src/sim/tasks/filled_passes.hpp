#pragma once
// Passes and messages of a plan whose samples are filled with sequences of unlike length.

#include <memory>
#include <vector>

#include "penstock/cost/buckets.hpp"
#include "penstock/cost/length_times.hpp"
#include "penstock/program/sharing.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// Times by what samples are filled with, of all stages of a plan; the seed does not show in them, so runs
/// share them. Safe to call from any thread. Problem and plan must outlive it.
class FilledTimes {
 public:
  FilledTimes(const cost::Problem& problem, const plan::Plan& plan);
  std::int64_t sequence() const { return models_.sequence(); }
  /// Of all of the stage's operators.
  cost::StageTime pass(std::size_t stage, std::size_t replica, const layout::Fill& fill);
  /// By bucket of the stage's gradients.
  std::vector<cost::StageTime> pieces(std::size_t stage, std::size_t replica, const layout::Fill& fill);

 private:
  cost::ShorterModels models_;
  std::vector<std::unique_ptr<cost::LengthTimes>> passes_, pieces_;  ///< [stage]
};

/// Null where the options have no lengths.
std::shared_ptr<FilledTimes> filled_times(const cost::Problem& problem, const plan::Plan& plan,
                                          const SimulationOptions& options);

/// What the samples of a run are filled with, those of all its mini-batches in a row.
class FilledSamples {
 public:
  FilledSamples(const cost::Problem& problem, const plan::Plan& plan, std::int64_t mini_batches,
                const SimulationOptions& options);
  layout::Fill fill(const program::Samples& samples) const;
  /// Of a message between stages: `per_sample` of full samples, `moving` of them over the sequence.
  core::Bytes bytes(core::Bytes per_sample, core::Bytes moving, const program::Samples& samples) const;

 private:
  std::int64_t sequence_;
  std::vector<std::int64_t> computed_;  ///< [sample] tokens of all before it
  std::vector<double> meetings_;        ///< likewise
};

}  // namespace penstock::sim
