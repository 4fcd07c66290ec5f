#include "penstock/calibrate/kernel_timing.hpp"

#include <doctest/doctest.h>

#include "penstock/calibrate/operand_set.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "scripted.hpp"
#include "support/near.hpp"

using namespace penstock;
using scripted::DeviceScript;

namespace {

graph::Operator embedding() {
  graph::Operator op;
  op.name = "table";
  op.kind = graph::OpKind::embedding;
  op.attributes = graph::Embedding{5, 7, 3};
  return op;
}

}  // namespace

TEST_CASE("a pass is timed cold and back to back, with the library's choice") {
  DeviceScript script;
  scripted::Backend backend(script);
  scripted::Stream stream(script);
  scripted::Clock clock;
  script.duration = [](const DeviceScript& s) { return s.cold ? 4e-3 : 3e-3; };
  calibrate::TimedKernel kernel(backend, stream, {}, 8, cluster::Precision::fp32);
  calibrate::Stopwatch stopwatch(stream, clock, {});
  const cost::KernelPoint point = kernel.time(graph::Pass::weight_gradient, stopwatch);
  CHECK(point.pass == graph::Pass::weight_gradient);
  CHECK(point.samples == 8);
  CHECK(point.cold.median.value() == support::near(4e-3));
  CHECK(point.back_to_back.median.value() == support::near(3e-3));
  CHECK(point.algorithm == "best weight_gradient");
  CHECK(point.workspace.value() == 64);
}

TEST_CASE("operands are random, and row numbers lie within their table") {
  const auto host = kernels::open_device("host", 1);
  const auto kernel = host->make_kernel(embedding(), 40, kernels::Precision::fp32);
  const calibrate::OperandSet set(*host, embedding(), kernel->slots(), 3);
  int zeros = 0;
  for (const double value : read_values(*host, *set.operands().parameters[0])) zeros += value == 0;
  CHECK(zeros == 0);
  std::vector<int> seen(7);
  for (const double row : read_values(*host, *set.operands().inputs[0]))
    ++seen.at(static_cast<std::size_t>(row));
  for (const int count : seen) CHECK(count > 0);
  CHECK(set.operands().input_gradients[0] == nullptr);
}

TEST_CASE("kernels of the host run all their passes") {
  const auto host = kernels::open_device("host", 1);
  const auto stream = host->make_stream();
  calibrate::TimedKernel kernel(*host, *stream, embedding(), 2, cluster::Precision::fp32);
  CHECK(kernel.has(graph::Pass::weight_gradient));
  CHECK_FALSE(kernel.has(graph::Pass::input_gradient));
}
