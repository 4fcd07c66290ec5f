#include "hollow_backend.hpp"

#include <algorithm>

namespace penstock::replay::test {
namespace {

using graph::Pass;
using kernels::Buffer;
using kernels::Element;
using kernels::Precision;
using kernels::Stream;

class HollowBuffer : public Buffer {
 public:
  using Buffer::Buffer;
  void* data() const override {
    if (data_.empty()) data_.resize(static_cast<std::size_t>(bytes().value()));
    return data_.data();
  }

 private:
  mutable std::vector<std::byte> data_;  ///< only of buffers that are read: those of messages
};

class HollowKernel : public kernels::Kernel {
 public:
  explicit HollowKernel(std::unique_ptr<kernels::Kernel> real) : real_(std::move(real)) {}
  const kernels::KernelSlots& slots() const override { return real_->slots(); }
  bool has(Pass pass) const override { return real_->has(pass); }
  void run(Pass, const kernels::Operands&, Stream&) override {}
  std::string algorithm(Pass pass) const override { return real_->algorithm(pass); }
  core::Bytes workspace(Pass pass) const override { return real_->workspace(pass); }

 private:
  std::unique_ptr<kernels::Kernel> real_;
};

class HollowUpdate : public kernels::OptimizerStep {
 public:
  explicit HollowUpdate(std::unique_ptr<kernels::OptimizerStep> real) : real_(std::move(real)) {}
  const std::vector<kernels::Slot>& state() const override { return real_->state(); }
  void run(Buffer&, const Buffer&, const Buffer&, std::span<Buffer* const>, std::int64_t, Stream&) override {}

 private:
  std::unique_ptr<kernels::OptimizerStep> real_;
};

class HollowBackend : public kernels::Backend {
 public:
  explicit HollowBackend(kernels::Backend& host) : host_(host) {}
  std::string name() const override { return "hollow"; }
  std::vector<std::pair<std::string, std::string>> identity() const override { return host_.identity(); }
  bool supports(Precision precision) const override { return host_.supports(precision); }
  std::unique_ptr<Buffer> allocate(Element element, std::int64_t count) override {
    return std::make_unique<HollowBuffer>(element, count);
  }
  std::unique_ptr<Stream> make_stream() override { return host_.make_stream(); }
  void write(Buffer&, std::span<const std::byte>) override {}
  void read(const Buffer&, std::span<std::byte> bytes) override { std::ranges::fill(bytes, std::byte{0}); }
  void copy(Buffer&, const Buffer&, Stream&) override {}
  void zero(Buffer&, Stream&) override {}
  void add(Buffer&, const Buffer&, Stream&) override {}
  std::unique_ptr<kernels::Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                               Precision precision) override {
    return std::make_unique<HollowKernel>(host_.make_kernel(op, samples, precision));
  }
  std::unique_ptr<kernels::OptimizerStep> make_update(const kernels::UpdateRule& rule, std::int64_t count,
                                                      Precision precision) override {
    return std::make_unique<HollowUpdate>(host_.make_update(rule, count, precision));
  }

 private:
  kernels::Backend& host_;
};

}  // namespace

std::unique_ptr<kernels::Backend> hollow(kernels::Backend& host) {
  return std::make_unique<HollowBackend>(host);
}

}  // namespace penstock::replay::test
