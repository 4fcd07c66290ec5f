#pragma once
// A device that is not the host's, as far as anyone can see: the host by another name.

#include <atomic>
#include <barrier>

#include "penstock/core/error.hpp"
#include "penstock/kernels/collectives.hpp"
#include "penstock/kernels/devices.hpp"

namespace penstock::replay::test {

class GuestDevice final : public kernels::Backend {
 public:
  explicit GuestDevice(std::string place) : place_(std::move(place)) {}
  int reads = 0;  ///< and writes: how often bytes went by way of the host
  std::atomic<int> copies = 0, additions = 0;
  bool has_library = false;
  int libraries = 0, sums = 0;  ///< opened here, and done by those

  std::string name() const override { return "guest"; }
  std::string place() const override { return place_; }
  std::vector<std::pair<std::string, std::string>> identity() const override { return host_->identity(); }
  bool supports(kernels::Precision precision) const override { return host_->supports(precision); }
  std::unique_ptr<kernels::Buffer> allocate(kernels::Element element, std::int64_t count) override {
    return host_->allocate(element, count);
  }
  std::unique_ptr<kernels::Stream> make_stream() override { return host_->make_stream(); }
  void write(kernels::Buffer& to, std::span<const std::byte> bytes) override {
    ++reads;
    host_->write(to, bytes);
  }
  void read(const kernels::Buffer& from, std::span<std::byte> bytes) override {
    ++reads;
    host_->read(from, bytes);
  }
  void copy(kernels::Buffer& to, const kernels::Buffer& from, kernels::Stream& stream) override {
    ++copies;
    host_->copy(to, from, stream);
  }
  void zero(kernels::Buffer& buffer, kernels::Stream& stream) override { host_->zero(buffer, stream); }
  void add(kernels::Buffer& to, const kernels::Buffer& term, kernels::Stream& stream) override {
    ++additions;
    host_->add(to, term, stream);
  }
  std::unique_ptr<kernels::Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                               kernels::Precision precision) override {
    return host_->make_kernel(op, samples, precision);
  }
  std::unique_ptr<kernels::OptimizerStep> make_update(const kernels::UpdateRule& rule, std::int64_t count,
                                                      kernels::Precision precision) override {
    return host_->make_update(rule, count, precision);
  }

  std::unique_ptr<kernels::Collectives> collectives(const std::vector<kernels::Backend*>& ranks,
                                                    const kernels::Invitation& invitation) override;
  kernels::Invitation invite() override { return distant.invite ? distant.invite() : kernels::Invitation(); }
  /// Functions of a library that reaches other processes.
  struct DistantFunctions {
    kernels::Invitation (*invite)() = nullptr;
    std::unique_ptr<kernels::Collectives> (*join)(const std::vector<kernels::Backend*>&,
                                                  const kernels::Invitation&) = nullptr;
  } distant;

 private:
  const std::string place_;
  std::unique_ptr<kernels::Backend> host_ = kernels::open_device("host", 1);
};

/// Adds up by the first rank, while the others wait.
class GuestLibrary final : public kernels::Collectives {
 public:
  explicit GuestLibrary(const std::vector<kernels::Backend*>& ranks)
      : first_(dynamic_cast<GuestDevice&>(*ranks.front())),
        values_(ranks.size()),
        group_(std::ssize(ranks)) {}
  void all_reduce(std::size_t rank, kernels::Buffer& values, kernels::Stream& stream) override {
    values_[rank] = &values;
    group_.arrive_and_wait();
    if (rank == 0) ++first_.sums;
    for (std::size_t i = 1; rank == 0 && i < values_.size(); ++i) first_.add(values, *values_[i], stream);
    for (std::size_t i = 1; rank == 0 && i < values_.size(); ++i) first_.copy(*values_[i], values, stream);
    group_.arrive_and_wait();
  }
  void reduce_scatter(std::size_t, const kernels::Buffer&, kernels::Buffer&, kernels::Stream&) override {}
  void all_gather(std::size_t, const kernels::Buffer&, kernels::Buffer&, kernels::Stream&) override {}
  void send(std::size_t, std::size_t, const std::vector<const kernels::Buffer*>&, kernels::Stream&) override {
    core::require(false, "devices of one process copy");
  }
  void receive(std::size_t, std::size_t, const std::vector<kernels::Buffer*>&, kernels::Stream&) override {
    core::require(false, "devices of one process copy");
  }
  bool settled(std::size_t) override { return true; }
  void abort() override {}

 private:
  GuestDevice& first_;
  std::vector<kernels::Buffer*> values_;
  std::barrier<> group_;
};

inline std::unique_ptr<kernels::Collectives> GuestDevice::collectives(
    const std::vector<kernels::Backend*>& ranks, const kernels::Invitation& invitation) {
  if (!invitation.empty()) return distant.join(ranks, invitation);
  if (!has_library) return nullptr;
  ++libraries;
  return std::make_unique<GuestLibrary>(ranks);
}

}  // namespace penstock::replay::test
