// Every kernel and pass of the host against float64, by relative norm, over poisoned results.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "kernels/cases.hpp"
#include "kernels/checks.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "support/skip.hpp"

using namespace penstock;
using kernels::Precision;
using test::check_kernel;
using test::Trial;

namespace {

/// All results of a kernel, with this many threads.
std::vector<reference::Values> results(const graph::Operator& op, int threads) {
  return test::results(*kernels::open_device("host", threads), op, Precision::fp32);
}

/// Threads that wait for each other are slow on a busy machine.
std::vector<graph::Operator> one_of_each_kind() {
  std::vector<graph::Operator> some;
  for (const graph::Operator& op : test::host_kernel_cases())
    if (some.empty() || some.back().kind != op.kind) some.push_back(op);
  return some;
}

std::ptrdiff_t threads_alive() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

graph::Operator dense(std::int64_t rows, std::int64_t in, std::int64_t out) {
  graph::Operator op;
  op.name = "dense";
  op.kind = graph::OpKind::linear;
  op.attributes = graph::Linear{rows, in, out};
  return op;
}

/// How many threads join the caller's, a fresh one, while a kernel runs.
std::ptrdiff_t helpers(int threads) {
  std::ptrdiff_t before = 0, after = 0;
  std::thread([&] {
    const auto host = kernels::open_device("host", threads);
    Trial trial(*host, dense(64, 512, 512), 1, Precision::fp32, 1);
    before = threads_alive();
    trial.run_all();
    after = threads_alive();
  }).join();
  return after - before;
}

}  // namespace

TEST_CASE("host kernels agree with float64") {
  const auto host = kernels::open_device("host", 1);
  for (const graph::Operator& op : test::host_kernel_cases())
    for (const std::int64_t samples : {1, 3}) check_kernel(*host, op, samples, Precision::fp32);
}

TEST_CASE("host kernels in bf16 agree to its precision where the processor has it") {
  const auto host = kernels::open_device("host", 1);
  if (!host->supports(Precision::bf16)) {
    support::skip("no AVX-512");
    return;
  }
  for (const graph::Operator& op : test::host_kernel_cases()) check_kernel(*host, op, 3, Precision::bf16);
}

TEST_CASE("two threads agree with float64, and a second run gives the same bits") {
  const auto host = kernels::open_device("host", 2);
  for (const graph::Operator& op : one_of_each_kind()) {
    check_kernel(*host, op, 3, Precision::fp32);
    CHECK(results(op, 2) == results(op, 2));
  }
}

TEST_CASE("tables give the same bits on any number of threads, and their gradient is added to") {
  for (const graph::Operator& op : test::host_kernel_cases())
    if (op.kind == graph::OpKind::embedding) CHECK(results(op, 1) == results(op, 3));
  test::check_tables_are_added_to(*kernels::open_device("host", 1));
}

TEST_CASE("a kernel uses the given number of threads") {
  CHECK(helpers(1) == 0);
  CHECK(helpers(3) == 2);
  CHECK_THROWS_AS(kernels::open_device("host", -1), core::BadInput);
  CHECK_THROWS_AS(kernels::open_device("host", 1025), core::BadInput);
}

TEST_CASE("an operator that the host does not support is refused by name") {
  const auto host = kernels::open_device("host", 1);
  const auto message = [&](graph::OpKind kind, Precision precision) {
    graph::Operator op = dense(1, 2, 3);
    op.kind = kind;
    try {
      host->make_kernel(op, 1, precision);
    } catch (const core::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("made");
  };
  using graph::OpKind;
  CHECK(message(OpKind::linear, Precision::fp32) == "made");
  CHECK(message(OpKind::linear, Precision::fp16).find("not in fp16") != std::string::npos);
  CHECK(message(OpKind::linear, Precision::tf32).find("not in tf32") != std::string::npos);
  for (const OpKind kind : {OpKind::input, OpKind::reshape, OpKind::profiled}) {
    CHECK_FALSE(kernels::has_kernel(kind));
    CHECK(message(kind, Precision::fp32) ==
          "operator 'dense': kind " + std::string(graph::name(kind)) + " has no kernel");
  }
  for (const OpKind kind : {OpKind::scan, OpKind::short_convolution}) {  // a replay must not step over them
    CHECK(kernels::has_kernel(kind));
    CHECK(message(kind, Precision::fp32) ==
          "operator 'dense': kind " + std::string(graph::name(kind)) + " has no kernel");
  }
  CHECK(message(OpKind::pool, Precision::fp32) ==
        "operator 'dense' (pool): shape: channels: is missing, and a kernel needs it");
  CHECK_THROWS_WITH_AS(kernels::open_device("hots"), "unknown device 'hots'; did you mean 'host'?",
                       core::BadInput);
}

TEST_CASE("operands that do not fit are a defect of the caller, rows beyond the table bad input") {
  const auto host = kernels::open_device("host", 1);
  test::check_misfits(*host);
  test::check_missing_rows(*host);
}

TEST_CASE("a sum may leave the gradient where it is, and take one tensor twice") {
  test::check_shared_buffers(*kernels::open_device("host", 1));
}

TEST_CASE("kernels report their algorithm and workspace") {
  test::check_algorithms(*kernels::open_device("host", 1), Precision::fp32);
}

TEST_CASE("the sum of buffers, copies, events and bundles") {
  const auto host = kernels::open_device("host", 1);
  test::check_stream(*host);
  const auto stream = host->make_stream();
  const auto start = stream->record_event(), end = stream->record_event();
  CHECK(start->since(*end) <= core::Seconds(0));
}

TEST_CASE("optimizers step by their rules") {
  test::check_updates(*kernels::open_device("host", 1));
}

TEST_SUITE("slow") {
  TEST_CASE("data is read from memory after caches were evicted") {
    // 2 x 128 KiB stay in the nearest caches from one sum to the next; the fastest of ten each is compared.
    const auto host = kernels::open_device("host", 1);
    const auto stream = host->make_stream();
    const auto a = host->allocate(kernels::Element::fp32, 1 << 15),
               b = host->allocate(kernels::Element::fp32, 1 << 15);
    kernels::write_random(*host, *a, 1);
    host->zero(*b, *stream);
    const auto fastest = [&](bool cold) {
      core::Seconds best(1e9);
      for (int i = 0; i < 10; ++i) {
        if (cold) stream->evict_caches();
        const auto start = stream->record_event();
        host->add(*b, *a, *stream);
        best = std::min(best, stream->record_event()->since(*start));
      }
      return best.value();
    };
    fastest(false);
    const double warm = fastest(false);
    CHECK(fastest(true) > 1.2 * warm);
  }
}
