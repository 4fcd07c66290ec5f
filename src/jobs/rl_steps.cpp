#include "penstock/jobs/rl_steps.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace penstock::jobs {
namespace {

constexpr std::array<std::string_view, 2> kUpdates = {"in_flight", "drained"};
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// A batch between its release and its training.
struct BatchProgress {
  std::int64_t missing;  ///< samples
  std::int64_t first_start = kNever, last_end = 0, rewarded = 0;
  std::int64_t staleness = 0;  ///< sum over samples
};

class RlSimulation {
 public:
  RlSimulation(const RlSetting& setting, int steps)
      : setting_(setting),
        generator_(setting.rates, setting.instances, setting.most_decoding),
        warm_(2 * setting.lag + 4),
        last_(warm_ + steps) {}

  RlOutcome run(core::StopToken stop) {
    release();
    while (version_ < last_) {
      stop.check();
      const auto end = generator_.next_end();
      const std::int64_t generator_at = end ? end->value() : kNever;
      now_ = std::min(generator_at, trainer_at_);
      generator_at <= trainer_at_ ? end_sequences() : end_trainer_state();
    }
    return outcome();
  }

 private:
  enum class TrainerState : std::uint8_t { waiting, training, draining, transferring };

  /// Totals since the start, taken at the end of a step.
  struct StepTotals {
    std::int64_t time = 0, trainer = 0, generator = 0, transfer = 0;
  };

  core::Picoseconds now() const { return core::Picoseconds(now_); }

  /// Queues the sequences of all batches for which the weights are new enough.
  void release() {
    for (; static_cast<std::int64_t>(batches_.size()) <= version_ + setting_.lag;) {
      const auto batch = static_cast<std::int64_t>(batches_.size());
      const auto& lengths = setting_.lengths[batches_.size() % setting_.lengths.size()];
      batches_.push_back({.missing = static_cast<std::int64_t>(lengths.size())});
      for (const std::int64_t tokens : lengths) generator_.enqueue(batch, tokens);
    }
    fill();
  }

  void fill() {
    generator_.fill(now(), [this](std::int64_t batch) {
      BatchProgress& started = batches_[static_cast<std::size_t>(batch)];
      started.first_start = std::min(started.first_start, now_);
      started.staleness += batch - version_;
    });
  }

  void end_sequences() {
    for (const std::int64_t batch : generator_.end_sequences())
      if (--batches_[static_cast<std::size_t>(batch)].missing == 0)
        batches_[static_cast<std::size_t>(batch)].last_end = now_;
    reward();
    fill();
    if (state_ == TrainerState::draining && generator_.empty()) begin_transfer();
  }

  /// Appends finished batches to the queue of the reward's resource, in order, and wakes the trainer for the next one.
  void reward() {
    for (; rewarded_ < batches_.size() && batches_[rewarded_].missing == 0; ++rewarded_) {
      BatchProgress& batch = batches_[rewarded_];
      const std::int64_t free = rewarded_ == 0 ? 0 : batches_[rewarded_ - 1].rewarded;
      batch.rewarded = std::max(now_, free) + core::to_picoseconds(setting_.reward).value();
    }
    if (state_ == TrainerState::waiting && static_cast<std::size_t>(version_) < rewarded_)
      trainer_at_ = std::max(now_, batches_[static_cast<std::size_t>(version_)].rewarded);
  }

  void end_trainer_state() {
    switch (state_) {
      case TrainerState::waiting:
        state_ = TrainerState::training;
        trainer_at_ = now_ + core::to_picoseconds(setting_.training).value();
        return;
      case TrainerState::training:
        totals_.trainer += core::to_picoseconds(setting_.training).value();
        state_ = TrainerState::draining;
        trainer_at_ = kNever;
        generator_.close();
        if (setting_.update == WeightUpdate::in_flight || generator_.empty()) begin_transfer();
        return;
      case TrainerState::draining:
        return;
      case TrainerState::transferring:
        end_step();
    }
  }

  void begin_transfer() {
    state_ = TrainerState::transferring;
    generator_.pause(now());
    trainer_at_ = now_ + core::to_picoseconds(setting_.transfer).value();
  }

  void end_step() {
    totals_.transfer += core::to_picoseconds(setting_.transfer).value();
    totals_.time = now_;
    ++version_;
    generator_.open();
    generator_.resume(now());
    totals_.generator = generator_.busy(now()).value();
    if (version_ == warm_) warm_totals_ = totals_;
    state_ = TrainerState::waiting;
    trainer_at_ = kNever;
    release();
    reward();
  }

  RlOutcome outcome() const {
    const auto time = static_cast<double>(totals_.time - warm_totals_.time),
               steps = static_cast<double>(last_ - warm_);
    const double transfer = static_cast<double>(totals_.transfer - warm_totals_.transfer) / time;
    RlOutcome out;
    out.step = core::to_seconds(core::Picoseconds(totals_.time - warm_totals_.time)) / steps;
    const auto idle = [&](std::int64_t busy, double of) {
      return std::max(0.0, 1 - static_cast<double>(busy) / (time * of) - transfer);
    };
    out.trainer_idle = idle(totals_.trainer - warm_totals_.trainer, 1);
    out.generator_idle = idle(totals_.generator - warm_totals_.generator, setting_.instances);
    std::int64_t generation = 0, staleness = 0, samples = 0;
    for (std::int64_t b = warm_; b < last_; ++b) {
      const BatchProgress& batch = batches_[static_cast<std::size_t>(b)];
      generation += batch.last_end - batch.first_start;
      staleness += batch.staleness;
      samples += static_cast<std::int64_t>(
          setting_.lengths[static_cast<std::size_t>(b) % setting_.lengths.size()].size());
    }
    out.generation = core::to_seconds(core::Picoseconds(generation)) / steps;
    out.staleness = static_cast<double>(staleness) / static_cast<double>(samples);
    return out;
  }

  const RlSetting& setting_;
  SequenceGenerator generator_;
  const std::int64_t warm_, last_;  ///< versions at which measuring begins and ends
  std::vector<BatchProgress> batches_;
  std::size_t rewarded_ = 0;  ///< batches that are in the reward's queue or behind it
  TrainerState state_ = TrainerState::waiting;
  std::int64_t now_ = 0, trainer_at_ = kNever;  ///< ps
  std::int64_t version_ = 0;  ///< of the generator's weights; the trainer works on this batch
  StepTotals totals_, warm_totals_;
};

}  // namespace

std::string_view name(WeightUpdate update) {
  return kUpdates[static_cast<std::size_t>(update)];
}

const std::vector<std::string_view>& weight_update_names() {
  static const std::vector<std::string_view> names(kUpdates.begin(), kUpdates.end());
  return names;
}

RlOutcome rl_steps(const RlSetting& setting, int steps, core::StopToken stop) {
  return RlSimulation(setting, steps).run(stop);
}

core::Picoseconds generation_time(const DecodeRates& rates, int instances,
                                  const std::vector<std::int64_t>& lengths, core::StopToken stop) {
  SequenceGenerator generator(rates, instances);
  for (const std::int64_t tokens : lengths) generator.enqueue(0, tokens);
  core::Picoseconds now{};
  const auto ignored = [](std::int64_t) {};
  generator.fill(now, ignored);
  for (auto end = generator.next_end(); end; end = generator.next_end()) {
    stop.check();
    now = *end;
    generator.end_sequences();
    generator.fill(now, ignored);
  }
  return now;
}

}  // namespace penstock::jobs
