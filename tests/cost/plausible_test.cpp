#include "penstock/cost/plausible.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/profile.hpp"
#include "support/near.hpp"

using namespace penstock;
using support::near;

namespace {

template <class Read>
std::string refusal(const Read& read) {
  try {
    read();
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

std::string tables(const std::string& device, const std::string& rows) {
  return refusal([&] {
    (void)cost::parse_kernel_tables("penstock_kernel_tables: 1\ndevice: " + device + "\n" + rows, "t.yaml");
  });
}

std::string profile(const std::string& times) {
  return refusal([&] {
    (void)cost::parse_profile("penstock_profile: 1\ndevice: V100\noperators:\n  a: {forward: {" + times +
                                  "}, backward: {1: 1ms}}\n",
                              "p.yaml");
  });
}

}  // namespace

TEST_CASE("a rate is held to the peak of the device by its vendor's name") {
  constexpr double kPeak = 312e12;
  CHECK(cost::above_peak(kPeak, 1, "NVIDIA A100-SXM4-80GB") == "");
  CHECK(cost::above_peak(kPeak * 1.01, 1, "NVIDIA A100-SXM4-80GB") ==
        "315.12 TFLOP/s, above the 312 TFLOP/s of a100 at its peak: is the time in another unit?");
  CHECK(cost::above_peak(900e12, 1, "NVIDIA H100 80GB HBM3") == "");
  CHECK(cost::above_peak(900e12, 1, "NVIDIA A100-SXM4-80GB") != "");
  CHECK(cost::above_peak(19e15, 1, "a device of tomorrow") == "");
  CHECK(cost::above_peak(21e15, 1, "a device of tomorrow") != "");
  CHECK(cost::above_memory_bandwidth(2e12, 1, "NVIDIA A100-SXM4-80GB") == "");
  CHECK(cost::above_memory_bandwidth(2.1e12, 1, "NVIDIA A100-SXM4-80GB") != "");
}

TEST_CASE("large products far below the peak, and kernels shorter than any, are of another unit") {
  CHECK(cost::far_below_peak(3.2e12, "NVIDIA A100-SXM4-80GB") == "");
  CHECK(cost::far_below_peak(2.5e12, "NVIDIA A100-SXM4-80GB") ==
        "2.5 TFLOP/s at most, 0.8 % of the peak of a100: are times in another unit?");
  CHECK(cost::far_below_peak(2.5e12, "a device of tomorrow") == "");
  CHECK(cost::far_below_peak(0, "NVIDIA A100-SXM4-80GB") == "");
  CHECK(cost::below_any_kernel(1e-7) == "");
  CHECK(cost::above_any_kernel(1000) == "");
  CHECK(cost::above_any_kernel(9e15) == "9e+15 s, more than any kernel takes: is the time in another unit?");
  CHECK(cost::below_any_kernel(5e-9) == "0.005 us, less than any kernel takes: is the time in another unit?");
  // Milliseconds where microseconds are expected make 4096^3 products of 0.6 ms last 0.6 s.
  CHECK(tables("A100", "products: |\n  64 64 64 5000\n  4096 4096 4096 600000\n")
            .find("products: expected microseconds; "
                  "products reach 0.2291 TFLOP/s") != std::string::npos);
  CHECK(tables("A100", "products: |\n  64 64 64 5000\n") == "taken");  // too small to judge
}

TEST_CASE("an efficiency is a share, and MFU at most the whole") {
  CHECK(cost::no_efficiency(1) == "");
  CHECK(cost::no_efficiency(0.001) == "");
  CHECK(cost::no_efficiency(0) == "expected an efficiency above 0 and at most 1, found 0");
  CHECK(cost::no_efficiency(70) ==
        "expected an efficiency above 0 and at most 1 (a share, not percent), found 70");
  CHECK(cost::above_whole(1) == "");
  CHECK(cost::above_whole(2.413) == "MFU 241.3 %: no device computes faster than its peak");
}

TEST_CASE("kernel tables in another unit are refused by row") {
  // 2 x 4096^3 FLOPs in 0.5 ms are 275 TFLOP/s.
  CHECK(tables("A100", "products: |\n  64 64 64 5\n  4096 4096 4096 500\n") == "taken");
  CHECK(tables("A100", "products: |\n  64 64 64 5\n  4096 4096 4096 0.5\n") ==
        "t.yaml:3: products: row 2: expected microseconds; this is 274878 TFLOP/s, above the 312 TFLOP/s of "
        "a100 at "
        "its peak: is the time in another unit?");
  const std::string product = "products: |\n  64 64 64 5\n";
  CHECK(tables("A100", product + "grouped: |\n  4096 4096 4096 0.5\n").find("grouped: row 1") !=
        std::string::npos);
  // Half of 4 x 4096^2 x 32 x 128 FLOPs is causal attention's: 0.137e12.
  CHECK(tables("A100", product + "attention: |\n  1 4096 32 128 500 1200\n") == "taken");
  CHECK(tables("A100", product + "attention: |\n  1 4096 32 128 0.5\n").find("attention: row 1") !=
        std::string::npos);
  CHECK(tables("A100", product + "attention: |\n  1 4096 32 128 500 1.2\n").find("attention: row 1") !=
        std::string::npos);
  CHECK(tables("A100", product + "all_reduce: |\n  8 1073741824 5000\n") == "taken");
  CHECK(
      tables("A100", product + "all_reduce: |\n  8 1024 20\n  8 1073741824 5\n").find("all_reduce: row 2") !=
      std::string::npos);
  CHECK(tables("A100", "streaming: {bandwidth: 1.5TB/s, latency: 3us}\n" + product) == "taken");
  CHECK(tables("A100", "streaming: {bandwidth: 15TB/s, latency: 3us}\n" + product)
            .find("bandwidth: 15000 GB/s, above") != std::string::npos);
}

TEST_CASE("a profile whose time falls as the batch grows is refused; what scatters is not") {
  CHECK(profile("1: 4ms, 8: 1ms") ==
        "p.yaml:4: operators.a.forward: 4.00 ms at 1, but only 1.00 ms at 8: time falls as the size grows");
  CHECK(profile("1: 1ms, 2: 4ms, 4: 2ms").find("4.00 ms at 2, but only 2.00 ms at 4") != std::string::npos);
  CHECK(profile("1: 1ms, 2: 0.95ms, 4: 0.91ms") == "taken");
  CHECK(profile("1: 1ms, 2: 0.95ms, 4: 0.91ms, 8: 0.89ms") != "taken");
}

TEST_CASE("beyond the largest size no time is below that of the largest size") {
  const cost::TimeCurve scattered{{1, 2}, {1e-3, 0.95e-3}};
  for (const std::int64_t n : {2, 3, 10, 1000, 1'000'000}) CHECK(scattered.at(n, 0) == near(0.95e-3));
  const cost::TimeCurve rising{{1, 2}, {1e-3, 1.5e-3}};
  CHECK(rising.at(4, 0) == near(2.5e-3));
}
