#include "host/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "penstock/core/error.hpp"

namespace penstock::kernels::host {

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

PlacedTensor KernelProgram::scratch(const dnnl::memory::desc& layout) {
  scratch_.emplace_back(layout, engine_);
  return {{TensorLocation::OperandRole::scratch, scratch_.size() - 1}, layout};
}

void KernelProgram::call(std::string name, std::function<void(const Find&)> step) {
  names_.push_back(std::move(name));
  steps_.push_back([step = std::move(step)](const Find& at, dnnl::stream&) { step(at); });
}

void KernelProgram::append(const dnnl::primitive& primitive, const std::string& name,
                           const dnnl::memory::desc& scratchpad,
                           std::vector<std::pair<int, PlacedTensor>> arguments) {
  if (scratchpad.get_size() > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, scratch(scratchpad));
  std::vector<std::pair<TensorLocation, dnnl::memory>> places;
  std::unordered_map<int, dnnl::memory> bound;
  for (const auto& [argument, laid] : arguments) {
    const dnnl::memory memory(laid.layout, engine_, DNNL_MEMORY_NONE);
    places.emplace_back(laid.where, memory);
    bound.emplace(argument, memory);
  }
  names_.push_back(name);
  steps_.push_back([primitive, places, bound](const Find& at, dnnl::stream& stream) {
    for (const auto& [where, memory] : places) memory.set_data_handle(at(where));
    primitive.execute(stream, bound);
  });
}

PlacedTensor KernelProgram::prepare(const PlacedTensor& tensor, const dnnl::memory::desc& given) {
  return given == tensor.layout ? tensor : scratch(given);
}

void KernelProgram::deliver(const PlacedTensor& from, const PlacedTensor& to) {
  if (from.layout == to.layout) return;
  const dnnl::reorder::primitive_desc description(engine_, from.layout, engine_, to.layout, own_scratchpad());
  primitive(description, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

PlacedTensor KernelProgram::bring(const PlacedTensor& tensor, const dnnl::memory::desc& wanted) {
  const PlacedTensor brought = prepare(tensor, wanted);
  deliver(tensor, brought);
  return brought;
}

void KernelProgram::run(const Operands& operands, dnnl::stream& stream) {
  const Find at = [&](TensorLocation where) {
    return where.role == TensorLocation::OperandRole::scratch ? scratch_[where.index].get_data_handle()
                                                              : find(operands, where)->data();
  };
  for (const auto& step : steps_) step(at, stream);
}

std::string KernelProgram::algorithm() const {
  return fmt::format("{}", fmt::join(names_, " + "));
}

core::Bytes KernelProgram::workspace() const {
  std::int64_t bytes = 0;
  for (const auto& memory : scratch_) bytes += static_cast<std::int64_t>(memory.get_desc().get_size());
  return core::Bytes(bytes);
}

}  // namespace penstock::kernels::host
