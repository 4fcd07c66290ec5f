#include "score/fluid_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using score::FluidPipeline;
using score::LayerOption;
using score::PipelineFill;

namespace {

/// Time of a pipeline whose ranks have these shares of each option, by the definition.
double time_of(const FluidPipeline& pipeline, const std::vector<std::vector<double>>& shares,
               const PipelineFill& fill) {
  double wait = 0, time = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    double work = 0;
    for (std::size_t o = 0; o < shares[r].size(); ++o) work += shares[r][o] * pipeline.options[o].seconds;
    time = std::max(time, wait + static_cast<double>(pipeline.micro_batches) * work);
    wait += fill.whole_ranks ? work : r == 0 ? 0 : fill.per_rank;
  }
  return time;
}

bool fits(const FluidPipeline& pipeline, const std::vector<std::vector<double>>& shares) {
  for (std::size_t r = 0; r < shares.size(); ++r) {
    const auto held =
        static_cast<double>(std::min(pipeline.micro_batches, pipeline.ranks - static_cast<std::int64_t>(r)));
    double bytes = (r == 0 ? pipeline.before : 0) + (r + 1 == shares.size() ? pipeline.behind : 0);
    for (std::size_t o = 0; o < shares[r].size(); ++o)
      bytes += shares[r][o] * (pipeline.state + held * pipeline.options[o].kept);
    if (bytes > pipeline.memory * (1 + 1e-12)) return false;
  }
  return true;
}

FluidPipeline drawn_pipeline(core::Random& random) {
  FluidPipeline out;
  out.ranks = random.between(1, 4);
  out.micro_batches = random.between(1, 12);
  const double work = 1 + random.unit(), kept = random.unit() * 4;
  out.options = {{work, kept}};
  if (random.chance(0.8)) out.options.push_back({work * (1 + 0.4 * random.unit()), kept * random.unit()});
  if (random.chance(0.5)) out.options.push_back({work * 1.4, kept * 0.05});
  out.state = 1;
  if (random.chance(0.5)) out.before = 0.3 * random.unit(), out.behind = 0.2 * random.unit();
  out.memory = (1 + 2 * random.unit()) / static_cast<double>(out.ranks);
  return out;
}

PipelineFill drawn_fill(core::Random& random) {
  if (random.chance(0.5)) return {};
  return {false, random.unit() * 0.1};
}

/// Layers in pieces that go anywhere at random, then one after the other to where the time is least.
std::vector<std::vector<double>> drawn_division(const FluidPipeline& pipeline, core::Random& random) {
  constexpr int kPieces = 40;
  const auto ranks = static_cast<int>(pipeline.ranks), options = static_cast<int>(pipeline.options.size());
  std::vector<std::vector<double>> out(pipeline.ranks, std::vector<double>(pipeline.options.size()));
  for (int i = 0; i < kPieces; ++i)
    out[static_cast<std::size_t>(random.between(0, ranks - 1))]
       [static_cast<std::size_t>(random.between(0, options - 1))] += 1.0 / kPieces;
  return out;
}

/// Least time of many divisions, improved by moves of small pieces; nothing if none fits.
double searched(const FluidPipeline& pipeline, const PipelineFill& fill, core::Random& random) {
  double best = 1e30;
  for (int start = 0; start < 6; ++start) {
    auto shares = drawn_division(pipeline, random);
    const auto worth = [&] { return fits(pipeline, shares) ? time_of(pipeline, shares, fill) : 1e30; };
    double here = worth();
    for (int step = 0; step < 1500; ++step) {
      auto before = shares;
      const auto any = [&] {
        return static_cast<std::size_t>(random.between(0, static_cast<int>(pipeline.ranks) - 1));
      };
      const auto way = [&] {
        return static_cast<std::size_t>(random.between(0, static_cast<int>(pipeline.options.size()) - 1));
      };
      double& from = shares[any()][way()];
      const double piece = std::min(from, 0.05 * random.unit());
      from -= piece;
      shares[any()][way()] += piece;
      const double now = worth();
      if (now > here || (now == 1e30 && !random.chance(0.9)))
        shares = before;
      else
        here = now;
    }
    best = std::min(best, here);
  }
  return best;
}

}  // namespace

TEST_CASE("no division of a fluid pipeline's layers is faster than its bound") {
  core::Random random(5);
  int fitting = 0, close = 0;
  for (int i = 0; i < 150; ++i) {
    const FluidPipeline pipeline = drawn_pipeline(random);
    const PipelineFill fill = drawn_fill(random);
    const auto bound = score::least_limited(pipeline, fill);
    const double found = searched(pipeline, fill, random);
    INFO(i, " ranks ", pipeline.ranks, " micro-batches ", pipeline.micro_batches);
    if (found == 1e30) continue;
    ++fitting;
    REQUIRE(bound);
    CHECK(*bound <= found * (1 + 1e-9));
    close += *bound > found * 0.95;
  }
  CHECK(fitting > 60);
  CHECK(close > fitting * 3 / 4);
}

TEST_CASE("one rank: memory forces as much recomputation as must fit") {
  // Saving 10 bytes and computing none again takes 2 s, computing again 3 s with 1 byte; 6 bytes are left.
  FluidPipeline pipeline{
      .options = {{2, 10}, {3, 1}}, .state = 4, .memory = 10, .micro_batches = 7, .ranks = 1};
  CHECK(*score::least_limited(pipeline, {}) == support::near(7 * (2 + 4.0 / 9)));
  pipeline.memory = 14;
  CHECK(*score::least_limited(pipeline, {}) == support::near(14));
  CHECK(score::least_memory(pipeline) == support::near(5));
  pipeline.before = 2, pipeline.behind = 3;
  CHECK(score::least_memory(pipeline) == support::near(10));
  pipeline.memory = 9.9;
  CHECK(!score::least_limited(pipeline, {}));
}

TEST_CASE("ranks without a limit share the work so that all end at once") {
  // Two ranks, 3 micro-batches: w + (1 - 1/3) w = 1, T = 3 w.
  CHECK(score::least_unlimited(1, 3, 2, {}) == support::near(3 / (5.0 / 3)));
  CHECK(score::least_unlimited(1, 1, 4, {}) == support::near(1));
  CHECK(score::least_unlimited(6, 5, 3, {false, 0.3}) == support::near(10 + 0.1));
}
