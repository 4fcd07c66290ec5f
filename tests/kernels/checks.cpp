#include "kernels/checks.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cases.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/values.hpp"
#include "support/near.hpp"

namespace penstock::test {

using Kind = kernels::UpdateRule::RuleKind;
using Values = reference::Values;

namespace {

/// A gradient may be zero except for rounding: that of a bias of keys is, as softmax does not see it.
void compare(const std::vector<reference::Values>& found, const std::vector<reference::Values>& expected,
             double least, double most) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    if (!found[i].empty()) CHECK(distance(found[i], expected[i], least) <= most);
  }
}

constexpr std::int64_t kCount = 37;  ///< parameters of an update

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

struct UpdateRun {
  Values before, gradient, after;
};

/// `steps` steps on random parameters, into another buffer and back, which comes to the same as in place.
UpdateRun run(Backend& backend, const kernels::UpdateRule& rule, Precision precision, int steps) {
  const auto stream = backend.make_stream();
  const auto update = backend.make_update(rule, kCount, precision);
  const auto w = backend.allocate(kernels::storage(precision), kCount),
             other = backend.allocate(kernels::storage(precision), kCount),
             g = backend.allocate(kernels::storage(precision), kCount);
  kernels::write_random(backend, *w, 3);
  kernels::write_random(backend, *g, 4);
  UpdateRun result{kernels::read_values(backend, *w), kernels::read_values(backend, *g), {}};
  std::vector<std::unique_ptr<kernels::Buffer>> owned;
  std::vector<kernels::Buffer*> state;
  for (const auto& slot : update->state()) {
    state.push_back(owned.emplace_back(kernels::allocate(backend, slot)).get());
    if (slot.name == "master")
      kernels::write_values(backend, *state.back(), result.before);
    else
      backend.zero(*state.back(), *stream);
  }
  kernels::Buffer *now = w.get(), *next = other.get();
  for (int t = 1; t <= steps; ++t) {
    const bool in_place = t % 3 == 0;
    update->run(in_place ? *now : *next, *now, *g, state, t, *stream);
    if (!in_place) std::swap(now, next);
  }
  stream->synchronise();
  result.after = kernels::read_values(backend, *now);
  return result;
}

void check_rules(Backend& backend) {
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::adam}) {
    const kernels::UpdateRule rule{.kind = kind, .rate = 0.01f};
    const UpdateRun r = run(backend, rule, Precision::fp32, 5);
    CHECK(distance(r.after, r.before) > 1e-3);
    CHECK(distance(r.after, expected(rule, r.before, r.gradient, 5)) < 1e-6);
  }
}

/// 400 steps of 1e-4 times a gradient below 1: each is lost in the 8 or 11 bits of a parameter near 1, all
/// are not.
void check_master(Backend& backend, Precision precision) {
  const kernels::UpdateRule rule{.kind = Kind::sgd, .rate = 1e-4f};
  const UpdateRun r = run(backend, rule, precision, 400);
  CHECK(distance(r.after, expected(rule, r.before, r.gradient, 400)) < 4e-3);
  CHECK(distance(r.after, r.before) > 1e-2);
}

/// m = 0.1 g, v = 0.001 g^2; corrected: g and g^2, so that w moves by rate g / |g|.
void check_first_step_of_adam(Backend& backend) {
  const UpdateRun r = run(backend, {.kind = Kind::adam, .rate = 0.5f}, Precision::fp32, 1);
  for (std::size_t i = 0; i < r.after.size(); ++i)
    CHECK(std::abs(r.after[i] - r.before[i]) == support::near(0.5, 1e-4));
}

}  // namespace

/// Mantissas have 24 bits in fp32, 11 in fp16 and in the factors of tf32, 8 in bf16.
double tolerance(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 2e-6;
    case Precision::bf16:
      return 3e-2;
    default:
      return 4e-3;
  }
}

void check_kernel(Backend& backend, const Operator& op, std::int64_t samples, Precision precision,
                  double most) {
  CAPTURE(op.name);
  CAPTURE(samples);
  CAPTURE(kernels::name(precision));
  KernelTrial trial(backend, op, samples, precision, 100 + static_cast<std::uint64_t>(samples));
  trial.run_all();
  const auto operands = trial.operands();
  CHECK(distance(trial.output(), reference::forward(op, samples, operands)) <= most);
  const auto seed = trial.output_gradient();
  const auto found = trial.gradients(), expected = reference::gradients(op, samples, operands, seed);
  const double least = length(seed);
  if (trial.kernel().has(graph::Pass::input_gradient)) compare(found.inputs, expected.inputs, least, most);
  compare(found.parameters, expected.parameters, least, most);
}

std::vector<Values> results(Backend& backend, const Operator& op, Precision precision) {
  KernelTrial trial(backend, op, 3, precision, 5);
  trial.run_all();
  std::vector<Values> all = {trial.output()};
  for (const Values& values : trial.gradients().inputs) all.push_back(values);
  for (const Values& values : trial.gradients().parameters) all.push_back(values);
  return all;
}

void check_tables_are_added_to(Backend& backend) {
  for (const Operator& op : kernel_cases()) {
    if (op.kind != graph::OpKind::embedding) continue;
    KernelTrial trial(backend, op, 3, Precision::fp32, 5);
    trial.run_all();
    const auto once = trial.gradients().parameters[0];
    trial.run(graph::Pass::weight_gradient);
    const auto twice = trial.gradients().parameters[0];
    for (std::size_t i = 0; i < once.size(); ++i) CHECK(twice[i] == support::near(2 * once[i], 1e-5));
  }
}

/// Rows are numbered from 0 to 6; those of tables of which there is a part, to 15.
void check_missing_rows(Backend& backend) {
  for (const Operator& op : kernel_cases()) {
    if (op.kind != graph::OpKind::embedding) continue;
    KernelTrial table(backend, op, 1, Precision::fp32, 1);
    const double end = op.name.find("part") == std::string::npos ? 7 : 16;
    for (const auto& [row, missing] : {std::pair{end - 1, false}, {end, true}, {0.0, false}, {-1.0, true}}) {
      CAPTURE(row);
      kernels::write_values(backend, *table.buffers().inputs[0], Values(11, row));
      for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::weight_gradient})
        if (missing)
          CHECK_THROWS_AS(table.run(pass), core::BadInput);
        else
          CHECK_NOTHROW(table.run(pass));
    }
  }
}

void check_misfits(Backend& backend) {
  KernelTrial trial(backend, kernel_cases().front(), 1, Precision::fp32, 1);
  std::swap(trial.buffers().inputs[0], trial.buffers().output);
  CHECK_THROWS_AS(trial.run(graph::Pass::forward), core::Error);
}

void check_shared_buffers(Backend& backend) {
  for (const Operator& op : kernel_cases()) {
    if (op.name != "sum") continue;
    KernelTrial trial(backend, op, 1, Precision::fp32, 1);
    auto& buffers = trial.buffers();
    buffers.inputs[1] = buffers.inputs[2] = buffers.inputs[0];
    buffers.input_gradients = {buffers.output_gradient, buffers.output_gradient, buffers.input_gradients[2]};
    const auto seed = trial.output_gradient();
    trial.run_all();
    CHECK(trial.output_gradient() == seed);
    CHECK(trial.gradients().inputs[2] == seed);
    CHECK(distance(trial.output(), reference::forward(op, 1, trial.operands())) < 1e-6);
  }
}

void check_algorithms(Backend& backend, Precision precision) {
  for (const Operator& op : kernel_cases()) {
    CAPTURE(op.name);
    const auto kernel = backend.make_kernel(op, 1, precision);
    for (const graph::Pass pass :
         {graph::Pass::forward, graph::Pass::input_gradient, graph::Pass::weight_gradient}) {
      CHECK(kernel->algorithm(pass).empty() != kernel->has(pass));
      CHECK(kernel->workspace(pass) >= core::Bytes(0));
    }
  }
}

void check_stream(Backend& backend) {
  const auto stream = backend.make_stream(), other = backend.make_stream();
  const auto a = backend.allocate(kernels::Element::fp32, 3), b = backend.allocate(kernels::Element::fp32, 3);
  kernels::write_values(backend, *a, Values{1, 2, 3});
  backend.add(*b, *a, *stream);  // once before it is bundled
  backend.zero(*b, *stream);
  const auto start = stream->record_event();
  stream->bundle(4, [&] { backend.add(*b, *a, *stream); })();
  stream->synchronise();
  CHECK(kernels::read_values(backend, *b) == Values{4, 8, 12});
  backend.add(*b, *a, *stream);
  const auto added = stream->record_event();
  other->wait(*added);
  backend.copy(*a, *b, *other);
  other->synchronise();
  CHECK(kernels::read_values(backend, *a) == Values{5, 10, 15});
  const auto end = stream->record_event();
  CHECK(end->since(*start) > core::Seconds(0));
}

void check_updates(Backend& backend) {
  check_rules(backend);
  check_first_step_of_adam(backend);
  for (const Precision precision : {Precision::bf16, Precision::fp16})
    if (backend.supports(precision)) check_master(backend, precision);
}

}  // namespace penstock::test
