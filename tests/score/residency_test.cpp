// Bytes that stay while operators behind run: the dynamic programme against all choices one by one.

#include "score/residency.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using score::Resident;
using score::Stay;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Independent enumeration of all choices: each operator's division, and whether it is kept, its core
/// computed again, or all of it.
class AllChoices {
 public:
  AllChoices(std::span<const Resident> way, double other, double left, double held)
      : way_(way), left_(left), held_(held) {
    choose(way.size(), 0, other, 0);
  }
  double mean() const { return mean_; }  ///< of the two times, the least
  double both() const { return both_; }  ///< the larger of them, the least: what no plan beats

 private:
  /// Chooses for the operators before `end`, from the last on.
  void choose(std::size_t end, double behind, double work, double byte_seconds) {
    if (end == 0) {
      mean_ = std::min(mean_, (1 - held_) * work + held_ * byte_seconds / left_);
      both_ = std::min(both_, std::max(work, byte_seconds / left_));
      return;
    }
    const Resident& op = way_[end - 1];
    const double stay = behind + op.input_gradient;
    for (const Stay& each : *op.choices) {
      const double then = behind + each.time, spent = work + each.work;
      choose(end - 1, then, spent, byte_seconds + (op.bytes + op.core_bytes) * stay);
      choose(end - 1, then, spent + op.core_again, byte_seconds + op.bytes * stay);
      choose(end - 1, then, spent + op.again, byte_seconds);
    }
  }

  std::span<const Resident> way_;
  double left_, held_, mean_ = kInfinite, both_ = kInfinite;
};

struct Drawn {
  explicit Drawn(std::uint64_t seed) {
    core::Random random(seed);
    const auto count = static_cast<std::size_t>(random.between(1, 4));
    choices.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      Stay stay{2 + random.unit(), 0.1 + random.unit() / 10};
      for (int c = random.between(1, 4); c > 0; --c) {
        choices[k].push_back(stay);
        stay.time *= 1 + 2 * random.unit(), stay.work *= 1 - random.unit() / 4;
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      const double core = random.chance(0.5) ? random.unit() : 0;
      way.push_back({&choices[k], random.unit(), core, random.unit(), core / 2, random.unit() / 20});
    }
    other = random.unit();
    left = 0.01 + random.unit() / 10;
  }
  AllChoices at(double held) const { return {way, other, left, held}; }
  double bound(double longest) const { return score::residency(way, other, left, longest); }
  std::vector<std::vector<Stay>> choices;
  std::vector<Resident> way;
  double other = 0, left = 0;
};

}  // namespace

TEST_CASE("the bound is the best mean of work and bytes over time, of all choices one by one") {
  std::size_t counted = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Drawn drawn(seed);
    double most = 0;
    for (int k = 0; k <= 200; ++k) most = std::max(most, drawn.at(k / 200.0).mean());
    const double bound = drawn.bound(8);
    if (bound == 0) {  // bytes give no bound
      CHECK(most <= drawn.at(0).mean() * 1.01);
      continue;
    }
    ++counted;
    CHECK(bound <= drawn.at(0).both());
    CHECK(bound >= most * 0.97);  // chords lie below
  }
  CHECK(counted > 100);
}

TEST_CASE("two operators: a small share works long, a large one stays long, and memory favours a mixture") {
  const std::vector<Stay> choices{{10, 1}, {8, 2}};
  const std::vector<Resident> way{{&choices, 0, 0, 100, 0, 1}, {&choices, 0, 0, 100, 0, 1}};
  CHECK(score::residency(way, 0, 1, 20) == 0);  // nothing is kept
  // The first keeps a byte until the second has gone down and up, and its own gradient: 2 s, or 3.
  std::vector<Resident> keeps = way;
  keeps[0].bytes = 1;
  CHECK(score::residency(keeps, 0, 1, 20) == 0);  // 3 s of 16 s of work
  // Where 3 byte-seconds take 24 s and 2 take 16, a fifth of the second operator's samples in large
  // shares: 17.6 s by both.
  CHECK(score::residency(keeps, 0, 0.125, 20) == support::near(17.6, 1e-3));
  // Computing it again costs less than that.
  keeps[0].again = 0.5;
  CHECK(score::residency(keeps, 0, 0.125, 20) < 16.6);
}

TEST_CASE("bytes wait for no gradient that does not come") {
  const std::vector<Stay> choices{{10, 1}, {8, 2}};
  std::vector<Resident> way{{&choices, 1, 0, 100, 0, 1}, {&choices, 0, 0, 100, 0, 1}};
  const double waits = score::residency(way, 0, 0.125, 20);
  way[1].input_gradient = 0;
  CHECK(score::residency(way, 0, 0.125, 20) == 0);
  CHECK(waits > 16);
}

TEST_CASE("only corners of the choices' hull matter, to the last bit") {
  std::size_t left_out = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<std::vector<Stay>> all(3), corners;
    std::vector<Resident> way, reduced;
    for (std::vector<Stay>& choices : all) {
      Stay stay{2 + random.unit(), 0.01};
      for (int c = random.between(1, 40); c > 0; --c) {
        choices.push_back(stay);
        stay.time += random.unit() / 20, stay.work *= 1 - random.unit() / 10;
      }
      corners.push_back(score::corners(choices));
      left_out += choices.size() - corners.back().size();
    }
    for (std::size_t k = 0; k < all.size(); ++k) {
      way.push_back({&all[k], random.unit(), random.unit() / 2, random.unit(), random.unit() / 2, 0.02});
      reduced.push_back(way.back());
      reduced.back().choices = &corners[k];
    }
    const double left = 0.01 + random.unit() / 10;
    CHECK(score::residency(way, 1, left, 8) == score::residency(reduced, 1, left, 8));
  }
  CHECK(left_out > 3'000);
}

TEST_CASE("corners keep choices on the hull and leave out those above it") {
  // From (1, 10) to (4, 4) the chord passes (2, 8) and (3, 6).
  const std::vector<Stay> choices{{10, 1}, {8.1, 2}, {5, 3}, {4, 4}};
  const std::vector<Stay> kept = score::corners(choices);
  REQUIRE(kept.size() == 3);
  CHECK(kept[1].time == 3);
  CHECK(score::corners({{10, 1}, {8, 2}, {6, 3}}).size() == 3);  // rounding decides there
}
