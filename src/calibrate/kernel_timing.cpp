#include "penstock/calibrate/kernel_timing.hpp"

#include <algorithm>

#include "penstock/calibrate/operand_set.hpp"
#include "penstock/calibrate/precisions.hpp"

namespace penstock::calibrate {
namespace {

constexpr std::uint64_t kOperandSeed = 1;

}  // namespace

struct TimedKernel::TimingParts {
  kernels::Stream& stream;
  std::int64_t samples;
  std::unique_ptr<kernels::Kernel> kernel;
  OperandSet operands;
};

TimedKernel::TimedKernel(kernels::Backend& backend, kernels::Stream& stream, const graph::Operator& op,
                         std::int64_t samples, cluster::Precision precision) {
  auto kernel = backend.make_kernel(op, samples, precision_of(precision));
  OperandSet operands(backend, op, kernel->slots(), kOperandSeed);
  parts_ =
      std::make_unique<TimingParts>(TimingParts{stream, samples, std::move(kernel), std::move(operands)});
  for (const graph::Pass pass : graph::kAllPasses)
    if (has(pass)) run(pass);
}

TimedKernel::~TimedKernel() = default;

bool TimedKernel::has(graph::Pass pass) const {
  return parts_->kernel->has(pass);
}

void TimedKernel::run(graph::Pass pass) {
  parts_->kernel->run(pass, parts_->operands.operands(), parts_->stream);
}

core::Bytes TimedKernel::operand_bytes() const {
  const kernels::KernelSlots& slots = parts_->kernel->slots();
  core::Bytes sum;
  const auto count = [&](const kernels::Slot& slot) {
    sum += core::Bytes(slot.count() * size(slot.element));
  };
  std::ranges::for_each(slots.inputs, count);
  std::ranges::for_each(slots.parameters, count);
  count(slots.output);
  return sum;
}

cost::KernelPoint TimedKernel::time(graph::Pass pass, Stopwatch& stopwatch) {
  const Body body = [this, pass] { run(pass); };
  return {pass,
          parts_->samples,
          stopwatch.cold(body),
          stopwatch.back_to_back(body),
          parts_->kernel->algorithm(pass),
          parts_->kernel->workspace(pass),
          {}};
}

}  // namespace penstock::calibrate
