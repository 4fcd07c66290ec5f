#include "src/cost/scan_kernels.hpp"

#include <doctest/doctest.h>

#include "models/delta_net.hpp"
#include "models/selective_scan.hpp"
#include "models/state_space.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/backward_sweep.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/launches.hpp"
#include "penstock/cost/op_shard.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/scan_work.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::OpId;
using graph::LinearScan;
using graph::ScanForm;
using support::near;

namespace {

double product_flops(const std::vector<cost::ScanKernel>& kernels) {
  double out = 0;
  for (const cost::ScanKernel& kernel : kernels)
    for (const graph::Matmul& p : kernel.products)
      out += 2.0 * static_cast<double>(p.batch * p.rows) * static_cast<double>(p.inner * p.columns);
  return out;
}

LinearScan drawn_scan(core::Random& random, ScanForm form) {
  LinearScan out{.rows = random.between(1, 200),
                 .key = random.between(1, 32),
                 .value = random.between(1, 32),
                 .chunk = random.between(1, 64),
                 .form = form};
  out.groups = random.between(1, 4);
  out.heads = out.groups * random.between(1, 4);
  return out;
}

/// Products that backward kernels repeat, for one head and chunk.
double repeated(const LinearScan& s) {
  const double c = static_cast<double>(s.chunk), k = static_cast<double>(s.key),
               v = static_cast<double>(s.value);
  const double heads = static_cast<double>(s.heads), groups = static_cast<double>(s.key_groups());
  if (s.form == ScanForm::state_space)  // scores, states; scores' gradient for decays
    return groups * c * c * k + heads * (c * k * v + c * c * v);
  // Factors, corrected values and states; queries by keys, keys by keys; gradient of the inverse.
  return heads * (c * c * (k + v) + 2 * c * k * v + 2 * c * c * k + 2 * c * c * c);
}

cluster::DeviceType device() {
  return {"v100", core::Bytes(1), core::Bandwidth(1e12), {core::FlopRate(1e13)}, 80, core::Seconds(5e-6)};
}

constexpr std::int64_t kTokens = 128;

/// A delta net, a state space or a selective scan behind an input of width 8.
graph::OpGraph mixer(ScanForm form, int element_bytes = 4) {
  models::Layers net("m", element_bytes);
  const models::Tensor x = net.input("x", {kTokens, 8});
  if (form == ScanForm::selective)
    models::selective_scan(net, "mixer", x, {.channels = 16, .state = 2, .step_rank = 3});
  else if (form == ScanForm::state_space)
    models::state_space(net, "mixer", x, {.heads = 4, .head_width = 4, .groups = 2, .state = 3, .chunk = 64});
  else
    models::delta_net(net, "mixer", x, {.key_heads = 2, .value_heads = 4, .key_width = 4, .value_width = 8});
  return net.build();
}

OpId found(const graph::OpGraph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).name == "mixer." + name) return OpId(v);
  FAIL(name);
  return {};
}

}  // namespace

TEST_CASE(
    "kernels of chunked scans multiply what the scan counts, backward twice that and what they repeat") {
  core::Random random(11);
  for (int run = 0; run < 60; ++run)
    for (const ScanForm form : {ScanForm::delta, ScanForm::channel_delta, ScanForm::state_space}) {
      const LinearScan scan = drawn_scan(random, form);
      const cost::ScanKernels kernels = cost::scan_kernels(scan);
      const double once = graph::scan_flops(scan).value();
      CHECK(product_flops(kernels.forward) == near(once));
      CHECK(product_flops(kernels.backward) ==
            near(2 * once + 2 * static_cast<double>(scan.chunks()) * repeated(scan)));
    }
}

TEST_CASE("a selective scan is one kernel each way, without products") {
  // 10 tokens, 6 channels, state 4, chunks of 4: 3 chunks.
  const LinearScan scan{
      .rows = 10, .heads = 6, .groups = 1, .key = 4, .value = 1, .chunk = 4, .form = ScanForm::selective};
  const auto [forward, backward] = cost::scan_kernels(scan);
  REQUIRE(forward.size() == 1);
  REQUIRE(backward.size() == 1);
  CHECK(forward[0].vector_flops == graph::scan_flops(scan).value());
  CHECK(backward[0].vector_flops == 3 * graph::scan_flops(scan).value());
  // Read: keys and queries 2 x 40, channels and steps 60 each; written: 60. Two states of 24 per chunk, in fp32.
  CHECK(forward[0].numbers == 80 + 3 * 60);
  CHECK(forward[0].whole == 2 * 3 * 24);
}

TEST_CASE("a state space's bytes by hand") {
  // 6 tokens in 2 chunks of 3, 4 heads in 2 groups, state 2, values of 5. Numbers:
  //   keys 6 x 2 x 2 = 24, values 6 x 4 x 5 = 120, states 4 x 2 x 10 = 80
  //   scores of groups 2 x 2 x 9 = 36, one per token and head 24
  const auto kernels =
      cost::scan_kernels({.rows = 6, .heads = 4, .groups = 2, .key = 2, .value = 5, .chunk = 3}).forward;
  REQUIRE(kernels.size() == 5);
  CHECK(kernels[0].numbers == 24);        // steps
  CHECK(kernels[0].whole == 48);          // positive steps, and sums of decays
  CHECK(kernels[1].numbers == 24 + 120);  // keys by values
  CHECK(kernels[1].whole == 80 + 48);     // states
  CHECK(kernels[2].numbers == 80);        // states, handed on
  CHECK(kernels[2].vector_flops == 160);
  CHECK(kernels[3].numbers == 48);  // queries by keys
  CHECK(kernels[3].whole == 36);
  CHECK(kernels[4].numbers == 24 + 240 + 80);  // queries, values, outputs, states
  CHECK(kernels[4].whole == 36 + 48);
}

TEST_CASE("analytic time of a scan: each kernel computes or streams, whichever is longer") {
  const auto g = mixer(ScanForm::selective);
  const OpId scan = found(g, "scan");
  const cost::AnalyticCosts costs;
  const auto time = costs.op_time(g, scan, device(), 3);
  // 128 x 16 channels: 9 x 2 + 1 + 1 FLOPs each; 9 Tflop/s. 128 x 2 x 2 keys and queries, 5 tensors of 128 x 16
  // with the gate and what it multiplies, and two states of 32: 830 GB/s.
  const double flops = 3 * 128 * 16 * 20.0, bytes = 4 * 3 * (512 + 5 * 2048 + 64.0);
  CHECK(flops / 9e12 < bytes / 0.83e12);
  CHECK(time.forward.value() == near(5e-6 + bytes / 0.83e12));
  CHECK(time.weight_gradient == core::Seconds(0));  // made in the same pass
  cluster::DeviceType slow = device();
  slow.peak[0] = core::FlopRate(1e11);
  CHECK(costs.op_time(g, scan, slow, 3).forward.value() == near(5e-6 + flops / 9e10));
  CHECK(costs.op_time(g, scan, slow, 3).input_gradient.value() ==
        near(5e-6 + 3 * (flops - 3 * 128 * 16) / 9e10, 0.2));
}

TEST_CASE("half of the heads are half of the work of a scan") {
  for (const ScanForm form : {ScanForm::delta, ScanForm::state_space, ScanForm::selective}) {
    const auto g = mixer(form);
    const OpId scan = found(g, "scan");
    const cost::AnalyticCosts costs;
    const cost::OpShard half = cost::op_shard(g.op(scan), plan::Partition::column, 0.5);
    CHECK(!half.whole_input);
    CHECK(!half.whole_output);
    CHECK(costs.part_time(g, scan, device(), 2, half) == costs.op_time(g, scan, device(), 1));
    const auto part = cost::divided(g.op(scan), half);
    REQUIRE(part);
    CHECK(std::get<LinearScan>(*part).heads * 2 == as<LinearScan>(g.op(scan)).heads);
    CHECK(std::get<graph::ShortConvolution>(
              *cost::divided(g.op(found(g, "conv")), {plan::Partition::column, 0.25}))
                  .channels *
              4 ==
          as<graph::ShortConvolution>(g.op(found(g, "conv"))).channels);
  }
}

TEST_CASE("tables give a scan's products their rate") {
  // Every product at 1 Gflop/s, and memory without cost: a launch per kernel, and all FLOPs at that rate.
  const std::vector<cost::ProductTime> products{{1, 1, 1, 2e-9},
                                                {4096, 4096, 4096, 2e-9 * 4096 * 4096 * 4096}};
  const cost::TableCosts costs("NVIDIA V100", products, {},
                               cost::Streaming{core::Bandwidth(1e30), core::Seconds(1e-6)});
  for (const ScanForm form : {ScanForm::delta, ScanForm::state_space}) {
    const auto g = mixer(form, 2);
    const OpId id = found(g, "scan");
    const cost::ScanKernels kernels = cost::scan_kernels(as<LinearScan>(g.op(id)));
    const auto time = costs.op_time(g, id, device(), 3);
    CHECK(time.forward.value() ==
          near(1e-6 * static_cast<double>(kernels.forward.size()) + 3e-9 * g.op(id).forward_flops.value(),
               1e-6));
    CHECK(time.input_gradient.value() ==
          near(1e-6 * static_cast<double>(kernels.backward.size()) + 3e-9 * product_flops(kernels.backward),
               1e-6));
  }
}

TEST_CASE("launches of a mixer's kernels") {
  const auto launched = [](const graph::OpGraph& g, const std::string& name) {
    return cost::launches(g, found(g, name), 4);
  };
  const auto delta = mixer(ScanForm::delta), space = mixer(ScanForm::state_space);
  // Norms of queries and keys, decays, steps, keys by keys, factors, states, outputs.
  CHECK(launched(delta, "scan").forward == 8);
  CHECK(launched(delta, "scan").input_gradient == 12);
  CHECK(launched(delta, "scan").weight_gradient == 0);
  CHECK(launched(space, "scan").forward == 5);
  CHECK(launched(space, "scan").input_gradient == 14);
  CHECK(launched(delta, "conv").forward == 1);
  CHECK(launched(delta, "conv").input_gradient == 1);
  CHECK(launched(delta, "conv").weight_gradient == 0);
}

TEST_CASE("gradients of scans and short convolutions do not wait for a pass of weight gradients") {
  const auto g = mixer(ScanForm::state_space);
  CHECK(!cost::waits_for_weights(g.op(found(g, "scan")), cluster::SplitBackward::operands));
  CHECK(!cost::waits_for_weights(g.op(found(g, "conv")), cluster::SplitBackward::operands));
  CHECK(cost::waits_for_weights(g.op(found(g, "in_proj")), cluster::SplitBackward::operands));
}

TEST_CASE("scratch of a delta rule: factors, values and states, with their gradients") {
  // 128 tokens, 4 heads, keys of 4, values of 8, 2 chunks of 64. Numbers: 3 x 2048 keys, 4 x 4096 values, twice
  // 2 x 4 x 32 states.
  const auto g = mixer(ScanForm::delta);
  const cost::Scratch scratch = cost::plain_scratch(g, found(g, "scan"));
  CHECK(scratch.input_gradient == cost::Line{{}, core::Bytes(4 * (3 * 2048 + 4 * 4096 + 2 * 256))});
  CHECK(scratch.handed == cost::Line{});
}
