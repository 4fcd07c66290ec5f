#pragma once
// Simulation of reinforcement-learning steps (GRPO, PPO). Generator and trainer take turns on the same GPUs, or each has its
// own and the generator's weights may be a number of steps old.

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/core/units.hpp"
#include "penstock/jobs/generator.hpp"

namespace penstock::jobs {

/// Treatment of running sequences when the trainer has new weights.
enum class WeightUpdate : std::uint8_t {
  in_flight,  ///< pause during the transfer and go on with the new weights
  drained,    ///< end with the old weights; no sequence starts until then, and the trainer waits
};
std::string_view name(WeightUpdate update);
const std::vector<std::string_view>& weight_update_names();

/// One job. Version v of the weights exists after v steps of the trainer. Sequences of batch k start once the generator has
/// version k - lag, and use the newest version that it has. The trainer takes batches in order.
struct RlSetting {
  DecodeRates rates;
  int instances = 1;
  int lag = 0;  ///< steps by which weights may be old: 0 is on-policy
  std::int64_t most_decoding =
      std::numeric_limits<std::int64_t>::max();  ///< samples at once, on all instances
  core::Seconds reward{};                        ///< per batch, on resources of its own, one batch at a time
  core::Seconds training{};                      ///< per batch, all that occupies the trainer
  core::Seconds transfer{};                      ///< of the weights, occupies trainer and generator
  WeightUpdate update = WeightUpdate::in_flight;
  std::vector<std::vector<std::int64_t>>
      lengths{};  ///< [step][sample], tokens; later batches begin with the first again
};

/// Means over the measured steps.
struct RlOutcome {
  core::Seconds step;
  core::Seconds generation;   ///< from a batch's first start to its last end
  double trainer_idle = 0;    ///< share of time that is neither training nor transfer
  double generator_idle = 0;  ///< share of the instances' time without sequences, except for transfers
  double staleness =
      0;  ///< updates between the weights at a sequence's start and those that its batch updates
};

/// Simulates `steps` steps after those that fill the pipeline, 2 lag + 4. Throws LimitHit or InterruptedError as
/// StopToken::check.
RlOutcome rl_steps(const RlSetting& setting, int steps, core::StopToken stop = {});

/// Time from the start to the last end of a single batch.
core::Picoseconds generation_time(const DecodeRates& rates, int instances,
                                  const std::vector<std::int64_t>& lengths, core::StopToken stop = {});

}  // namespace penstock::jobs
