#include "penstock/calibrate/ceilings.hpp"

#include <algorithm>

#include "penstock/calibrate/kernel_timing.hpp"
#include "penstock/cost/cost_model.hpp"
#include "penstock/kernels/values.hpp"

namespace penstock::calibrate {
namespace {

constexpr std::int64_t kSmallestProduct = 512;
constexpr double kLongProduct = 0.1;  // s
constexpr int kLaunches = 1000;

graph::Operator square_product(std::int64_t n) {
  graph::Operator op;
  op.name = "ceiling";
  op.kind = graph::OpKind::matmul;
  op.attributes = graph::Matmul{.batch = 1, .rows = n, .inner = n, .columns = n};
  return op;
}

graph::Operator smallest_kernel() {
  graph::Operator op;
  op.name = "launch";
  op.kind = graph::OpKind::activation;
  op.attributes = graph::Activation{1, graph::Function::relu};
  return op;
}

}  // namespace

core::Bandwidth copy_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                               core::Bytes bytes) {
  const std::int64_t count = bytes.value() / size(kernels::Element::fp32);
  const auto from = backend.allocate(kernels::Element::fp32, count),
             to = backend.allocate(kernels::Element::fp32, count);
  kernels::write_random(backend, *from, 1);
  const cost::TimingSummary timing = stopwatch.back_to_back([&] { backend.copy(*to, *from, stream); });
  return core::Bandwidth(2 * static_cast<double>(from->bytes().value()) / timing.median.value());
}

core::Bandwidth add_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                              core::Bytes bytes) {
  const std::int64_t count = bytes.value() / size(kernels::Element::fp32);
  const auto to = backend.allocate(kernels::Element::fp32, count),
             term = backend.allocate(kernels::Element::fp32, count);
  kernels::write_random(backend, *to, 1);
  kernels::write_random(backend, *term, 2);
  const cost::TimingSummary timing = stopwatch.back_to_back([&] { backend.add(*to, *term, stream); });
  return core::Bandwidth(3 * static_cast<double>(to->bytes().value()) / timing.median.value());
}

core::Bandwidth update_bandwidth(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                                 core::Bytes bytes) {
  const std::int64_t count = bytes.value() / size(kernels::Element::fp32);
  const auto weights = backend.allocate(kernels::Element::fp32, count),
             gradient = backend.allocate(kernels::Element::fp32, count);
  kernels::write_random(backend, *weights, 1);
  kernels::write_random(backend, *gradient, 2);
  const auto update = backend.make_update({}, count, kernels::Precision::fp32);
  std::int64_t step = 0;
  const cost::TimingSummary timing = stopwatch.back_to_back([&] {
    update->run(*weights, *weights, *gradient, {}, ++step, stream);
    backend.zero(*gradient, stream);
  });
  const core::Bytes traffic = plan::Training{}.step_traffic(weights->bytes()) + gradient->bytes();
  return core::Bandwidth(static_cast<double>(traffic.value()) / timing.median.value());
}

core::FlopRate matmul_rate(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch,
                           cluster::Precision precision, std::int64_t largest) {
  double best = 0;
  for (std::int64_t n = kSmallestProduct; n <= largest; n *= 2) {
    TimedKernel kernel(backend, stream, square_product(n), 1, precision);
    const double time = stopwatch.back_to_back([&] { kernel.run(graph::Pass::forward); }).median.value();
    const auto extent = static_cast<double>(n);
    best = std::max(best, 2 * extent * extent * extent / time);
    if (time > kLongProduct) break;
  }
  return core::FlopRate(best);
}

core::Seconds launch_overhead(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch) {
  TimedKernel kernel(backend, stream, smallest_kernel(), 1, cluster::Precision::fp32);
  const Body launches = [&] {
    for (int i = 0; i < kLaunches; ++i) kernel.run(graph::Pass::forward);
  };
  return stopwatch.back_to_back(launches).median / kLaunches;
}

core::Seconds graph_launch(kernels::Backend& backend, kernels::Stream& stream, Stopwatch& stopwatch) {
  TimedKernel kernel(backend, stream, smallest_kernel(), 1, cluster::Precision::fp32);
  const Body graph = stream.bundle(kLaunches, [&] { kernel.run(graph::Pass::forward); });
  return stopwatch.unbundled(graph).median / kLaunches;
}

core::Seconds Roofline::time(const cost::KernelWork& work, graph::Pass pass, std::int64_t samples) const {
  const auto n = static_cast<double>(samples);
  const core::Seconds computing = work.flops[static_cast<std::size_t>(pass)] * n / matmul;
  return std::max(computing, (work.moved * samples + work.weights) / copy);
}

Roofline roofline(const cost::Calibration& calibration, cluster::Precision precision) {
  return {calibration.ceilings.copy, calibration.ceilings.matmul[static_cast<std::size_t>(precision)]};
}

}  // namespace penstock::calibrate
