#include "cuda/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock::kernels::cuda {

void Program::call(std::string name, std::function<void(const Run&)> step) {
  names_.push_back(std::move(name));
  steps_.push_back(std::move(step));
}

Where Program::scratch(std::int64_t bytes) {
  memory_.emplace_back(bytes);
  return {Where::Role::scratch, memory_.size() - 1};
}

void Program::run(const Operands& operands, const Queue& queue) const {
  const Run run{operands, memory_, queue};
  for (const auto& step : steps_) step(run);
}

std::string Program::algorithm() const {
  return fmt::format("{}", fmt::join(names_, " + "));
}

core::Bytes Program::workspace() const {
  std::int64_t bytes = 0;
  for (const Memory& memory : memory_) bytes += memory.bytes();
  return core::Bytes(bytes);
}

}  // namespace penstock::kernels::cuda
