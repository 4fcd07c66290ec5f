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

class Program {
 public:
  /// State of a running step: its queue, and the addresses of its tensors.
  struct Run {
    const Operands& operands;
    const std::vector<Memory>& memory;
    const Queue& queue;
    void* at(Where where) const {
      return where.role == Where::Role::scratch ? memory[where.index].data() : find(operands, where)->data();
    }
    template <class T>
    T* as(Where where) const {
      return static_cast<T*>(at(where));
    }
  };

  void call(std::string name, std::function<void(const Run&)> step);
  /// Scratch memory of the program.
  Where scratch(std::int64_t bytes);
  void run(const Operands& operands, const Queue& queue) const;

  std::string algorithm() const;  ///< names of the steps
  core::Bytes workspace() const;

 private:
  std::vector<std::function<void(const Run&)>> steps_;
  std::vector<std::string> names_;
  std::vector<Memory> memory_;
};

}  // namespace penstock::kernels::cuda
