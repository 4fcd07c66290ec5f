#include "penstock/score/estimate.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/score/validate.hpp"
#include "support/fixed_costs.hpp"
#include "support/matrices.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using core::StageId;

namespace {

struct LoggedStage {
  double tps;              ///< ms per sample
  std::vector<int> after;  ///< stages it feeds from
  std::int64_t micro_batch;
};

/// The logs count one micro-batch of the slowest stage, which is on the longest path, twice.
double logged_iteration_ms(const std::vector<LoggedStage>& rows, std::int64_t mini_batch) {
  const auto g = support::tiny_graph(rows.size(), {});
  plan::Plan p;
  p.training.mini_batch = mini_batch;
  std::vector<double> tps;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    p.stages.push_back({{OpId(s)}, {DeviceId(s)}, rows[s].micro_batch, 1, 0, {}});
    for (int before : rows[s].after) p.stages[s].after.emplace_back(static_cast<std::size_t>(before));
    tps.push_back(rows[s].tps);
  }
  const auto slowest =
      std::max_element(rows.begin(), rows.end(), [](const auto& x, const auto& y) { return x.tps < y.tps; });
  return slowest->tps * static_cast<double>(slowest->micro_batch) +
         score::iteration_seconds(p, plan::StageGraph(g, p), tps,
                                  score::AssumedNetwork{{{}, {}}, {{}, {}}, {}});
}

}  // namespace

// The logs print, beside the rows, the bound their binary search ended with; it lies a little above the
// largest row. The printed iteration time is B times the bound plus the longest path of the rows.
TEST_CASE("iteration time of GraphPipe's optimizer log 1: 3996.96 ms on 8 devices") {
  // Seven image stages in a row; the text stage feeds the last one. Mini-batch 1024, micro-batch 8.
  const std::vector<LoggedStage> rows = {{3.3873, {}, 8},   {3.70934, {0}, 8},   {3.38062, {1}, 8},
                                         {3.70895, {2}, 8}, {3.38075, {3}, 8},   {3.70786, {4}, 8},
                                         {1.69362, {}, 8},  {3.49199, {5, 6}, 8}};
  // Digits: the bound is printed to 5e-6, times 1024 samples; the result to 5e-3.
  CHECK(std::abs(logged_iteration_ms(rows, 1024) + 1024 * (3.70979 - 3.70934) - 3996.96) <
        1024 * 5e-6 + 5e-3);
}

TEST_CASE("iteration time of GraphPipe's optimizer log 3: 87227.5 ms on 12 devices") {
  const std::vector<LoggedStage> rows = {{1.1707, {}, 128},
                                         {2.26306, {0}, 128},
                                         {2.18379, {1}, 128},
                                         {1.32397, {}, 128},
                                         {2.62927, {2, 3}, 128}};
  CHECK(std::abs(logged_iteration_ms(rows, 32768) + 32768 * (2.62976 - 2.62927) - 87227.5) <
        32768 * 5e-6 + 5e-2);
}

TEST_CASE("a stage is as slow as the slower of computing and sending, plus its share of the all-reduce") {
  const auto cluster = support::tiny_cluster(2, 1, 1e6);
  const auto network = score::assume_network(cluster, {});
  cost::StageLoad load;
  load.inputs = load.outputs = Bytes(1000);
  load.parameters = Bytes(4000);
  // Micro-batch 4 on 2 devices: 2 samples each; 2 * 2 kB at 1 MB/s is 4 ms per micro-batch: 1 ms per sample.
  const auto slow_link = score::stage_terms(network, load, core::Seconds(1e-3), 4, 2, 8);
  CHECK(slow_link.communication == support::near(1e-3));
  CHECK(slow_link.compute == support::near(0.25e-3));
  // Ring of two: 4 kB at 1 MB/s, over 8 samples: 0.5 ms each.
  CHECK(slow_link.time_per_sample() == support::near(1.5e-3));
}

TEST_CASE("stages that share devices add up, and divide the fill: 4 stages on 2 devices") {
  // Each stage takes 3 s per sample, transfers nothing. 8 samples one by one: 8 * 6 s on each device; of the
  // 12 s from end to end 6 are elsewhere, over 2 stages per device.
  const auto g = support::tiny_graph(4, {});
  plan::Plan p;
  p.training.mini_batch = 8;
  for (std::size_t s = 0; s < 4; ++s) {
    p.stages.push_back({{OpId(s)}, {DeviceId(s % 2)}, 1, 1, 0, {}});
    if (s > 0) p.stages[s].after = {StageId(s - 1)};
  }
  const std::vector<double> tps(4, 3.0);
  const score::AssumedNetwork network{{{}, {}}, {{}, {}}};
  CHECK(score::busiest_device(p, tps) == 6);
  CHECK(score::iteration_seconds(p, plan::StageGraph(g, p), tps, network) == 8 * 6 + 6.0 / 2);
  // A single sample: its way through all stages is no shorter than 12 s.
  p.training.mini_batch = 1;
  CHECK(score::iteration_seconds(p, plan::StageGraph(g, p), tps, network) == 12);
}

TEST_CASE(
    "a stage beside the longest path counts what is on its own: a join of a short branch and a long one") {
  // Stage 2 joins 0 (1 s per sample) and 1 (5 s); ten samples, one by one. The slowest is 1: 50 s and the
  // join's 2 s. The join computes 20 s after 5 s; for 0, 10 s, no stage waits.
  const auto g = support::tiny_graph(3, {{0, 2}, {1, 2}});
  plan::Plan p;
  p.training.mini_batch = 10;
  for (std::size_t s = 0; s < 3; ++s) p.stages.push_back({{OpId(s)}, {DeviceId(s)}, 1, 1, 0, {}});
  const score::AssumedNetwork network{{{}, {}}, {{}, {}}};
  CHECK(score::iteration_seconds(p, plan::StageGraph(g, p), {1, 5, 2}, network) == 52);
  // The join at 5.5 s: 55 s and the longer branch's 5 s.
  CHECK(score::iteration_seconds(p, plan::StageGraph(g, p), {1, 5, 5.5}, network) == 60);
  CHECK(score::iteration_seconds(p, plan::StageGraph(g, p), {6, 5, 5.5}, network) == 65.5);
}

TEST_CASE("a row of stages sends over each boundary there and back") {
  // 1 s each; 1 kB takes 0.5 s and 1 ms per byte: 1 + 2 * 1.5 + 1 s for a lone sample.
  const auto g = support::tiny_graph(2, {{0, 1}});
  plan::Plan p;
  p.training.mini_batch = 1;
  p.stages = {{{OpId(0)}, {DeviceId(0)}, 1, 1, 0, {}}, {{OpId(1)}, {DeviceId(1)}, 1, 1, 0, {}}};
  const score::AssumedNetwork network{{{}, {0.5, 1e-3}}, {{}, {}}};
  CHECK(score::iteration_seconds(p, plan::StageGraph(g, p), {1, 1}, network) == support::near(5));
}

TEST_CASE("the judge reports the missing memory and its device") {
  const auto g = support::tiny_graph(2, {{0, 1}});
  const auto costs = support::FixedCosts::uniform(2, 1, 1);
  const auto cluster = support::tiny_cluster(2, 10000);
  plan::Plan p;
  p.training.mini_batch = 8;
  p.stages = {{{OpId(0)}, {DeviceId(0)}, 2, 1, 4, {}}, {{OpId(1)}, {DeviceId(1)}, 2, 1, 2, {}}};
  const cost::Problem problem{g, cluster, costs, p.training};
  // Stage 0: kept 1 kB * 4 samples, gradients of its output 2 * 1 kB * 2: 8,000 bytes: fits. Stage 1: (kept 1
  // + entering 1) kB * 2, working 2 kB * 2, buffer 1 kB * 2: 10,000 bytes: fits.
  CHECK(score::violations(problem, p).empty());
  p.stages[0].in_flight = 8;
  REQUIRE(score::violations(problem, p).size() == 1);
  CHECK(score::violations(problem, p)[0] ==
        "stage 0 needs 11.7 KiB on device 0, which has 9.77 KiB: 1.95 KiB missing");
  // Replicas that have too little are one violation.
  const auto four = support::tiny_cluster(5, 10000);
  const cost::Problem wide{g, four, costs, p.training};
  p.stages[0].devices = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(4)};
  p.stages[0].micro_batch = 8;
  p.stages[0].in_flight = 32;
  p.stages[1].devices = {DeviceId(3)};
  const auto both = score::memory_violations(wide, p);
  REQUIRE(both.size() >= 2);
  CHECK(both[0].find(" on each of devices 0 to 2, which have 9.77 KiB: ") != std::string::npos);
  CHECK(both[1].find(" on device 4, which has 9.77 KiB: ") != std::string::npos);
}

TEST_CASE("without a flush replicas take whole micro-batches in turn, and nothing drains") {
  // 1 + 2 s and 2 + 4 s per sample, no weights, links of 1 GB/s. Stage 1 has two replicas: 6 s / 2 = 3 s per
  // sample.
  const auto g = support::tiny_graph(2, {{0, 1}});
  const support::FixedCosts costs({1, 2}, {2, 4});
  const auto cluster = support::tiny_cluster(3);
  plan::Plan p;
  p.training.mini_batch = 8;
  p.stages = {{{OpId(0)}, {DeviceId(0)}, 2, 1, 4, {}}, {{OpId(1)}, {DeviceId(1), DeviceId(2)}, 2, 1, 2, {}}};
  const cost::Problem problem{g, cluster, costs, p.training};
  p.schedule = "pipedream";
  const auto turns = score::estimate(problem, p, plan::StageGraph(g, p));
  CHECK(turns.stages[1].compute == support::near(3));
  CHECK(turns.iteration.value() == support::near(8 * 3));
  p.schedule =
      "1f1b";  // micro-batches are split: as fast, but two samples of the other stage come before and after
  const auto flushed = score::estimate(problem, p, plan::StageGraph(g, p));
  CHECK(flushed.stages[1].compute == support::near(3));
  CHECK(flushed.iteration.value() == support::near(8 * 3 + 2 * 3, 1e-4));
}

TEST_CASE("an estimate counts what a backward pass of even gradients does not hide of an all-reduce") {
  using core::Bytes;
  using core::Seconds;
  const auto left = [](std::int64_t bucket, double compute) {
    return score::exposed(Seconds(8), Bytes(800), Bytes(bucket), Seconds(compute)).value();
  };
  CHECK(left(0, 9) == 8);
  CHECK(left(800, 9) == 8);
  CHECK(left(100, 9) == support::near(2));   // 6 of 9 s are the backward pass
  CHECK(left(100, 90) == support::near(1));  // the last of eight buckets
}

TEST_CASE("a bucket of fp32 gradients is one of half as many bytes of bf16 weights") {
  const auto cluster = support::tiny_cluster(2);
  plan::Training training;
  training.bucket = core::Bytes(1 << 20);
  CHECK(score::assume_network(cluster, training).bucket == core::Bytes(1 << 20));
  training.precision = plan::mixed_precision("mixed_bf16");
  CHECK(score::assume_network(cluster, training).bucket == core::Bytes(1 << 19));
}

namespace {

/// Devices in a row of cables of 1 GB/s.
cluster::Cluster row_of(std::size_t devices) {
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d + 1 < devices; ++d) {
    links.push_back({d, d + 1, core::Bandwidth(1e9), core::Seconds(0)});
    links.push_back({d + 1, d, core::Bandwidth(1e9), core::Seconds(0)});
  }
  return {"row", support::tiny_cluster(1).types(), std::vector<cluster::Device>(devices), 0, links};
}

}  // namespace

TEST_CASE("messages to the devices behind share cables, and reach no farther than half of the cluster") {
  const auto network = score::assume_network(row_of(4), {8});
  CHECK(network.link[1].per_byte == support::near(1e-9));
  // Devices 0 and 1 send to 2 and 3, both over the cable in the middle; a stage of three has its neighbours
  // two away too.
  CHECK(network.link[2].per_byte == support::near(2e-9));
  CHECK(network.link[3].per_byte == support::near(2e-9));
}

TEST_CASE("compressed tensors and gradients of another precision are fewer bytes, or more") {
  const auto cluster = support::tiny_cluster(4);
  plan::Training training{8};
  const auto whole = score::assume_network(cluster, training);
  training.compression.activations = 0.25;
  training.compression.gradients = 0.5;
  const auto less = score::assume_network(cluster, training);
  CHECK(less.link[2].per_byte == support::near(whole.link[2].per_byte / 4));
  CHECK(less.all_reduce[2].algorithms.front().per_byte ==
        support::near(whole.all_reduce[2].algorithms.front().per_byte / 2));
  CHECK(less.all_reduce[2].sent == 0.5);
  plan::Training mixed{8};
  mixed.precision = plan::mixed_precision("mixed_bf16");  // fp32 gradients of bf16 weights
  CHECK(score::assume_network(cluster, mixed).all_reduce[2].sent == 2);
  CHECK(score::assume_network(cluster, mixed).all_reduce[2].algorithms.front().per_byte ==
        support::near(2 * whole.all_reduce[2].algorithms.front().per_byte));
}

TEST_CASE("the slowest aligned group counts, first or last") {
  for (const std::size_t slow : {0, 2}) {
    std::vector<cluster::Link> links;
    for (std::size_t d = 0; d < 4; ++d) {
      const core::Bandwidth bandwidth(d == slow ? 1e8 : 1e9);
      links.push_back({d, 4, bandwidth, core::Seconds(0)});
      links.push_back({4, d, bandwidth, core::Seconds(0)});
    }
    const cluster::Cluster c("uneven", support::tiny_cluster(1).types(), std::vector<cluster::Device>(4), 1,
                             links);
    // A ring of two over the slow cable.
    CHECK(score::assume_network(c, {8}).all_reduce[2].time(Bytes(1'000'000)).value() == support::near(0.01));
  }
}

TEST_CASE("a tensor-parallel stage's bucket is compared with its part of the weights") {
  // 4 kB of weights, of which each of two devices has 2 kB: a bucket of 2 kB holds them all.
  const auto g = support::matrices(1);
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(1, 1.0, 2.0);
  plan::Plan p;
  p.training.mini_batch = 8;
  p.training.bucket = Bytes(2000);
  p.stages = {support::stage(0, 0, 4, 2)};
  p.stages[0].micro_batch = 2;
  const auto reduced = [&] { return score::estimate({g, cluster, costs, p.training}, p).stages[0].reduce; };
  CHECK(reduced() == support::near(2e-6 / 8));  // after the last pass: a ring of two
  // Two buckets: half of it hides behind the pass.
  p.training.bucket = Bytes(1000);
  CHECK(reduced() == support::near(1e-6 / 8));
}

TEST_CASE("replicas that take turns send whole micro-batches") {
  // Cables of 0.5 s: a message takes 1 s and 1 us per kB. A micro-batch of two for each of two replicas.
  const auto g = support::tiny_graph(2, {{0, 1}});
  const support::FixedCosts costs({1e-3, 1e-3}, {0, 0});
  const auto cluster = support::tiny_cluster(3, std::int64_t{1} << 40, 1e9, 0.5);
  plan::Plan p;
  p.training.mini_batch = 8;
  p.schedule = "pipedream";
  p.stages = {{{OpId(0)}, {DeviceId(0)}, 2, 1, 4, {}}, {{OpId(1)}, {DeviceId(1), DeviceId(2)}, 2, 1, 2, {}}};
  const auto estimate = score::estimate({g, cluster, costs, p.training}, p);
  CHECK(estimate.stages[1].communication == support::near(1.0 / 4, 1e-3));
}
