#include "penstock/jobs/generator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "penstock/core/random.hpp"
#include "penstock/jobs/rl_steps.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Picoseconds;
using jobs::DecodeRates;

namespace {

using TokenCounts = std::vector<std::int64_t>;

double seconds(const DecodeRates& rates, int instances, const TokenCounts& lengths) {
  return core::to_seconds(jobs::generation_time(rates, instances, lengths)).value();
}

/// Simulates a generator in steps of equal time. Returns seconds until the last token.
double stepped_time(const DecodeRates& rates, int instances, const TokenCounts& lengths, double step) {
  std::deque<double> queue(lengths.begin(), lengths.end());
  std::vector<std::vector<double>> running(static_cast<std::size_t>(instances));
  double now = 0;
  const auto decodes = [](const std::vector<double>& batch) { return !batch.empty(); };
  do {
    while (!queue.empty()) {
      auto& least = *std::ranges::min_element(running, {}, &std::vector<double>::size);
      if (static_cast<int>(least.size()) == rates.most()) break;
      least.push_back(queue.front());
      queue.pop_front();
    }
    for (std::vector<double>& batch : running) {
      const auto sequences = static_cast<int>(batch.size());
      for (double& left : batch) left -= rates.tokens_per_s(sequences) / sequences * step;
      std::erase_if(batch, [](double left) { return left <= 0; });
    }
    now += step;
  } while (!queue.empty() || std::ranges::any_of(running, decodes));
  return now;
}

/// A table whose rates rise, with gains that fall.
std::vector<std::pair<int, double>> drawn_rates(core::Random& random) {
  std::vector<std::pair<int, double>> out{{1, random.between(20, 40)}};
  double gain = random.between(10, 20);
  for (int entries = random.between(0, 3), at = 1; entries > 0; --entries) {
    const int further = random.between(1, 3);
    at += further;
    out.emplace_back(at, out.back().second + gain * further);
    gain *= random.unit();
  }
  return out;
}

TokenCounts drawn_lengths(core::Random& random, int most) {
  TokenCounts out;
  for (int left = random.between(1, most); left > 0; --left) out.push_back(random.between(1, 200));
  return out;
}

}  // namespace

TEST_CASE("rates are linear between entries, and in proportion below the first") {
  const DecodeRates rates({{2, 40}, {4, 60}});
  CHECK(rates.tokens_per_s(1) == 20);
  CHECK(rates.tokens_per_s(2) == 40);
  CHECK(rates.tokens_per_s(3) == 50);
  CHECK(rates.tokens_per_s(4) == 60);
  CHECK(rates.most() == 4);
}

TEST_CASE("sequences of one instance, by hand") {
  // One sequence has 10 tokens/s, two share 16: 24 tokens of each take 3 s; then 20 tokens at 10/s.
  CHECK(seconds(DecodeRates({{1, 10}, {2, 16}}), 1, {24, 44}) == support::near(5));
  // The third starts when the first ends, and shares the rate with the second until 24 + 16 tokens: 2 s more. It has 4 left.
  CHECK(seconds(DecodeRates({{1, 10}, {2, 16}}), 1, {24, 40, 20}) == support::near(3 + 2 + 0.4));
  // Two instances: the third sequence joins the first instance, which has the lower index.
  CHECK(seconds(DecodeRates({{1, 10}, {2, 16}}), 2, {24, 40, 24}) == support::near(4));
}

TEST_CASE("constant lengths take waves") {
  // 3 instances x 4 sequences per wave, 30 samples: 3 waves of 100 tokens at 60 / 4 tokens/s; the last has 2 per instance, at 20 tokens/s.
  const DecodeRates rates({{1, 25}, {2, 40}, {4, 60}});
  CHECK(seconds(rates, 3, TokenCounts(30, 100)) == support::near(2 * 100 / 15.0 + 100 / 20.0));
}

TEST_CASE("generation takes as long as in small steps of time") {
  core::Random random(7);
  for (int trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    const DecodeRates rates(drawn_rates(random));
    const int instances = random.between(1, 3);
    const TokenCounts lengths = drawn_lengths(random, 12);
    constexpr double kStep = 1e-4;
    const double stepped = stepped_time(rates, instances, lengths, kStep);
    const double allowed = kStep * static_cast<double>(lengths.size() + 1);
    CHECK(std::abs(seconds(rates, instances, lengths) - stepped) <= allowed);
  }
}

TEST_CASE("rates that are all twice as high halve the time") {
  core::Random random(8);
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    auto entries = drawn_rates(random);
    const TokenCounts lengths = drawn_lengths(random, 40);
    const int instances = random.between(1, 4);
    const double time = seconds(DecodeRates(entries), instances, lengths);
    for (auto& [sequences, rate] : entries) rate *= 2;
    CHECK(seconds(DecodeRates(entries), instances, lengths) == support::near(time / 2));
  }
}

TEST_CASE("with equal lengths, faster entries or more instances are never slower") {
  core::Random random(9);
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    auto entries = drawn_rates(random);
    const TokenCounts lengths(static_cast<std::size_t>(random.between(1, 60)), random.between(1, 200));
    const int instances = random.between(1, 5);
    const double time = seconds(DecodeRates(entries), instances, lengths);
    CHECK(seconds(DecodeRates(entries), instances + 1, lengths) <= time * (1 + 1e-9));
    for (auto& [sequences, rate] : entries) rate *= 1 + random.unit();
    CHECK(seconds(DecodeRates(entries), instances, lengths) <= time * (1 + 1e-9));
  }
}

TEST_CASE("sequences gain nothing in a pause, and none starts in a closed generator") {
  const DecodeRates rates({{1, 10}});
  jobs::SequenceGenerator generator(rates, 1);
  std::multiset<std::int64_t> started;
  const auto note = [&](std::int64_t batch) { started.insert(batch); };
  const auto at = [](double s) { return core::to_picoseconds(core::Seconds(s)); };
  generator.enqueue(0, 30);
  generator.enqueue(1, 10);
  generator.fill({}, note);
  generator.pause(at(1));
  CHECK_FALSE(generator.next_end());
  generator.resume(at(5));
  CHECK(*generator.next_end() == at(7));
  CHECK(generator.end_sequences() == std::vector<std::int64_t>{0});
  generator.close();
  generator.fill(at(7), note);
  CHECK(started == std::multiset<std::int64_t>{0});
  CHECK(generator.empty());
  generator.open();
  generator.fill(at(8), note);
  CHECK(*generator.next_end() == at(9));
  CHECK(generator.busy(at(9)) == at(4));
}
