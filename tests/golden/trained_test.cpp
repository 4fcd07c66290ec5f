// Results of training hundreds of random models, by two numbers each. Processors sum in different orders, so
// digests would differ; a missing part of a gradient is far above the tolerance.

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "penstock/core/parallel.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "replay/random_training.hpp"
#include "replay/round_robin.hpp"
#include "support/golden.hpp"

using namespace penstock;
using replay::test::Weights;

namespace {

constexpr double kTolerance = 1e-4;  ///< of the length; SSE 4.1 and AVX 512 differ by 1.1e-5

struct GradientSummary {
  double length = 0;     ///< of all gradients
  double direction = 0;  ///< their projection on a fixed direction, over the length of that
};

GradientSummary measured(const Weights& gradients) {
  GradientSummary out;
  double index = 0;
  for (const auto& [op, tensors] : gradients)
    for (const auto& tensor : tensors)
      for (const double value : tensor) {
        out.direction += value * std::sqrt(2) * std::sin(index += 1);
        out.length += value * value;
      }
  out.length = std::sqrt(out.length);
  return out;
}

GradientSummary trained(std::uint64_t seed) {
  const auto model = replay::test::random_training(seed);
  const auto host = kernels::open_device("host", 1);
  const auto program = replay::lower(model.graph, {model.graph, model.plan});
  replay::test::RoundRobin run(*host, model.problem(), model.plan, program, {.seed = 5});
  run.run();
  return measured(run.gradients());
}

}  // namespace

TEST_CASE("400 random models on random groups learn what they ever learnt") {
  std::vector<GradientSummary> all(400);
  core::parallel_for(all.size(), [&](std::size_t seed) { all[seed] = trained(seed); });
  std::string text;
  for (const GradientSummary& learnt : all)
    text += fmt::format("{:.5g} {:.5g}\n", learnt.length, learnt.direction);
  std::istringstream golden(support::accepted("trained.txt", text));
  for (std::size_t seed = 0; seed < all.size(); ++seed) {
    CAPTURE(seed);
    GradientSummary expected;
    REQUIRE((golden >> expected.length >> expected.direction).good());
    CHECK(std::abs(all[seed].length - expected.length) <= kTolerance * expected.length);
    CHECK(std::abs(all[seed].direction - expected.direction) <= kTolerance * expected.length);
  }
}
