#include "penstock/jobs/rl_steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Seconds;
using jobs::DecodeRates;
using jobs::RlOutcome;
using jobs::RlSetting;
using jobs::WeightUpdate;

namespace {

/// Two instances that take the 8 samples of a batch at once: a batch of 100 tokens per sample decodes for 100 x 4 / 40 = 10 s.
constexpr double kGeneration = 10;
RlSetting constant_setting(int lag, double reward, double training, double transfer) {
  RlSetting out{.rates = DecodeRates({{1, 20}, {4, 40}}), .instances = 2, .lag = lag};
  out.reward = Seconds(reward);
  out.training = Seconds(training);
  out.transfer = Seconds(transfer);
  out.lengths = {std::vector<std::int64_t>(8, 100)};
  return out;
}

RlSetting drawn_setting(core::Random& random, int lag) {
  RlSetting out = constant_setting(lag, random.unit() * 4, random.unit() * 20, random.unit() * 3);
  out.instances = random.between(1, 4);
  out.lengths.clear();
  for (int step = 0; step < 7; ++step) {
    out.lengths.emplace_back();
    for (int sample = 0; sample < 12; ++sample) out.lengths.back().push_back(random.between(1, 300));
  }
  return out;
}

}  // namespace

TEST_CASE("an on-policy step is the sum of its parts, to the picosecond") {
  core::Random random(1);
  for (int trial = 0; trial < 50; ++trial) {
    CAPTURE(trial);
    RlSetting setting = drawn_setting(random, 0);
    setting.update = trial % 2 == 0 ? WeightUpdate::in_flight : WeightUpdate::drained;
    const auto step =
        core::to_picoseconds(jobs::rl_steps(setting, 1).step);  // batch 4: four fill the pipeline
    const auto sum = jobs::generation_time(setting.rates, setting.instances, setting.lengths[4]) +
                     core::to_picoseconds(setting.reward) + core::to_picoseconds(setting.training) +
                     core::to_picoseconds(setting.transfer);
    CHECK(step == sum);
  }
}

TEST_CASE("one step off, a step is the longer of generation and training, and the transfer") {
  for (const WeightUpdate update : {WeightUpdate::in_flight, WeightUpdate::drained})
    for (const double training : {3.0, 10.0, 17.0})
      for (const double transfer : {0.0, 2.0}) {
        CAPTURE(training);
        CAPTURE(transfer);
        RlSetting setting = constant_setting(1, 0, training, transfer);
        setting.update = update;
        const RlOutcome out = jobs::rl_steps(setting, 12);
        const double step = std::max(kGeneration, training) + transfer;
        CHECK(out.step.value() == support::near(step));
        CHECK(out.trainer_idle + 1 == support::near(2 - (training + transfer) / step));
        CHECK(out.generator_idle + 1 == support::near(2 - (kGeneration + transfer) / step));
      }
}

TEST_CASE("a long reward bounds the step of one step off by half of the cycle") {
  // Version k - 1, generation of k, reward, training, transfer, version k + 1: two steps. Without a transfer nothing pauses.
  const RlOutcome out = jobs::rl_steps(constant_setting(1, 14, 8, 0), 12);
  CHECK(out.step.value() == support::near((kGeneration + 14 + 8) / 2));
  CHECK(jobs::rl_steps(constant_setting(2, 14, 8, 0), 12).step.value() == support::near(14));
}

TEST_CASE("staleness equals its closed form") {
  SUBCASE("on-policy: 0") {
    CHECK(jobs::rl_steps(constant_setting(0, 1, 12, 2), 12).staleness == 0);
  }
  SUBCASE("training is the longest part: the generator waits for version k - lag, so the lag") {
    for (int lag = 1; lag <= 4; ++lag)
      CHECK(jobs::rl_steps(constant_setting(lag, 1, 23, 2), 12).staleness == lag);
  }
  SUBCASE("generation is the longest part: updates that begin within the way from batch to weights") {
    // A step takes s = generation + transfer. Batch k starts when batch k - 1 ends. New weights come w = reward + training + transfer
    // after the end of their batch. The newest weights at the start of batch k are those of batch k - 1 - ceil(w / s), so they are
    // version k - ceil(w / s).
    for (const auto& [reward, training, transfer] :
         {std::tuple(0.0, 4.0, 1.0), {9.0, 3.0, 1.0}, {9.0, 9.0, 5.0}, {7.0, 2.0, 0.0}}) {
      const double way = reward + training + transfer;
      const double expected = std::ceil(way / (kGeneration + transfer));
      const RlOutcome out = jobs::rl_steps(constant_setting(4, reward, training, transfer), 12);
      CHECK(out.step.value() == support::near(kGeneration + transfer));
      CHECK(out.staleness == expected);
    }
  }
}

TEST_CASE("staleness is at most the lag, shares lie within 0 and 1, and no lag is slower than on-policy") {
  core::Random random(2);
  for (int trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    RlSetting setting = drawn_setting(random, 0);
    const double on_policy = jobs::rl_steps(setting, 14).step.value();
    for (const WeightUpdate update : {WeightUpdate::in_flight, WeightUpdate::drained})
      for (setting.lag = 1; setting.lag <= 3; ++setting.lag) {
        setting.update = update;
        const RlOutcome out = jobs::rl_steps(setting, 14);
        CHECK(out.staleness <= setting.lag);
        CHECK(out.staleness >= 0);
        CHECK(out.trainer_idle >= -1e-12);
        CHECK(out.generator_idle >= -1e-12);
        CHECK(out.step.value() >= (setting.training + setting.transfer).value() * (1 - 1e-9));
        CHECK(out.step.value() <= on_policy * (1 + 1e-9));
      }
    setting.lag = 0;
  }
}

TEST_CASE("batches overlap in a generator with room, unless the samples that decode at once are limited") {
  // 16 sequences fit, and each decodes in 10 s whatever the others do.
  RlSetting setting = constant_setting(1, 0, 6, 0);
  setting.rates = DecodeRates({{1, 10}, {8, 80}});
  CHECK(jobs::rl_steps(setting, 12).step.value() == support::near((kGeneration + 6) / 2));
  setting.most_decoding = 8;
  CHECK(jobs::rl_steps(setting, 12).step.value() == support::near(kGeneration));
}

TEST_CASE("an interrupt ends the simulation") {
  const std::atomic<bool> flag(true);
  CHECK_THROWS_AS(jobs::rl_steps(constant_setting(1, 0, 1, 1), 5, core::StopToken(&flag)),
                  core::InterruptedError);
}
