#pragma once
// A pass as a list of steps over the operands.

#include <functional>
#include <string>
#include <vector>

#include "cuda/memory.hpp"
#include "cuda/queue.hpp"
#include "penstock/kernels/backend.hpp"
#include "where.hpp"

namespace penstock::kernels::cuda {

class KernelProgram {
 public:
  /// State of a running step: its queue, and the addresses of its tensors.
  struct StepContext {
    const Operands& operands;
    const std::vector<DeviceMemory>& memory;
    const LaunchQueue& queue;
    void* at(TensorLocation where) const {
      return where.role == TensorLocation::OperandRole::scratch ? memory[where.index].data()
                                                                : find(operands, where)->data();
    }
    template <class T>
    T* as(TensorLocation where) const {
      return static_cast<T*>(at(where));
    }
  };

  void call(std::string name, std::function<void(const StepContext&)> step);
  /// Scratch memory of the program.
  TensorLocation scratch(std::int64_t bytes);
  void run(const Operands& operands, const LaunchQueue& queue) const;

  std::string algorithm() const;  ///< names of the steps
  core::Bytes workspace() const;

 private:
  std::vector<std::function<void(const StepContext&)>> steps_;
  std::vector<std::string> names_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace penstock::kernels::cuda
