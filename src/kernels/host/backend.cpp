#include "host/backend.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <new>
#include <thread>

#include "host/formats.hpp"
#include "host/kernel.hpp"
#include "host/stream.hpp"
#include "host/threads.hpp"
#include "host/update.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels {
namespace host {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kMostThreads = 1024;

class HostBuffer : public Buffer {
 public:
  HostBuffer(Element element, std::int64_t count)
      : Buffer(element, count),
        data_(::operator new (static_cast<std::size_t>(bytes().value()), std::align_val_t{kAlignment})) {}
  ~HostBuffer() override { ::operator delete (data_, std::align_val_t{kAlignment}); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  void* data() const override { return data_; }

 private:
  void* data_;
};

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (const auto colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown";
}

std::string library() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

/// True if the processor has the instruction set of the bf16 kernels.
bool has_bf16() {
  const auto isa = static_cast<int>(dnnl::get_effective_cpu_isa()),
             needed = static_cast<int>(dnnl::cpu_isa::avx512_core);
  return (isa & needed) == needed;
}

template <class Body>
void in_pieces(int threads, std::int64_t count, const Body& body) {
  const ThreadCount lent(threads);
  parallel_ranges(count, body);
}

bool alike(const Buffer& a, const Buffer& b) {
  return a.element() == b.element() && a.count() == b.count();
}

}  // namespace

class HostBackend : public Backend {
 public:
  explicit HostBackend(int threads) : threads_(threads) {}
  std::string name() const override { return "host"; }
  std::vector<std::pair<std::string, std::string>> identity() const override {
    return {{"device", processor()}, {"oneDNN", library()}, {"threads", std::to_string(threads_)}};
  }
  bool supports(Precision precision) const override {
    return precision == Precision::fp32 || (precision == Precision::bf16 && has_bf16());
  }
  std::unique_ptr<Buffer> allocate(Element element, std::int64_t count) override;
  std::unique_ptr<Stream> make_stream() override { return make_host_stream(threads_); }
  void write(Buffer& to, std::span<const std::byte> bytes) override;
  void read(const Buffer& from, std::span<std::byte> bytes) override;
  void copy(Buffer& to, const Buffer& from, Stream& stream) override;
  void zero(Buffer& buffer, Stream& stream) override;
  void add(Buffer& to, const Buffer& term, Stream& stream) override;
  std::unique_ptr<Kernel> make_attention_core(const graph::Operator& op, std::int64_t samples,
                                              Precision precision) override;
  std::unique_ptr<Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                      Precision precision) override;
  std::unique_ptr<OptimizerStep> make_update(const UpdateRule& rule, std::int64_t count,
                                             Precision precision) override;

 private:
  void check(Precision precision) const;
  int threads_;
};

std::unique_ptr<Buffer> HostBackend::allocate(Element element, std::int64_t count) {
  core::require(count >= 1, "a buffer has elements");
  try {
    return std::make_unique<HostBuffer>(element, count);
  } catch (const std::bad_alloc&) {
    throw core::BadInput(
        fmt::format("the host has no room for {} elements of {}", count, kernels::name(element)));
  }
}

void HostBackend::write(Buffer& to, std::span<const std::byte> bytes) {
  core::require(std::ssize(bytes) == to.bytes().value(), "as many bytes as the buffer has");
  std::memcpy(to.data(), bytes.data(), bytes.size());
}

void HostBackend::read(const Buffer& from, std::span<std::byte> bytes) {
  core::require(std::ssize(bytes) == from.bytes().value(), "as many bytes as the buffer has");
  std::memcpy(bytes.data(), from.data(), bytes.size());
}

void HostBackend::copy(Buffer& to, const Buffer& from, Stream&) {
  core::require(alike(to, from), "copied buffers are alike");
  auto* target = static_cast<char*>(to.data());
  const auto* source = static_cast<const char*>(from.data());
  in_pieces(threads_, to.bytes().value(), [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
  });
}

void HostBackend::zero(Buffer& buffer, Stream&) {
  auto* data = static_cast<char*>(buffer.data());
  in_pieces(threads_, buffer.bytes().value(), [&](std::int64_t begin, std::int64_t end) {
    std::memset(data + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

void HostBackend::add(Buffer& to, const Buffer& term, Stream&) {
  core::require(alike(to, term) && to.element() != Element::int64, "added buffers are alike");
  with_format(to.element(), [&](auto format) {
    using Format = decltype(format);
    auto* sum = host::write<Format>(to.data());
    const auto* more = host::read<Format>(term.data());
    in_pieces(threads_, to.count(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        sum[i] = Format::store(Format::load(sum[i]) + Format::load(more[i]));
    });
  });
}

void HostBackend::check(Precision precision) const {
  if (!supports(precision))
    throw core::BadInput(fmt::format("the host ({}) computes in fp32{}, not in {}", processor(),
                                     supports(Precision::bf16) ? " and bf16" : "", kernels::name(precision)));
}

std::unique_ptr<Kernel> HostBackend::make_kernel(const graph::Operator& op, std::int64_t samples,
                                                 Precision precision) {
  check(precision);
  return std::make_unique<HostKernel>(op, samples, precision, threads_, slots_of(op, samples, precision),
                                      build_by_kind);
}

std::unique_ptr<Kernel> HostBackend::make_attention_core(const graph::Operator& op, std::int64_t samples,
                                                         Precision precision) {
  check(precision);
  return std::make_unique<HostKernel>(op, samples, precision, threads_, core_slots_of(op, samples, precision),
                                      build_attention_core);
}

std::unique_ptr<OptimizerStep> HostBackend::make_update(const UpdateRule& rule, std::int64_t count,
                                                        Precision precision) {
  check(precision);
  return make_host_update(rule, count, storage(precision), threads_);
}

}  // namespace host

std::unique_ptr<Backend> open_host(int threads) {
  if (threads < 0 || threads > host::kMostThreads)
    throw core::BadInput(fmt::format("{} threads are not from 0 to {}", threads, host::kMostThreads));
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::make_unique<host::HostBackend>(threads);
}

}  // namespace penstock::kernels
