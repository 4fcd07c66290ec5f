// Every kernel and pass of the host against float64, by relative norm, over poisoned results.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "kernels/cases.hpp"
#include "kernels/trial.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"

using namespace penstock;
using kernels::Number;
using kernels::Pass;
using test::distance;
using test::Trial;

namespace {

/// fp32 has 24 bits of mantissa, bf16 has 8; results are sums of a few roundings.
double tolerance(Number number) {
  return number == Number::fp32 ? 2e-6 : 3e-2;
}

/// A gradient may be zero but for rounding: that of a bias of keys is, as softmax does not see it.
void compare(const std::vector<reference::Values>& found, const std::vector<reference::Values>& expected,
             double least, double most) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    if (!found[i].empty()) CHECK(distance(found[i], expected[i], least) <= most);
  }
}

void compare_all(kernels::Backend& host, const graph::Operator& op, std::int64_t samples, Number number) {
  CAPTURE(op.name);
  CAPTURE(samples);
  CAPTURE(kernels::name(number));
  Trial trial(host, op, samples, number, 100 + static_cast<std::uint64_t>(samples));
  trial.run_all();
  const auto operands = trial.operands();
  CHECK(distance(trial.output(), reference::forward(op, samples, operands)) <= tolerance(number));
  const auto seed = trial.output_gradient();
  const auto found = trial.gradients(), expected = reference::gradients(op, samples, operands, seed);
  const double least = test::length(seed) / 2;
  if (trial.kernel().has(Pass::input_gradient))
    compare(found.inputs, expected.inputs, least, tolerance(number));
  compare(found.parameters, expected.parameters, least, tolerance(number));
}

/// All results of a kernel, with this many threads.
std::vector<reference::Values> results(const graph::Operator& op, int threads) {
  const auto host = kernels::open_device("host", threads);
  Trial trial(*host, op, 3, Number::fp32, 5);
  trial.run_all();
  std::vector<reference::Values> all = {trial.output()};
  for (const auto& values : trial.gradients().inputs) all.push_back(values);
  for (const auto& values : trial.gradients().parameters) all.push_back(values);
  return all;
}

/// Threads that wait for each other are slow on a busy machine.
std::vector<graph::Operator> one_of_each_kind() {
  std::vector<graph::Operator> some;
  for (const graph::Operator& op : test::kernel_cases())
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
  op.shape = {{"rows", rows}, {"in", in}, {"out", out}};
  return op;
}

/// How many threads join the caller's, a fresh one, while a kernel runs.
std::ptrdiff_t helpers(int threads) {
  std::ptrdiff_t before = 0, after = 0;
  std::thread([&] {
    const auto host = kernels::open_device("host", threads);
    Trial trial(*host, dense(64, 512, 512), 1, Number::fp32, 1);
    before = threads_alive();
    trial.run_all();
    after = threads_alive();
  }).join();
  return after - before;
}

}  // namespace

TEST_CASE("host kernels agree with float64") {
  const auto host = kernels::open_device("host", 1);
  for (const graph::Operator& op : test::kernel_cases())
    for (const std::int64_t samples : {1, 3}) compare_all(*host, op, samples, Number::fp32);
}

TEST_CASE("host kernels in bf16 agree to its precision where the processor has it") {
  const auto host = kernels::open_device("host", 1);
  if (!host->supports(Number::bf16)) {
    MESSAGE("skipped: no AVX-512");
    return;
  }
  for (const graph::Operator& op : test::kernel_cases()) compare_all(*host, op, 3, Number::bf16);
}

TEST_CASE("two threads agree with float64, and a second run gives the same bits") {
  const auto host = kernels::open_device("host", 2);
  for (const graph::Operator& op : one_of_each_kind()) {
    compare_all(*host, op, 3, Number::fp32);
    CHECK(results(op, 2) == results(op, 2));
  }
}

TEST_CASE("tables give the same bits on any number of threads, and their gradient is added to") {
  for (const graph::Operator& op : test::kernel_cases()) {
    if (op.kind != graph::OpKind::embedding) continue;
    CHECK(results(op, 1) == results(op, 3));
    const auto host = kernels::open_device("host", 1);
    Trial trial(*host, op, 3, Number::fp32, 5);
    trial.run_all();
    const auto once = trial.gradients().parameters[0];
    trial.run(Pass::weight_gradient);
    const auto twice = trial.gradients().parameters[0];
    for (std::size_t i = 0; i < once.size(); ++i)
      CHECK(twice[i] == doctest::Approx(2 * once[i]).epsilon(1e-5));
  }
}

TEST_CASE("a kernel uses as many threads as it was told") {
  CHECK(helpers(1) == 0);
  CHECK(helpers(3) == 2);
  CHECK_THROWS_AS(kernels::open_device("host", -1), core::BadInput);
  CHECK_THROWS_AS(kernels::open_device("host", 1025), core::BadInput);
}

TEST_CASE("what the host cannot do is refused by name") {
  const auto host = kernels::open_device("host", 1);
  const auto message = [&](graph::OpKind kind, Number number) {
    graph::Operator op = dense(1, 2, 3);
    op.kind = kind;
    try {
      host->make_kernel(op, 1, number);
    } catch (const core::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("made");
  };
  using graph::OpKind;
  CHECK(message(OpKind::linear, Number::fp32) == "made");
  CHECK(message(OpKind::linear, Number::fp16).find("not in fp16") != std::string::npos);
  CHECK(message(OpKind::linear, Number::tf32).find("not in tf32") != std::string::npos);
  for (const OpKind kind : {OpKind::input, OpKind::reshape, OpKind::profiled}) {
    CHECK_FALSE(kernels::has_kernel(kind));
    CHECK(message(kind, Number::fp32) ==
          "operator 'dense': kind " + std::string(graph::name(kind)) + " has no kernel");
  }
  CHECK(message(OpKind::pool, Number::fp32) ==
        "operator 'dense' (pool): shape: channels: is missing, and a kernel needs it");
  CHECK_THROWS_WITH_AS(kernels::open_device("hots"), "unknown device 'hots'; did you mean 'host'?",
                       core::BadInput);
}

TEST_CASE("operands that do not fit are a defect of the caller, rows beyond the table bad input") {
  const auto host = kernels::open_device("host", 1);
  Trial trial(*host, dense(2, 3, 4), 1, Number::fp32, 1);
  std::swap(trial.buffers().inputs[0], trial.buffers().output);
  CHECK_THROWS_AS(trial.run(Pass::forward), core::Error);
  for (const graph::Operator& op : test::kernel_cases()) {
    if (op.kind != graph::OpKind::embedding) continue;
    Trial table(*host, op, 1, Number::fp32, 1);
    kernels::write_values(*host, *table.buffers().inputs[0], reference::Values(11, 6));
    CHECK_NOTHROW(table.run(Pass::forward));
    kernels::write_values(*host, *table.buffers().inputs[0], reference::Values(11, 7));
    CHECK_THROWS_AS(table.run(Pass::forward), core::BadInput);
  }
}

TEST_CASE("a sum may leave the gradient where it is, and take one tensor twice") {
  const auto host = kernels::open_device("host", 1);
  for (const graph::Operator& op : test::kernel_cases()) {
    if (op.name != "sum") continue;
    Trial trial(*host, op, 1, Number::fp32, 1);
    auto& buffers = trial.buffers();
    buffers.inputs[1] = buffers.inputs[2] = buffers.inputs[0];
    buffers.input_gradients = {buffers.output_gradient, buffers.output_gradient, buffers.input_gradients[2]};
    const auto seed = trial.output_gradient();
    trial.run_all();
    CHECK(trial.output_gradient() == seed);
    CHECK(trial.gradients().inputs[2] == seed);
    CHECK(distance(trial.output(), reference::forward(op, 1, trial.operands())) < 1e-6);
  }
}

TEST_CASE("kernels tell their algorithm and workspace") {
  const auto host = kernels::open_device("host", 1);
  for (const graph::Operator& op : test::kernel_cases()) {
    CAPTURE(op.name);
    const auto kernel = host->make_kernel(op, 1, Number::fp32);
    for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient}) {
      CHECK(kernel->algorithm(pass).empty() != kernel->has(pass));
      CHECK(kernel->workspace(pass) >= core::Bytes(0));
    }
  }
}

TEST_CASE("the sum of buffers, copies, marks and bundles") {
  const auto host = kernels::open_device("host", 1);
  const auto stream = host->make_stream();
  const auto a = host->allocate(kernels::Element::fp32, 3), b = host->allocate(kernels::Element::fp32, 3);
  kernels::write_values(*host, *a, std::vector<double>{1, 2, 3});
  host->zero(*b, *stream);
  const auto start = stream->mark();
  stream->bundle(4, [&] { host->add(*b, *a, *stream); })();
  stream->synchronise();
  CHECK(kernels::read_values(*host, *b) == std::vector<double>{4, 8, 12});
  host->copy(*a, *b, *stream);
  CHECK(kernels::read_values(*host, *a) == std::vector<double>{4, 8, 12});
  const auto end = stream->mark();
  CHECK(end->since(*start) > core::Seconds(0));
  CHECK(start->since(*end) < core::Seconds(0));
}

TEST_SUITE("slow") {
  TEST_CASE("what was in the caches is read from memory after they were evicted") {
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
        const auto start = stream->mark();
        host->add(*b, *a, *stream);
        best = std::min(best, stream->mark()->since(*start));
      }
      return best.value();
    };
    fastest(false);
    const double warm = fastest(false);
    CHECK(fastest(true) > 1.2 * warm);
  }
}
