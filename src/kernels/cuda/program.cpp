#include "cuda/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock::kernels::cuda {

void KernelProgram::call(std::string name, std::function<void(const StepContext&)> step) {
  names_.push_back(std::move(name));
  steps_.push_back(std::move(step));
}

TensorLocation KernelProgram::scratch(std::int64_t bytes) {
  memory_.emplace_back(bytes);
  return {TensorLocation::OperandRole::scratch, memory_.size() - 1};
}

void KernelProgram::run(const Operands& operands, const LaunchQueue& queue) const {
  const StepContext run{operands, memory_, queue};
  for (const auto& step : steps_) step(run);
}

std::string KernelProgram::algorithm() const {
  return fmt::format("{}", fmt::join(names_, " + "));
}

core::Bytes KernelProgram::workspace() const {
  std::int64_t bytes = 0;
  for (const DeviceMemory& memory : memory_) bytes += memory.bytes();
  return core::Bytes(bytes);
}

}  // namespace penstock::kernels::cuda
