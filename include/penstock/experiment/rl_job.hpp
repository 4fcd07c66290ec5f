#pragma once
// The file of a reinforcement-learning job (GRPO, PPO).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "penstock/core/yaml.hpp"
#include "penstock/jobs/rl_steps.hpp"
#include "penstock/sim/lengths.hpp"

namespace penstock::experiment {

/// Time of a part of the step, by the trainer's GPUs. Between two entries GPU-seconds are linear in the GPUs; below the first
/// and above the last they are constant.
struct GpuTimes {
  std::map<int, core::Seconds> by_gpus{};  ///< key 0: the time with any number of GPUs; the only entry
  std::optional<double> of_training{};     ///< in place of entries: a share of the training's time
  core::Seconds at(int gpus, core::Seconds training) const;
};

/// Training that a planner times for each number of GPUs.
struct PlannedTraining {
  std::string model, gpu;
  std::vector<std::string> parameters{};  ///< "key=value"
  std::string planner;
  std::int64_t mini_batch = 0;  ///< samples
  core::InputPlace place{};
};

/// GPUs of trainer and generator.
struct RlPlacement {
  bool colocated = false;  ///< both have all GPUs, in turns
  int trainer = 0, generator = 0;
};

struct RlJob {
  int gpus = 0;
  std::int64_t samples = 0;  ///< per step
  int lag = 0;
  int instance_gpus = 1;
  jobs::DecodeRates rates;
  sim::SequenceLengths lengths;
  std::optional<double> batches_at_once{};  ///< decoding samples over samples per step; none: max(1, lag)
  std::int64_t most_decoding(int at_lag) const;  ///< samples, with that lag
  int trainer_gpus = 1;                          ///< the trainer has a multiple of these
  GpuTimes log_probabilities{}, critic{}, training{};
  std::optional<PlannedTraining> planned{};  ///< in place of `training`
  core::Seconds reward{}, transfer{};
  jobs::WeightUpdate update = jobs::WeightUpdate::in_flight;
  std::optional<RlPlacement> placement{};  ///< none: every split that the GPUs allow
  int steps = 50;
  std::uint64_t seed = 0;
};

/// Reads a job. Throws BadInput with file, line and key.
RlJob read_rl_job(const core::Yaml& file);

/// Lengths of the sequences of a number of steps, [step][sample], from the job's seed.
std::vector<std::vector<std::int64_t>> drawn_lengths(const RlJob& job, int steps);

}  // namespace penstock::experiment
