// Optimizer steps against the rules written out in float64.

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/trial.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"

using namespace penstock;
using kernels::Number;
using Kind = kernels::UpdateRule::Kind;
using Values = std::vector<double>;

namespace {

constexpr std::int64_t kCount = 37;

/// w after `steps` with the same gradient, and its moments.
Values expected(const kernels::UpdateRule& r, Values w, const Values& gradient, int steps) {
  Values m(w.size()), v(w.size());
  for (int t = 1; t <= steps; ++t)
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = gradient[i];
      if (r.kind == Kind::sgd) w[i] -= r.rate * g;
      if (r.kind == Kind::momentum) w[i] -= r.rate * (m[i] = r.momentum * m[i] + g);
      if (r.kind != Kind::adam) continue;
      m[i] = r.beta1 * m[i] + (1 - double{r.beta1}) * g;
      v[i] = r.beta2 * v[i] + (1 - double{r.beta2}) * g * g;
      w[i] -= r.rate * (m[i] / (1 - std::pow(double{r.beta1}, t))) /
              (std::sqrt(v[i] / (1 - std::pow(double{r.beta2}, t))) + r.epsilon);
    }
  return w;
}

struct Run {
  Values before, gradient, after;
};

/// `steps` steps on random parameters.
Run run(const kernels::UpdateRule& rule, Number number, int steps) {
  const auto host = kernels::open_device("host", 1);
  const auto stream = host->make_stream();
  const auto update = host->make_update(rule, kCount, number);
  const auto w = host->allocate(kernels::storage(number), kCount),
             g = host->allocate(kernels::storage(number), kCount);
  kernels::write_random(*host, *w, 3);
  kernels::write_random(*host, *g, 4);
  Run result{kernels::read_values(*host, *w), kernels::read_values(*host, *g), {}};
  std::vector<std::unique_ptr<kernels::Buffer>> owned;
  std::vector<kernels::Buffer*> state;
  for (const auto& slot : update->state()) {
    state.push_back(owned.emplace_back(kernels::allocate(*host, slot)).get());
    if (slot.name == "master")
      kernels::write_values(*host, *state.back(), result.before);
    else
      host->zero(*state.back(), *stream);
  }
  for (int t = 1; t <= steps; ++t) update->run(*w, *g, state, t, *stream);
  stream->synchronise();
  result.after = kernels::read_values(*host, *w);
  return result;
}

}  // namespace

TEST_CASE("an optimizer steps by its rule") {
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::adam}) {
    const kernels::UpdateRule rule{.kind = kind, .rate = 0.01f};
    const Run r = run(rule, Number::fp32, 5);
    CHECK(test::distance(r.after, r.before) > 1e-3);
    CHECK(test::distance(r.after, expected(rule, r.before, r.gradient, 5)) < 1e-6);
  }
}

TEST_CASE("small steps add up in the master copy of parameters in bf16") {
  // 400 steps of 1e-4 times a gradient below 1: each is lost in the 8 bits of a parameter near 1, all are
  // not.
  const kernels::UpdateRule rule{.kind = Kind::sgd, .rate = 1e-4f};
  const auto host = kernels::open_device("host", 1);
  if (!host->supports(Number::bf16)) {
    MESSAGE("skipped: no AVX-512");
    return;
  }
  const Run r = run(rule, Number::bf16, 400);
  CHECK(test::distance(r.after, expected(rule, r.before, r.gradient, 400)) < 4e-3);
  CHECK(test::distance(r.after, r.before) > 1e-2);
}

TEST_CASE("the first step of Adam has the length of its rate") {
  // m = 0.1 g, v = 0.001 g^2; corrected: g and g^2, so that w moves by rate g / |g|.
  const Run r = run({.kind = Kind::adam, .rate = 0.5f}, Number::fp32, 1);
  for (std::size_t i = 0; i < r.after.size(); ++i)
    CHECK(std::abs(r.after[i] - r.before[i]) == doctest::Approx(0.5).epsilon(1e-4));
}
