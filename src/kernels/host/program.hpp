#pragma once
// A pass as a list of steps over the operands: oneDNN primitives, and plain loops.

#include <dnnl.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "where.hpp"

namespace penstock::kernels::host {

/// A tensor in memory: place and layout.
struct PlacedTensor {
  TensorLocation where;
  dnnl::memory::desc layout;
};

class KernelProgram {
 public:
  explicit KernelProgram(dnnl::engine engine) : engine_(std::move(engine)) {}

  /// Finds the address of a tensor while the program runs.
  using Find = std::function<void*(TensorLocation)>;

  /// Appends a plain step.
  void call(std::string name, std::function<void(const Find&)> step);
  /// Appends a primitive; `arguments` by DNNL_ARG_*, in the primitive's layouts.
  template <class Description>
  void primitive(const Description& description, std::vector<std::pair<int, PlacedTensor>> arguments);

  /// `tensor` in the layout of a primitive: itself, or a copy that an appended step makes.
  PlacedTensor bring(const PlacedTensor& tensor, const dnnl::memory::desc& wanted);
  /// Target for a primitive that writes layout `given` and whose result must become `tensor`; call `deliver`
  /// after it.
  PlacedTensor prepare(const PlacedTensor& tensor, const dnnl::memory::desc& given);
  void deliver(const PlacedTensor& from, const PlacedTensor& to);

  PlacedTensor scratch(const dnnl::memory::desc& layout);

  void run(const Operands& operands, dnnl::stream& stream);
  std::string algorithm() const;
  core::Bytes workspace() const;
  const dnnl::engine& engine() const { return engine_; }

 private:
  void append(const dnnl::primitive& primitive, const std::string& name, const dnnl::memory::desc& scratchpad,
              std::vector<std::pair<int, PlacedTensor>> arguments);

  dnnl::engine engine_;
  std::vector<std::function<void(const Find&, dnnl::stream&)>> steps_;
  std::vector<std::string> names_;
  std::vector<dnnl::memory> scratch_;
};

/// Primitives use the program's memory as scratch.
dnnl::primitive_attr own_scratchpad();

template <class Description>
void KernelProgram::primitive(const Description& description,
                              std::vector<std::pair<int, PlacedTensor>> arguments) {
  append(dnnl::primitive(description.get()), description.impl_info_str(), description.scratchpad_desc(),
         std::move(arguments));
}

}  // namespace penstock::kernels::host
