#include "penstock/experiment/simumax_system.hpp"

#include <doctest/doctest.h>

#include <tuple>

#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock;
using support::near;

namespace {

std::string system_of(const std::string& shapes, const std::string& more = "") {
  return R"({"sys_name": "b200_x", "accelerator": {"op": {"matmul": {"tflops": 1000.0, "accurate_efficient_factor": {)" +
         shapes + "}}" + more + "}}}";
}

std::string refusal(const std::string& text) {
  try {
    (void)experiment::parse_simumax_system(text, "s.json");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "an efficiency of a half of 1,000 TFLOP/s: 2 x 64 x 32 x 16 FLOPs take 0.13 ns, whichever way round") {
  const auto found = experiment::parse_simumax_system(
      system_of(
          R"("b=1, m=64, k=32, n=16, layout=TN": 0.5, "b=1, m=8, k=32, n=4, layout=NT, out_dtype=fp32": 0.25,
                   "b=2, m=8, k=32, n=4, layout=NN": 0.25)"),
      "s.json");
  CHECK(found.costs.device() == "b200_x");
  CHECK(found.left_out == 1);  // two products at once
  REQUIRE(found.costs.products().size() == 2);
  for (const auto& p : found.costs.products()) {
    const bool gradient = p.m == 4;  // of weights, 8 wide behind and 4 in front
    CHECK(p.n == (gradient ? 8 : 16));
    CHECK(p.k == 32);
    CHECK(p.seconds == near(gradient ? 2.0 * 8 * 32 * 4 / 0.25e15 : 2.0 * 64 * 32 * 16 / 0.5e15));
  }
}

TEST_CASE("efficiencies in percent, rates above the device's peak and memory faster than it is are refused") {
  const auto refused = [](const std::string& shapes, const std::string& more,
                          const std::string& device = "a100_x") {
    std::string text = system_of(shapes, more);
    text.replace(text.find("b200_x"), 6, device);
    return refusal(text);
  };
  const std::string one = R"("b=1, m=64, k=32, n=16": 0.7)";
  CHECK(refused(R"("b=1, m=64, k=32, n=16": 70)", "", "b200_x") ==
        "s.json: accelerator.op.matmul: 'b=1, m=64, k=32, n=16': expected an efficiency above 0 and at most "
        "1 (a "
        "share, not percent), found 70");
  CHECK(refused(one, "", "b200_x") == "");
  CHECK(refused(one, "") ==
        "s.json: accelerator.op.matmul.tflops: 1000 TFLOP/s, above the 312 TFLOP/s of a100 at its peak: is "
        "the time "
        "in another unit?");
  const auto attention = [&](const std::string& share) {
    return refused(one,
                   R"(, "sdp_fwd": {"tflops": 1000.0, "accurate_efficient_factor": {
        "batch=1, seq_len=64, head_num=2, qk_head_dim=8, v_head_dim=8": )" +
                       share + "}}",
                   "b200_x");
  };
  CHECK(attention("1.07") == "");  // of causal attention half is masked, and counted
  CHECK(attention("107").find("expected an efficiency above 0 and at most 2") != std::string::npos);
  const auto memory = [&](const std::string& rate, const std::string& share) {
    return refused(one,
                   R"(}, "bandwidth": {"default": {"gbps": )" + rate + R"(, "efficient_factor": )" + share +
                       R"(, "latency_us": 3})",
                   "b200_x");
  };
  CHECK(memory("7000", "0.9") == "");
  CHECK(memory("7000", "90").find("bandwidth.default.efficient_factor: expected an efficiency") !=
        std::string::npos);
  CHECK(memory("70000", "0.9").find("bandwidth.default.gbps: 67645.7 GB/s, above the") != std::string::npos);
}

TEST_CASE("each grouped product has its share: rows x in by in x width, and the two gradients") {
  const auto grouped = [](const std::string& stage) {
    return system_of(R"("b=1, m=1, k=1, n=1": 1)",
                     R"(, "group_matmul": {"tflops": 1000.0, "accurate_efficient_factor": {
                          "ng=20, M=8, N=32, K=16, dtype=bf16, stage=)" +
                         stage + R"(, grad=True": 0.5}})");
  };
  for (const auto& [stage, m, n, k] :
       {std::tuple{"fwd", 8, 32, 16}, {"bwd_grad_act", 8, 16, 32}, {"bwd_grad_w", 16, 32, 8}}) {
    CAPTURE(stage);
    const auto found = experiment::parse_simumax_system(grouped(stage), "s.json").costs.grouped();
    REQUIRE(found.size() == 1);
    CHECK(found[0].m == m);
    CHECK(found[0].n == n);
    CHECK(found[0].k == k);
    CHECK(found[0].seconds == near(2.0 * 8 * 32 * 16 / 0.5e15));
  }
  CHECK(refusal(grouped("bwd")).ends_with("expected stage=fwd, bwd_grad_act or bwd_grad_w"));
}

TEST_CASE("attention both ways, of two layouts the slower one") {
  const auto found = experiment::parse_simumax_system(
      system_of(R"("b=1, m=1, k=1, n=1": 1)",
                R"(, "sdp_fwd": {"tflops": 1000.0, "accurate_efficient_factor": {
                     "batch=1, seq_len=8, head_num=2, kv_head_num=2, qk_head_dim=4, v_head_dim=4, qkv_contiguous=True": 0.8,
                     "batch=1, seq_len=8, head_num=2, kv_head_num=2, qk_head_dim=4, v_head_dim=4, qkv_contiguous=False": 0.5,
                     "batch=1, seq_len=8, head_num=2, kv_head_num=2, qk_head_dim=6, v_head_dim=4": 0.5}},
                   "sdp_bwd": {"tflops": 1000.0, "accurate_efficient_factor": {
                     "batch=1, seq_len=8, head_num=2, kv_head_num=2, qk_head_dim=4, v_head_dim=4": 0.4}})"),
      "s.json");
  CHECK(found.left_out == 1);
  REQUIRE(found.costs.attention().size() == 1);
  const auto& a = found.costs.attention()[0];
  CHECK(a.heads == 2);
  CHECK(a.seconds == near(4.0 * 8 * 8 * 2 * 4 / 0.5e15));
  CHECK(a.backward == near(10.0 * 8 * 8 * 2 * 4 / 0.4e15));
  const auto again = cost::parse_kernel_tables(cost::to_yaml(found.costs), "t.yaml");
  CHECK(again.attention()[0].backward == near(a.backward, 1e-5));
}

TEST_CASE("a bandwidth in units of 2^30, its efficiency and a latency are what streaming takes") {
  const auto with = [](const std::string& found) {
    std::string text = system_of(R"("b=1, m=1, k=1, n=1": 1)");
    text.insert(text.size() - 2, R"(, "bandwidth": {"default": {)" + found + "}}");
    return text;
  };
  const auto costs = experiment::parse_simumax_system(
                         with(R"("gbps": 1000, "efficient_factor": 0.5, "latency_us": 30)"), "s.json")
                         .costs;
  REQUIRE(costs.streaming());
  CHECK(costs.streaming()->bandwidth.value() == near(500.0 * (1 << 30)));
  CHECK(costs.streaming()->latency.value() == near(30e-6));
  CHECK(refusal(with(R"("gbps": 1000, "efficient_factor": 0, "latency_us": 30)"))
            .starts_with("s.json: accelerator.bandwidth.default.efficient_factor: expected"));
  CHECK(
      !experiment::parse_simumax_system(system_of(R"("b=1, m=1, k=1, n=1": 1)"), "s.json").costs.streaming());
}

TEST_CASE("a file that is no system is refused by file and key") {
  CHECK(refusal("{}") == "s.json: accelerator: expected an object of a SimuMax system");
  CHECK(refusal("[1").starts_with("s.json:1"));
  CHECK(refusal(R"({"accelerator": {"op": {}}})") ==
        "s.json: accelerator.op.matmul: expected efficiencies by shape");
  CHECK(refusal(system_of(R"("b=1, m=64, n=16": 0.5)")) ==
        "s.json: accelerator.op.matmul: 'b=1, m=64, n=16': expected k=N, a whole number above zero");
  CHECK(refusal(system_of(R"("b=1, m=0, k=1, n=16": 0.5)"))
            .ends_with("expected m=N, a whole number above zero"));
  CHECK(refusal(system_of(R"("b=1, m=1, k=1, n=1": 0)"))
            .ends_with("expected an efficiency above 0 and at most 1, found 0"));
  CHECK(refusal(R"({"accelerator": {"op": {"matmul": {"tflops": -1}}}})") ==
        "s.json: accelerator.op.matmul.tflops: expected a number above zero");
}
