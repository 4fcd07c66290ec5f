// The judge is judged: gradients of the reference against central finite differences of its forward pass.

#include "kernels/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cases.hpp"
#include "kernels/trial.hpp"
#include "penstock/kernels/devices.hpp"

using namespace penstock;
using reference::Operands;
using reference::Values;

namespace {

double inner(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// d(y . seed) / d(entry), by a step of 1e-5 to either side.
double difference(const graph::Operator& op, std::int64_t samples, Operands& at, double& entry,
                  const Values& seed) {
  constexpr double step = 1e-5;
  const double before = entry;
  entry = before + step;
  const double above = inner(reference::forward(op, samples, at), seed);
  entry = before - step;
  const double below = inner(reference::forward(op, samples, at), seed);
  entry = before;
  return (above - below) / (2 * step);
}

/// Compares up to seven entries of each tensor.
void compare(const graph::Operator& op, std::int64_t samples, Operands& at, std::vector<Values>& tensors,
             const std::vector<Values>& gradients, const Values& seed) {
  for (std::size_t t = 0; t < tensors.size(); ++t)
    for (std::size_t i = 0; i < tensors[t].size(); i += 1 + tensors[t].size() / 7) {
      const double expected = difference(op, samples, at, tensors[t][i], seed);
      CHECK(std::abs(gradients[t][i] - expected) <= 1e-9 + 1e-6 * std::abs(expected));
    }
}

}  // namespace

TEST_CASE("gradients of the reference are slopes of its forward pass") {
  const auto host = kernels::open_device("host", 1);
  for (const graph::Operator& op : test::host_kernel_cases()) {
    CAPTURE(op.name);
    const test::KernelTrial trial(*host, op, 2, kernels::Precision::fp32, 7);
    Operands at = trial.operands();
    const Values seed = trial.output_gradient();
    const Operands found = reference::gradients(op, 2, at, seed);
    if (op.kind != graph::OpKind::embedding) compare(op, 2, at, at.inputs, found.inputs, seed);
    compare(op, 2, at, at.parameters, found.parameters, seed);
  }
}

TEST_CASE("a dense layer by hand") {
  // y = (1, 2) (3, 4)^T + 5 = 16; with y' = 2: x' = (6, 8), w' = (2, 4), b' = 2.
  graph::Operator op;
  op.kind = graph::OpKind::linear;
  op.attributes = graph::Linear{1, 2, 1, true};
  const Operands at{{{1, 2}}, {{3, 4}, {5}}};
  CHECK(reference::forward(op, 1, at) == Values{16});
  const Operands found = reference::gradients(op, 1, at, {2});
  CHECK(found.inputs[0] == Values{6, 8});
  CHECK(found.parameters[0] == Values{2, 4});
  CHECK(found.parameters[1] == Values{2});
}
