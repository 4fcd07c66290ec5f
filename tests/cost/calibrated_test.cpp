#include "penstock/cost/calibrated.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/cost/analytic.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using namespace penstock::cost;
using graph::OpKind;
constexpr auto of = support::bare_calibration;
constexpr auto point = support::cold_point;

namespace {

/// One operator without inputs, weights or traffic: `flops` per sample forward, nothing else.
graph::OpGraph one(OpKind kind, const Shape& shape, double flops, int element_bytes = 4) {
  graph::GraphBuilder builder("one", element_bytes);
  graph::Operator op;
  op.name = "op";
  op.kind = kind;
  op.attributes = graph::attributes_of(kind, shape);
  op.forward_flops = core::Flops(flops);
  builder.add(op);
  return builder.build();
}

MeasuredKernel kernel(OpKind kind, Shape shape, double flops, std::vector<KernelPoint> points) {
  return {
      {kind, std::move(shape), cluster::Precision::fp32}, {{core::Flops(flops)}, {}, {}}, std::move(points)};
}

const cluster::DeviceType kDevice{"T1", core::Bytes(1 << 30), core::Bandwidth(1e11), {core::FlopRate(1e12)},
                                  1,    core::Seconds(0)};

PassEstimate forward(const Calibration& calibration, const graph::OpGraph& graph, std::int64_t samples,
                     const OpShard& part = {}) {
  return CalibratedCosts(calibration)
      .estimate(graph, core::OpId(0), kDevice, samples, part)[graph::Pass::forward];
}

/// On the device of 1 TFLOP/s 1 GFLOP per sample takes 1 ms at best; measured are 4, 6 and 10 ms.
const Shape kLayer = {{"rows", 1}, {"in", 100}, {"out", 50}};
Calibration layer() {
  return of({kernel(OpKind::linear, kLayer, 1e9,
                    {point(graph::Pass::forward, 2, 4e-3), point(graph::Pass::forward, 4, 6e-3),
                     point(graph::Pass::forward, 8, 10e-3)})});
}

}  // namespace

TEST_CASE("a measured point is taken as it is, with its interval") {
  const auto hit = forward(layer(), one(OpKind::linear, kLayer, 1e9), 4);
  CHECK(hit.origin == Origin::measured);
  CHECK(hit.time.value() == 6e-3);
  CHECK(hit.low.value() == support::near(6e-3 * 0.99));
  CHECK(hit.high.value() == support::near(6e-3 * 1.01));
}

TEST_CASE("an operator with equal attributes that does less runs the same kernel, a part of one does not") {
  CHECK(forward(layer(), one(OpKind::linear, kLayer, 0.5e9), 4).origin == Origin::measured);
  CHECK(forward(layer(), one(OpKind::linear, kLayer, 0.5e9), 4).time.value() == 6e-3);
  // One that does more than any that was measured: at the utilisation measured, 4 of 6 ms.
  const auto more = forward(layer(), one(OpKind::linear, kLayer, 2e9), 4);
  CHECK(more.origin != Origin::measured);
  CHECK(more.time.value() == support::near(12e-3));
}

TEST_CASE("rows of a product count as samples") {
  // 4 samples of 2 rows are 8 rows: measured, 10 ms. 3 rows of one sample: halfway from 2 to 4.
  const Shape two = {{"rows", 2}, {"in", 100}, {"out", 50}}, three = {{"rows", 3}, {"in", 100}, {"out", 50}};
  const auto eight = forward(layer(), one(OpKind::linear, two, 2e9), 4);
  CHECK(eight.origin == Origin::measured);
  CHECK(eight.time.value() == 10e-3);
  CHECK(forward(layer(), one(OpKind::linear, three, 3e9), 1).time.value() == support::near(5e-3));
}

TEST_CASE("two measurements of equally many rows count by their mean") {
  Calibration twice = layer();
  const Shape two = {{"rows", 2}, {"in", 100}, {"out", 50}};
  twice.kernels.push_back(kernel(OpKind::linear, two, 2e9, {point(graph::Pass::forward, 4, 12e-3)}));
  CHECK(forward(twice, one(OpKind::linear, kLayer, 1e9), 8).time.value() == support::near(11e-3));
}

TEST_CASE("between batch sizes time is linear, and as far off as points left out were") {
  // 3 of 2..4 samples: halfway from 4 to 6 ms. Left out, 4 samples would be 4 + (10 - 4) / 3 = 6 ms: no error
  // at all.
  const auto exact = forward(layer(), one(OpKind::linear, kLayer, 1e9), 3);
  CHECK(exact.origin == Origin::interpolated);
  CHECK(exact.time.value() == support::near(5e-3));
  CHECK(exact.high.value() == support::near(5e-3 * 1.01));
  Calibration told = layer();
  told.leave_one_out = {{OpKind::linear, Fold::samples_inside, 3, 0.1, 0.25}};
  const auto wide = forward(told, one(OpKind::linear, kLayer, 1e9), 3);
  CHECK(wide.high.value() == support::near(5e-3 * 1.01 * 1.25));
  CHECK(wide.low.value() == support::near(5e-3 * 0.99 / 1.25));
}

TEST_CASE("beyond the measured batch sizes utilisation is held") {
  // At 8 samples 8 of 10 ms are work: 80 %. 16 samples at 80 %: 20 ms. At 2 samples 50 %: one sample takes 2
  // ms.
  const auto more = forward(layer(), one(OpKind::linear, kLayer, 1e9), 16);
  CHECK(more.origin == Origin::extrapolated);
  CHECK(more.time.value() == support::near(20e-3));
  const auto fewer = forward(layer(), one(OpKind::linear, kLayer, 1e9), 1);
  CHECK(fewer.origin == Origin::extrapolated);
  CHECK(fewer.time.value() == support::near(2e-3));
}

TEST_CASE("the launch overhead is no part of utilisation") {
  // 1 ms of launch: 2 samples take 1 + 2 ms at best and 4 measured, 75 %; one sample (1 + 1) / 75 %.
  Calibration slow = layer();
  slow.launch_overhead = core::Seconds(1e-3);
  CHECK(forward(slow, one(OpKind::linear, kLayer, 1e9), 1).time.value() == support::near(2e-3 / 0.75));
}

TEST_CASE("a shape between measured ones borrows their utilisation") {
  // One octave from 50 outputs (50 %) and one from 200 (25 %): the geometric mean, 2 samples of 2 GFLOP
  // at 35.4 %.
  const Shape wide = {{"rows", 1}, {"in", 100}, {"out", 200}},
              asked = {{"rows", 1}, {"in", 100}, {"out", 100}};
  const auto both = of({kernel(OpKind::linear, kLayer, 1e9, {point(graph::Pass::forward, 2, 4e-3)}),
                        kernel(OpKind::linear, wide, 4e9, {point(graph::Pass::forward, 2, 32e-3)})});
  const auto borrowed = forward(both, one(OpKind::linear, asked, 2e9), 2);
  CHECK(borrowed.origin == Origin::interpolated);
  CHECK(borrowed.time.value() == support::near(4e-3 / std::sqrt(0.5 * 0.25)));
  // The wider one by itself does not enclose it.
  const auto alone = forward(of({both.kernels[1]}), one(OpKind::linear, asked, 2e9), 2);
  CHECK(alone.origin == Origin::extrapolated);
  CHECK(alone.time.value() == support::near(4e-3 / 0.25));
  CHECK(alone.high.value() ==
        support::near(2 * alone.time.value()));  // no other shape to leave out: a factor of 2
  CHECK(alone.low.value() == support::near(alone.time.value() / 2));
  // Between the shapes, with more samples than either was measured with.
  CHECK(forward(both, one(OpKind::linear, asked, 2e9), 3).origin == Origin::extrapolated);
}

TEST_CASE("products borrow from like work, other kernels from like extents") {
  // The query has 1 GFLOP. Of two kernels one has the same work at 50 %, the other nearly the same extents
  // and 1024 times the work at 25 %. For a product the first counts, so it takes 2 ms; for a table the
  // second, 4 ms.
  const Shape few = {{"in", 10}, {"out", 10'000}}, table = {{"rows", 10}, {"width", 10'000}};
  for (const auto& [kind, like, expected] :
       {std::tuple{OpKind::linear, few, 2e-3}, {OpKind::embedding, table, 4e-3}}) {
    const auto of_size = [&](std::int64_t first, std::int64_t second) -> Shape {
      return {{like[0].first, first}, {like[1].first, second}};
    };
    const auto both =
        of({kernel(kind, like, 1e9, {point(graph::Pass::forward, 1, 2e-3)}),
            kernel(kind, of_size(1000, 101), 1024e9, {point(graph::Pass::forward, 1, 1024 * 4e-3)})});
    const auto borrowed = forward(both, one(kind, of_size(1000, 100), 1e9), 1);
    CHECK(borrowed.time.value() == support::near(expected, 1e-3));
  }
  // Among convolutions with the same work the one with the same window counts, however many channels it has.
  const auto windows = of({kernel(OpKind::convolution, {{"out", 10}, {"kernel_height", 3}}, 1e9,
                                  {point(graph::Pass::forward, 1, 2e-3)}),
                           kernel(OpKind::convolution, {{"out", 90}, {"kernel_height", 1}}, 1e9,
                                  {point(graph::Pass::forward, 1, 4e-3)})});
  const auto three = one(OpKind::convolution, {{"out", 80}, {"kernel_height", 3}}, 1e9);
  CHECK(forward(windows, three, 1).time.value() == support::near(2e-3, 1e-3));
}

TEST_CASE("between sequence lengths of attention the square root of time is linear") {
  // Time grows with the square: 1 ms at 128 and 9 ms at 384 are 4 ms at 256, where a line would give 5.
  const auto shape = [](std::int64_t length) -> Shape {
    return {{"queries", length}, {"keys", length}, {"hidden", 64}, {"heads", 4}};
  };
  const auto measured =
      of({kernel(OpKind::attention, shape(128), 1e6, {point(graph::Pass::forward, 1, 1e-3)}),
          kernel(OpKind::attention, shape(384), 9e6, {point(graph::Pass::forward, 1, 9e-3)})});
  const auto middle = forward(measured, one(OpKind::attention, shape(256), 4e6), 1);
  CHECK(middle.origin == Origin::interpolated);
  CHECK(middle.time.value() == support::near(4e-3));
  CHECK(forward(measured, one(OpKind::attention, shape(512), 16e6), 1).origin == Origin::extrapolated);
  Shape crossed = shape(256);
  crossed[1].second = 128;  // keys of another sequence: no self-attention, so the nearest shapes count
  CHECK(forward(measured, one(OpKind::attention, crossed, 2e6), 1).time.value() ==
        support::near(2e-6 / 1e-3));
}

TEST_CASE("a kind, pass or number without measurement is analytic") {
  const auto graph = one(OpKind::norm, {{"elements", 100}}, 1e9);
  const auto unknown = forward(layer(), graph, 4);
  CHECK(unknown.origin == Origin::analytic);
  CHECK(unknown.time == AnalyticCosts().op_time(graph, core::OpId(0), kDevice, 4).forward);
  CHECK(unknown.high.value() == support::near(2 * unknown.time.value()));
  CHECK(forward(layer(), one(OpKind::linear, kLayer, 1e9, 2), 4).origin ==
        Origin::analytic);  // two bytes: bf16
  Calibration half = layer();
  half.kernels[0].key.precision = cluster::Precision::fp16;
  CHECK(forward(half, one(OpKind::linear, kLayer, 1e9, 2), 4).origin == Origin::measured);
  const auto whole =
      CalibratedCosts(layer()).estimate(one(OpKind::linear, kLayer, 1e9), core::OpId(0), kDevice, 4);
  CHECK(whole[graph::Pass::input_gradient].origin == Origin::analytic);
  CHECK(whole.origin() == Origin::measured);  // which takes no time, having no work
  CHECK(CalibratedCosts(layer()).estimate(graph, core::OpId(0), kDevice, 4).origin() == Origin::analytic);
  CHECK(whole[graph::Pass::weight_gradient].time.value() == 0);  // it has no weights
}

TEST_CASE("views and inputs cost nothing") {
  for (const OpKind kind : {OpKind::input, OpKind::reshape})
    CHECK(CalibratedCosts(layer())
              .op_time(one(kind, {{"elements", 9}}, 0), core::OpId(0), kDevice, 4)
              .total()
              .value() == 0);
}

TEST_CASE("a part of an operator runs like one of divided extents") {
  // Half of 100 outputs: the utilisation of 50 (4 samples: 4 of 6 ms) for half of 2 GFLOP, so 6 ms.
  const auto graph = one(OpKind::linear, {{"rows", 1}, {"in", 100}, {"out", 100}}, 2e9);
  CHECK(forward(layer(), graph, 4, {plan::Partition::column, 0.5, true, false}).time.value() ==
        support::near(6e-3));
  CHECK(forward(layer(), graph, 8, {plan::Partition::batch, 0.5}).time == forward(layer(), graph, 4).time);
  // Half of 50 outputs was not measured: at the utilisation of 50, half of 6 ms. Were 25 outputs measured at
  // 1 or 20 ms, half of the layer would take no less than 3 and no more than 6 ms.
  const auto layer50 = one(OpKind::linear, kLayer, 1e9);
  const OpShard half{plan::Partition::column, 0.5, true, false};
  CHECK(forward(layer(), layer50, 4, half).time.value() == support::near(3e-3));
  for (const auto& [measured, expected] : {std::pair{1e-3, 3e-3}, {4e-3, 4e-3}, {20e-3, 6e-3}}) {
    Calibration more = layer();
    more.kernels.push_back(kernel(OpKind::linear, {{"rows", 1}, {"in", 100}, {"out", 25}}, 0.5e9,
                                  {point(graph::Pass::forward, 4, measured)}));
    CHECK(forward(more, layer50, 4, half).time.value() == support::near(expected));
  }
  // A norm's shape does not show how it is divided: half of the whole.
  const auto norm = one(OpKind::norm, {{"elements", 100}}, 1e9);
  CHECK(forward(layer(), norm, 4, {plan::Partition::column, 0.5}).time.value() ==
        support::near(forward(layer(), norm, 4).time.value() / 2));
}

TEST_CASE("times lie between back to back and cold as whole models do") {
  // 4 samples take 6 ms cold and 3 back to back. A model that takes 0.7 s, whose kernels take 0.8 or 0.6,
  // gives halfway: 4.5 ms, and so the ends of the intervals.
  Calibration calibration = layer();
  const auto graph = one(OpKind::linear, kLayer, 1e9);
  CHECK(forward(calibration, graph, 4).time.value() == 6e-3);  // no model: cold
  calibration.models = {
      {"m", {}, 1, cluster::Precision::fp32, support::timing(0.7), core::Seconds(0.8), core::Seconds(0.6)}};
  const auto half = forward(calibration, graph, 4);
  CHECK(half.origin == Origin::measured);
  CHECK(half.time.value() == support::near(4.5e-3));
  CHECK(half.low.value() == support::near(4.5e-3 * 0.99));
  CHECK(half.high.value() == support::near(4.5e-3 * 1.01));
  const CalibratedCosts warm(calibration, 0);
  CHECK(warm.op_time(graph, core::OpId(0), kDevice, 4).forward.value() == support::near(3e-3));
}

TEST_CASE("training adds gradients up beside its kernels") {
  // 250 million weights of 4 bytes: 3 GB to read and write at 100 GB/s, 30 ms more than the kernel. Half of
  // them: 15 ms; half of the samples: all of them.
  const auto weighs = [](std::int64_t gathered) {
    graph::GraphBuilder builder("one", 4);
    graph::Operator op;
    op.name = "op";
    op.kind = gathered ? OpKind::embedding : OpKind::linear;
    if (!gathered) op.attributes = graph::Linear{1, 25'000, 10'000};
    op.parameters = 250'000'000;
    op.gathered_parameters = gathered;
    builder.add(op);
    return builder.build();
  };
  const CalibratedCosts costs(layer());
  const auto more = [&](const graph::OpGraph& graph, const OpShard& part) {
    const auto time = costs.part_time(graph, core::OpId(0), kDevice, 4, part);
    const auto kernel = costs.estimate(graph, core::OpId(0), kDevice, 4, part).time();
    CHECK(time.forward == kernel.forward);
    CHECK(time.input_gradient == kernel.input_gradient);
    return (time.weight_gradient - kernel.weight_gradient).value();
  };
  CHECK(more(weighs(0), {}) == support::near(0.03));
  CHECK(more(weighs(0), {plan::Partition::column, 0.5, true, false}) == support::near(0.015));
  CHECK(more(weighs(0), {plan::Partition::batch, 0.5}) == support::near(0.03));
  CHECK(more(weighs(10'000), {}) == 0);  // a table: its kernel adds
  CHECK(more(one(OpKind::linear, kLayer, 1e9), {}) == 0);
  const auto whole = costs.op_time(weighs(0), core::OpId(0), kDevice, 4);
  CHECK(whole.weight_gradient == costs.part_time(weighs(0), core::OpId(0), kDevice, 4, {}).weight_gradient);
}

TEST_CASE("the optimizer streams at the measured copy bandwidth") {
  // adam: 7 * 1 GB at 100 GB/s, and 1 GB of gradients is zeroed.
  const CalibratedCosts costs(support::bare_calibration());
  CHECK(
      costs.step_time(core::Bytes(1'000'000'000), plan::Training{.optimizer = plan::Optimizer::adam}, kDevice)
          .value() == support::near(0.08));
}

TEST_CASE("additions and the optimizer stream as fast as they were measured, where they were") {
  // 250 million weights: 3 GB are added at 50 GB/s, 60 ms; 4 * 1 GB of plain descent at 200 GB/s, 20 ms.
  auto calibration = layer();
  calibration.ceilings.add = core::Bandwidth(5e10);
  calibration.ceilings.update = core::Bandwidth(2e11);
  const CalibratedCosts costs(calibration);
  graph::GraphBuilder builder("one", 4);
  graph::Operator op;
  op.name = "op";
  op.kind = OpKind::linear;
  op.attributes = graph::Linear{1, 25'000, 10'000};
  op.parameters = 250'000'000;
  builder.add(op);
  const auto graph = builder.build();
  const core::Seconds added = costs.op_time(graph, core::OpId(0), kDevice, 4).weight_gradient -
                              costs.estimate(graph, core::OpId(0), kDevice, 4).time().weight_gradient;
  CHECK(added.value() == support::near(0.06));
  CHECK(
      costs.step_time(core::Bytes(1'000'000'000), plan::Training{.optimizer = plan::Optimizer::sgd}, kDevice)
          .value() == support::near(0.02));
}

TEST_CASE("a device is known by the words of its name") {
  const auto calibration = support::bare_calibration();  // Maker T1 16GB
  const auto knows = [&](const std::string& name) {
    auto type = kDevice;
    type.name = name;
    return same_device(calibration, type);
  };
  CHECK(knows("T1"));
  CHECK(knows("t1-16GB"));
  CHECK_FALSE(knows("T10"));
  CHECK_FALSE(knows("T1 32GB"));
  CHECK_FALSE(knows("-"));
  const CalibratedCosts costs(calibration);
  const auto cluster = support::tiny_cluster(2);
  CHECK(costs.foreign(cluster) == std::vector<std::string>{"tiny"});
  CHECK(source_of(costs, cluster) == "calibration of Maker T1 16GB, foreign to tiny");
  CHECK(source_of(AnalyticCosts(), cluster) == "analytic");
}

TEST_CASE("scratch is the line through the smallest and the largest batch, above all measured ones") {
  const auto at = [](graph::Pass pass, std::int64_t samples, std::int64_t workspace) {
    KernelPoint out = point(pass, samples, 1);
    out.workspace = core::Bytes(workspace);
    return out;
  };
  // Input gradient: 100 B and 10 B a sample, but 30 B more at 4 samples. Weight gradient: one batch, 8 B
  // each.
  const CalibratedCosts costs(
      of({kernel(OpKind::linear, kLayer, 1e9,
                 {at(graph::Pass::input_gradient, 2, 120), at(graph::Pass::input_gradient, 4, 170),
                  at(graph::Pass::input_gradient, 8, 180), at(graph::Pass::weight_gradient, 2, 16)})}));
  const Scratch known = costs.scratch(one(OpKind::linear, kLayer, 1e9), core::OpId(0));
  CHECK(known.input_gradient == Line{core::Bytes(130), core::Bytes(10)});
  CHECK(known.weight_gradient == Line{core::Bytes(0), core::Bytes(8)});
  CHECK(known.handed == Line{});
  const Shape other = {{"queries", 3}, {"keys", 5}, {"hidden", 8}, {"heads", 2}};
  const auto attention = one(OpKind::attention, other, 1e9);
  CHECK(costs.scratch(attention, core::OpId(0)) == plain_scratch(attention, core::OpId(0)));
  // The context's gradient, 3 x 8, and the shares', 2 x 3 x 5; the projected query's, 3 x 8, key's and
  // value's, 5 x 8.
  CHECK(plain_scratch(attention, core::OpId(0)).input_gradient.each == core::Bytes(4 * (24 + 30)));
  CHECK(plain_scratch(attention, core::OpId(0)).handed.each == core::Bytes(4 * (24 + 40 + 40)));
}

TEST_CASE("an update is two launches; what kernels move are tensors of all samples and weights once") {
  auto calibration = of({kernel(OpKind::linear, kLayer, 1e9, {point(graph::Pass::forward, 2, 1)})});
  calibration.launch_overhead = core::Seconds(3e-6);
  const CalibratedCosts costs(calibration);
  CHECK(
      costs.step_time(core::Bytes(100), plan::Training{.optimizer = plan::Optimizer::sgd}, kDevice).value() ==
      support::near(6e-6 + 400 / 1e11));
  graph::GraphBuilder builder("one", 4);
  graph::Operator op;
  op.name = "op";
  op.kind = OpKind::linear;
  op.attributes = graph::attributes_of(OpKind::linear, kLayer);
  op.forward_flops = core::Flops(1e9);
  op.parameters = 5000;
  op.output_bytes = core::Bytes(200);
  builder.add(op);
  const auto graph = builder.build();
  // A second of computing, of which four samples' outputs and the weights move at 100 GB/s.
  const Work work = work_of(graph, core::OpId(0), cluster::Precision::fp32);
  REQUIRE(work.weights == core::Bytes(20'000));
  CHECK(costs.memory_time(graph, core::OpId(0), kDevice, 4, {}).forward.value() ==
        support::near((4 * static_cast<double>(work.moved.value()) + 20'000) / 1e11));
}
