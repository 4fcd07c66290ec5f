#pragma once
// Passes and messages of a plan whose samples are filled with sequences of different lengths.

#include <memory>
#include <vector>

#include "penstock/cost/buckets.hpp"
#include "penstock/cost/length_times.hpp"
#include "penstock/program/sharing.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// Times by the fill of samples, for all stages of a plan. They do not depend on the seed, so runs share
/// them. Thread-safe. Problem and plan must outlive it.
class FilledTimes {
 public:
  FilledTimes(const cost::Problem& problem, const plan::Plan& plan);
  std::int64_t sequence() const { return models_.sequence(); }
  /// Time of all operators of the stage.
  cost::StageTime pass(std::size_t stage, std::size_t replica, const layout::SampleFill& fill);
  /// [bucket of the stage's gradients] time.
  std::vector<cost::StageTime> pieces(std::size_t stage, std::size_t replica, const layout::SampleFill& fill);

 private:
  cost::ShorterModels models_;
  std::vector<std::unique_ptr<cost::LengthTimes>> passes_, pieces_;  ///< [stage]
};

/// Returns null if the options have no lengths.
std::shared_ptr<FilledTimes> filled_times(const cost::Problem& problem, const plan::Plan& plan,
                                          const SimulationOptions& options);

/// Fill of the samples of a run, for all its mini-batches in order.
class FilledSamples {
 public:
  FilledSamples(const cost::Problem& problem, const plan::Plan& plan, std::int64_t mini_batches,
                const SimulationOptions& options);
  layout::SampleFill fill(const program::SampleRange& samples) const;
  /// Bytes of a message between stages: `per_sample` for full samples, of which `moving` are over the
  /// sequence.
  core::Bytes bytes(core::Bytes per_sample, core::Bytes moving, const program::SampleRange& samples) const;

 private:
  std::int64_t sequence_;
  std::vector<std::int64_t> computed_;  ///< [sample] computed tokens of all samples before it
  std::vector<double> meetings_;        ///< [sample] attended tokens of all samples before it
};

}  // namespace penstock::sim
