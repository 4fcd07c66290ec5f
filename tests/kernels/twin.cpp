#include "kernels/twin.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "cuda/elements.hpp"
#include "cuda/function.hpp"
#include "cuda/kernel.hpp"
#include "cuda/product.hpp"
#include "cuda/sort.hpp"
#include "cuda/update.hpp"

namespace penstock::kernels::cuda {

struct LibraryHandles {};

DeviceMemory::DeviceMemory(std::int64_t bytes)
    : data_(bytes > 0 ? ::operator new(static_cast<std::size_t>(bytes)) : nullptr), bytes_(bytes) {
  if (bytes > 0) std::memset(data_, 0xff, static_cast<std::size_t>(bytes));  // NaN, whatever the element
}
DeviceMemory::~DeviceMemory() {
  ::operator delete(data_);
}

std::int64_t sort_workspace(std::int64_t) {
  return 1;
}

void sort_pairs(const LaunchQueue&, std::int64_t count, void*, std::int64_t, const std::int64_t* keys,
                std::int64_t* sorted_keys, const std::int64_t* values, std::int64_t* sorted_values) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [keys](std::int64_t i) { return keys[i]; });
  for (std::int64_t i = 0; i < count; ++i) {
    sorted_keys[i] = keys[order[i]];
    sorted_values[i] = values[order[i]];
  }
}

namespace {

/// One matrix of a stack, column by column, as the library documents it.
template <class T>
struct StackedMatrix {
  T* data;
  BlasArguments::BlasMatrix m;
  T& at(std::int64_t which, std::int64_t row, std::int64_t column) const {
    if (m.transposed) std::swap(row, column);
    return data[which * m.rows * m.columns + column * m.rows + row];
  }
};

template <class T>
void multiply_plainly(const ProductSizes& s, const StackedMatrix<const T>& first,
                      const StackedMatrix<const T>& second, const StackedMatrix<T>& result, const T* bias) {
  for (std::int64_t which = 0; which < s.batch; ++which)
    for (std::int64_t row = 0; row < result.m.rows; ++row)
      for (std::int64_t column = 0; column < result.m.columns; ++column) {
        float sum = 0;
        for (std::int64_t i = 0; i < s.inner; ++i)
          sum += load(first.at(which, row, i)) * load(second.at(which, i, column));
        sum = s.factor * sum + (s.bias ? load(bias[row]) : 0);
        store(result.at(which, row, column), s.relu ? std::max(sum, 0.0f) : sum);
      }
}

}  // namespace

void multiply(KernelProgram& program, LibraryHandles&, Precision precision, const ProductSizes& sizes,
              ProductFactor a, ProductFactor b, TensorLocation c, TensorLocation bias) {
  const BlasArguments how = asked(sizes, a.transposed, b.transposed);
  program.call("plain product", [=](const KernelProgram::StepContext& run) {
    with_element(storage(precision), [&](auto zero) {
      using T = decltype(zero);
      multiply_plainly<T>(sizes, {run.as<const T>(b.where), how.first},
                          {run.as<const T>(a.where), how.second}, {run.as<T>(c), how.result},
                          sizes.bias ? run.as<const T>(bias) : nullptr);
    });
  });
}

void build_convolution(KernelDraft&) {
  throw core::BadInput("the twin has no convolution");
}

namespace {

struct TwinBuffer : Buffer {
  TwinBuffer(Element element, std::int64_t count) : Buffer(element, count), memory(bytes().value()) {}
  void* data() const override { return memory.data(); }
  DeviceMemory memory;
};

struct TwinEvent : Event {
  core::Seconds since(const Event& earlier) const override {
    return core::Seconds(
        std::chrono::duration<double>(time - dynamic_cast<const TwinEvent&>(earlier).time).count());
  }
  bool reached() const override { return true; }
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

struct TwinStream : Stream {
  std::unique_ptr<Event> record_event() override { return std::make_unique<TwinEvent>(); }
  void wait(const Event&) override {}
  void synchronise() override {
    if (std::exchange(fault, 0) != 0) throw core::BadInput("a missing row");
  }
  void evict_caches() override {}
  std::function<void()> bundle(int copies, const std::function<void()>& body) override {
    return [copies, body] {
      for (int i = 0; i < copies; ++i) body();
    };
  }
  LaunchQueue queue() { return {nullptr, &fault}; }
  int fault = 0;
};

LaunchQueue queue_of(Stream& stream) {
  return dynamic_cast<TwinStream&>(stream).queue();
}

struct TwinKernel : Kernel {
  TwinKernel(const graph::Operator& op, std::int64_t samples, Precision precision, LibraryHandles& libraries)
      : passes(op, samples, precision, libraries) {}
  const KernelSlots& slots() const override { return passes.slots(); }
  bool has(graph::Pass pass) const override { return has_pass(passes.slots(), pass); }
  void run(graph::Pass pass, const Operands& operands, Stream& stream) override {
    passes.run(pass, operands, queue_of(stream));
  }
  std::string algorithm(graph::Pass pass) const override { return passes.program(pass).algorithm(); }
  core::Bytes workspace(graph::Pass pass) const override { return passes.program(pass).workspace(); }
  PassPrograms passes;
};

struct TwinUpdate : OptimizerStep {
  TwinUpdate(const UpdateRule& r, std::int64_t n, Element e)
      : rule(r), count(n), element(e), slots(update_state(r, n, e)) {}
  const std::vector<Slot>& state() const override { return slots; }
  void run(Buffer& parameters, const Buffer& before, const Buffer& gradient, std::span<Buffer* const> state,
           std::int64_t step, Stream& stream) override {
    update(queue_of(stream), UpdateStep(rule, step),
           update_arrays(slots, count, element, parameters, before, gradient, state, step), element, count);
  }
  UpdateRule rule;
  std::int64_t count;
  Element element;
  std::vector<Slot> slots;
};

struct TwinBackend : Backend {
  std::string name() const override { return "twin"; }
  std::vector<std::pair<std::string, std::string>> identity() const override { return {}; }
  bool supports(Precision) const override { return true; }
  std::unique_ptr<Buffer> allocate(Element element, std::int64_t count) override {
    return std::make_unique<TwinBuffer>(element, count);
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<TwinStream>(); }
  void write(Buffer& to, std::span<const std::byte> bytes) override {
    std::memcpy(to.data(), bytes.data(), bytes.size());
  }
  void read(const Buffer& from, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), from.data(), bytes.size());
  }
  void copy(Buffer& to, const Buffer& from, Stream&) override {
    std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes().value()));
  }
  void zero(Buffer& buffer, Stream&) override {
    std::memset(buffer.data(), 0, static_cast<std::size_t>(buffer.bytes().value()));
  }
  void add(Buffer& to, const Buffer& term, Stream& stream) override {
    add_elements(queue_of(stream), to.element(), to.count(), to.data(), term.data());
  }
  std::unique_ptr<Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                      Precision precision) override {
    return std::make_unique<TwinKernel>(op, samples, precision, libraries);
  }
  std::unique_ptr<OptimizerStep> make_update(const UpdateRule& rule, std::int64_t count,
                                             Precision precision) override {
    return std::make_unique<TwinUpdate>(rule, count, storage(precision));
  }
  LibraryHandles libraries;
};

}  // namespace
}  // namespace penstock::kernels::cuda

namespace penstock::test {

std::unique_ptr<kernels::Backend> open_twin() {
  return std::make_unique<kernels::cuda::TwinBackend>();
}

}  // namespace penstock::test
