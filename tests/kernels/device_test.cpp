// Every kernel and pass on every device but the host, against float64. Exits with 77, which means skipped,
// where there is none.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <thread>

#include "kernels/cases.hpp"
#include "kernels/checks.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/collectives.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "support/skip.hpp"

using namespace penstock;
using kernels::Precision;

namespace {

constexpr Precision kPrecisions[] = {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};

/// All devices except the host, and half of each.
std::vector<std::string> devices() {
  std::vector<std::string> all = kernels::devices_present();
  std::erase(all, "host");
  for (std::size_t i = 0, whole = all.size(); i < whole; ++i) all.push_back(all[i] + "/2");
  return all;
}

/// An algorithm of the library's choice may lose a digit of fp32, as Winograd's does; never the three of
/// tf32.
double tolerance(Precision precision) {
  return precision == Precision::fp32 ? 4e-5 : test::tolerance(precision);
}

/// body(backend) on each device.
template <class Body>
void on_each(const Body& body) {
  for (const std::string& device : devices()) {
    CAPTURE(device);
    body(*kernels::open_device(device));
  }
}

}  // namespace

TEST_CASE("kernels agree with float64 in every number format") {
  on_each([](kernels::Backend& backend) {
    for (const graph::Operator& op : test::kernel_cases())
      for (const Precision precision : kPrecisions)
        for (const std::int64_t samples : {1, 3})
          test::check_kernel(backend, op, samples, precision, tolerance(precision));
  });
}

TEST_CASE("sizes that fill tiles and teams agree, too") {
  on_each([](kernels::Backend& backend) {
    for (const graph::Operator& op : test::larger_kernel_cases())
      for (const Precision precision : kPrecisions)
        test::check_kernel(backend, op, 2, precision, tolerance(precision));
  });
}

TEST_CASE("a second run gives the same bits") {
  on_each([](kernels::Backend& backend) {
    for (const graph::Operator& op : test::larger_kernel_cases()) {
      CAPTURE(op.name);
      for (const Precision precision : {Precision::fp32, Precision::bf16})
        CHECK(test::results(backend, op, precision) == test::results(backend, op, precision));
    }
  });
}

TEST_CASE("tables, shared buffers, misfits and streams keep the contract") {
  on_each([](kernels::Backend& backend) {
    test::check_tables_are_added_to(backend);
    test::check_missing_rows(backend);
    test::check_misfits(backend);
    test::check_shared_buffers(backend);
    test::check_stream(backend);
  });
}

TEST_CASE("caches are evicted, once and again, in a bundle too") {
  on_each([](kernels::Backend& backend) {
    const auto stream = backend.make_stream();
    stream->evict_caches();
    stream->bundle(2, [&] { stream->evict_caches(); })();
    CHECK_NOTHROW(stream->synchronise());
  });
}

TEST_CASE("kernels report their algorithm and workspace") {
  on_each([](kernels::Backend& backend) { test::check_algorithms(backend, Precision::fp16); });
}

TEST_CASE("optimizers step by their rules") {
  on_each([](kernels::Backend& backend) { test::check_updates(backend); });
}

TEST_CASE("partitions have their own places and equal sizes") {
  for (const std::string& device : kernels::devices_present()) {
    if (device == "host") continue;
    const auto whole = kernels::open_device(device), one = kernels::open_device(device + "/2"),
               other = kernels::open_device(device + "/2");
    CHECK(one->name() == device + "/2");
    CHECK(one->place() != other->place());
    CHECK(one->identity() == other->identity());
    CHECK(one->identity() != whole->identity());
    CHECK_THROWS_AS(kernels::open_device(device + "/100000"), core::BadInput);
    const auto stream = one->make_stream(), foreign = other->make_stream();
    const auto buffer = one->allocate(kernels::Element::fp32, 4);
    CHECK_NOTHROW(one->zero(*buffer, *stream));
    CHECK_THROWS_AS(one->zero(*buffer, *foreign), core::Error);
    stream->synchronise();
  }
}

TEST_CASE("GPUs that have a library sum, scatter and gather by it") {
  std::vector<std::unique_ptr<kernels::Backend>> gpus;
  for (const std::string& device : kernels::devices_present())
    if (device != "host") gpus.push_back(kernels::open_device(device));
  std::vector<kernels::Backend*> ranks;
  for (const auto& gpu : gpus) ranks.push_back(gpu.get());
  const auto library = ranks.empty() ? nullptr : ranks.front()->collectives(ranks);
  if (library == nullptr) {
    support::skip("no two GPUs, or no NCCL");
    return;
  }
  const auto n = std::ssize(ranks);
  std::vector<std::vector<double>> sums(ranks.size()), parts(ranks.size()), wholes(ranks.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      threads.emplace_back([&, r] {
        kernels::Backend& backend = *ranks[r];
        const auto stream = backend.make_stream();
        const auto whole = backend.allocate(kernels::Element::fp32, n),
                   part = backend.allocate(kernels::Element::fp32, 1);
        const std::vector<double> ones(ranks.size(), static_cast<double>(r + 1));
        write_values(backend, *whole, ones);
        library->reduce_scatter(r, *whole, *part, *stream);
        stream->synchronise();
        parts[r] = read_values(backend, *part);
        library->all_reduce(r, *whole, *stream);
        stream->synchronise();
        sums[r] = read_values(backend, *whole);
        write_values(backend, *part, std::vector{static_cast<double>(r)});
        library->all_gather(r, *part, *whole, *stream);
        stream->synchronise();
        wholes[r] = read_values(backend, *whole);
      });
  }
  const double sum = static_cast<double>(n * (n + 1)) / 2;  // of 1, 2, ..., n
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    CHECK(sums[r] == std::vector<double>(ranks.size(), sum));
    CHECK(parts[r] == std::vector{sum});
    for (std::size_t i = 0; i < ranks.size(); ++i) CHECK(wholes[r][i] == static_cast<double>(i));
  }
}

int main(int argc, char** argv) {
  if (devices().empty()) {
    try {
      kernels::open_device("cuda:0");
    } catch (const core::BadInput& e) {
      const std::string reason = e.what();
      const bool broken = reason.find("cannot be loaded") != std::string::npos;  // built, and not usable
      std::printf("%s: %s\n", broken ? "FAILED" : "skipped", reason.c_str());
      return broken ? 1 : 77;
    }
    return 77;
  }
  const int status = doctest::Context(argc, argv).run();
  support::tell_skipped();
  return status;
}
