// A calibration of any bytes is read or refused. An accepted one is written so that it reads the same, and
// has times for every batch size of its kernels.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/cost/calibrated.hpp"
#include "penstock/graph/graph_builder.hpp"

using namespace penstock;

namespace {

graph::OpGraph model_of(const cost::Calibration& calibration) {
  graph::GraphBuilder builder("fuzz");
  for (const cost::MeasuredKernel& kernel : calibration.kernels) {
    graph::Operator op;
    op.name = std::to_string(builder.size());
    op.kind = kernel.key.kind;
    op.attributes = graph::attributes_of(kernel.key.kind, kernel.key.shape);
    op.forward_flops = kernel.work.flops[0];
    op.output_bytes = kernel.work.moved;
    builder.add(op);
  }
  return builder.build();
}

void check_estimates(const cost::Calibration& calibration) {
  const cost::CalibratedCosts costs(calibration);
  const graph::OpGraph graph = model_of(calibration);
  const auto device = cost::device_type(calibration);
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (const std::int64_t samples : {1, 3, 1 << 30}) {
      const auto forward = costs.estimate(graph, core::OpId(i), device, samples)[graph::Pass::forward];
      core::require(
          forward.low <= forward.time && forward.time <= forward.high && std::isfinite(forward.high.value()),
          "a time lies in its interval");
    }
}

void check(const std::string& text) {
  try {
    const cost::Calibration read = cost::parse_calibration(text, "fuzz");
    const std::string once = cost::to_yaml(read);
    core::require(cost::to_yaml(cost::parse_calibration(once, "fuzz")) == once,
                  "a calibration is written as it was read");
    check_estimates(read);
  } catch (const core::BadInput&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  check(body);
  check(cost::sealed(body));
  return 0;
}
