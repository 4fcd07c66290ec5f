#pragma once
// Answers about a reinforcement-learning job: step times, idle shares and staleness of every placement.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/experiment/rl_job.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// A placement and its steps. Idle shares of a colocated one are those of the shared GPUs.
struct RlChoice {
  RlPlacement placement;
  core::Seconds log_probabilities, critic, training;
  std::size_t lag = 0;                    ///< the job's; 0 of a colocated one
  std::vector<jobs::RlOutcome> by_lag{};  ///< [0 to `lag`, at least to 1]; a colocated one has only [0]
  const jobs::RlOutcome& outcome() const { return by_lag[lag]; }
};

struct RlAnswer {
  std::string job;                      ///< name of its file
  double tokens = 0;                    ///< mean length of the sequences
  RlChoice colocated;                   ///< on-policy, all GPUs in turns: what the others are compared with
  std::vector<RlChoice> choices{};      ///< placements of the job, fastest first; not empty
  std::vector<std::string> left_out{};  ///< splits for which there is no plan, with the reason
};

/// Time of one training step on a number of GPUs. Throws Infeasible without a plan.
using TrainingTime = std::function<core::Seconds(int gpus)>;

/// Simulates the placement of the job, or every split that its GPUs allow: the generator has whole instances and the trainer
/// the rest. `planned` is called if the job has `planned`. Throws Infeasible if there is no placement, and LimitHit or
/// InterruptedError as StopToken::check.
RlAnswer rl_answer(const RlJob& job, const std::string& name, const TrainingTime& planned,
                   core::StopToken stop);

std::string rl_table(const RlJob& job, const RlAnswer& answer, const report::ScreenLimits& screen = {});
std::string rl_json(const RlJob& job, const RlAnswer& answer, const report::Provenance& provenance);
/// Step time over the trainer's GPUs, on-policy and with the job's lag. Throws BadInput for a single split.
std::string rl_svg(const RlJob& job, const RlAnswer& answer);

}  // namespace penstock::experiment
