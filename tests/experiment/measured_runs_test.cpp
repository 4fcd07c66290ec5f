#include "penstock/experiment/measured_runs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/validate.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using experiment::FittedCluster;
using support::near;

namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

std::shared_ptr<const cost::CostModel> analytic(const cluster::Cluster&) {
  return std::make_shared<cost::AnalyticCosts>();
}

/// The real constants of a cluster, which its file does not have.
struct ClusterTruth {
  double slowdown = 1;
  core::Seconds host{};
  double reserved = 0;  // GiB
};

/// A run as it would be measured: a plan file in the folder, and its row.
class MeasuredRuns {
 public:
  MeasuredRuns(const support::ScratchFolder& scratch, ClusterTruth truth)
      : scratch_(scratch), truth_(truth) {}

  void add(const std::string& model, int devices, std::int64_t mini_batch, std::int64_t micro_batch) {
    experiment::Cell cell{{model, {}}, {"summit", devices}, {"data_parallel"}, {mini_batch}, micro_batch};
    const graph::OpGraph graph = experiment::load_model(cell.model);
    const cluster::Cluster stated = experiment::load_cluster(cell.cluster);
    const cluster::Cluster true_one = stated.slowed_by(truth_.slowdown).run_by({.per_kernel = truth_.host});
    const cost::AnalyticCosts costs;
    const auto found = experiment::search({graph, true_one, costs, cell.training}, cell, {}, {});
    const std::string name = fmt::format("{}_{}_{}.yaml", model, devices, micro_batch);
    core::write_file(scratch_.path(name), plan::to_yaml(graph, *found.plan));
    csv_ += fmt::format("{},{:.17g},{:.17g}\n", name, *found.row.iteration_s,
                        static_cast<double>(*found.row.peak_memory_bytes) / kGib + truth_.reserved);
  }

  /// Reserved memory of the runs to come, GiB.
  void reserve(double gib) { truth_.reserved = gib; }

  std::vector<experiment::MeasuredRun> rows() const { return experiment::parse_measured_runs(csv_, file()); }
  FittedCluster fit() const { return fit(rows()); }
  FittedCluster fit(const std::vector<experiment::MeasuredRun>& rows) const {
    return experiment::fit_cluster(rows, file(), analytic, {});
  }
  std::string file() const { return scratch_.path("runs.csv"); }

 private:
  const support::ScratchFolder& scratch_;
  ClusterTruth truth_;
  std::string csv_ = "plan,iteration_s,memory_gib\n";
};

}  // namespace

TEST_CASE("times above the devices' peak and memory above theirs are refused by row") {
  const support::ScratchFolder scratch("measured_runs_units");
  MeasuredRuns runs(scratch, {});
  runs.add("bert", 4, 16, 4);
  runs.add("candle_uno", 2, 64, 1);
  const auto refusal = [&](const auto& change) {
    auto rows = runs.rows();
    change(rows[1]);
    try {
      (void)runs.fit(rows);
    } catch (const core::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("taken");
  };
  using Run = experiment::MeasuredRun;
  CHECK(refusal([](Run& run) { run.seconds *= 1e-3; }).starts_with(runs.file() + ":3: iteration_s: "));
  CHECK(refusal([](Run& run) {
          run.seconds *= 1e-3;
        }).find("no device computes faster than its peak; expected seconds") != std::string::npos);
  CHECK(refusal([](Run& run) { run.gib = 1024; }) ==
        runs.file() + ":3: memory_gib: 1024 GiB, of devices that have 16 GiB");
}

TEST_CASE("the constants behind three simulated runs are found again") {
  for (const ClusterTruth& truth :
       {ClusterTruth{1.27, core::Seconds(30e-6), 2.5}, ClusterTruth{0.9, core::Seconds(80e-6), 0.25},
        ClusterTruth{1.6, core::Seconds(0), 0}}) {
    CAPTURE(truth.slowdown);
    const support::ScratchFolder scratch("measured_runs");
    MeasuredRuns runs(scratch, truth);
    runs.add("bert", 4, 16, 4);
    runs.add("candle_uno", 2, 64, 1);
    runs.add("vgg16", 4, 64, 16);
    const FittedCluster fitted = runs.fit();
    CHECK(fitted.kernel_slowdown == near(truth.slowdown, 2e-3));
    CHECK(std::abs(fitted.host_launch.value().value() - truth.host.value()) < 0.3e-6);
    CHECK(std::abs(static_cast<double>(fitted.reserved.value().value()) / kGib - truth.reserved) < 0.011);
    for (const auto& fit : fitted.runs) {
      CHECK(fit.fitted_s == near(fit.run.seconds, 2e-3));
      CHECK(std::abs(fit.fitted_gib - *fit.run.gib) < 0.011);
    }
    const cluster::Cluster read = cluster::parse_cluster(fitted.text, "fitted");
    for (const cluster::DeviceType& type : read.types()) {
      CHECK(type.slowdown() == near(fitted.kernel_slowdown, 1e-9));
      CHECK(type.host().per_kernel.value() == near(fitted.host_launch->value(), 1e-6));
      CHECK(type.reserved == *fitted.reserved);
    }
    CHECK(read.size() == experiment::load_cluster({"summit", 0}).size());
  }
}

TEST_CASE("one run determines how slow kernels are, and the host's constants do not change") {
  const support::ScratchFolder scratch("measured_runs");
  MeasuredRuns runs(scratch, {1.3, core::Seconds(0), 1});
  runs.add("vgg16", 4, 64, 16);
  const FittedCluster fitted = runs.fit();
  CHECK(fitted.kernel_slowdown == near(1.3, 2e-3));
  CHECK_FALSE(fitted.host_launch.has_value());
  CHECK(fitted.text.find("host_launch") == std::string::npos);
}

TEST_CASE("bad rows are refused with file, line and column") {
  const auto refused = [](const std::string& csv, const char* message) {
    CHECK_THROWS_WITH_AS(experiment::parse_measured_runs(csv, "runs.csv"), message, core::BadInput);
  };
  refused("plan\na.yaml\n", "runs.csv:1: iteration_s: this column is missing");
  refused("plan,iteration_s\na.yaml,0.5\nb.yaml,fast\n",
          "runs.csv:3: iteration_s: expected a number above zero, not 'fast'");
  refused("plan,iteration_s,memory_gib\na.yaml,0.5,-1\n",
          "runs.csv:2: memory_gib: expected a number above zero, not '-1'");
  refused("plan,iteration_s\n,0.5\n", "runs.csv:2: plan: expected the plan file of what ran");
  refused("plan,iteration_s\n", "runs.csv:1: expected rows of measured runs below a header");
  const auto gone = experiment::parse_measured_runs("plan,iteration_s\ngone.yaml,0.5\n", "runs.csv");
  CHECK_THROWS_WITH_AS(experiment::fit_cluster(gone, "runs.csv", analytic, {}),
                       "runs.csv:2: plan: there is no file gone.yaml", core::BadInput);
}

TEST_CASE("the example of docs/formats is read") {
  const std::string page = core::read_file(support::checkout("/docs/formats/measured_runs.md"));
  const auto begin = page.find("```csv\n") + 7;
  const auto runs =
      experiment::parse_measured_runs(page.substr(begin, page.find("```", begin) - begin), "runs.csv");
  REQUIRE(runs.size() == 3);
  CHECK(runs[1].plan == "large.yaml");
  CHECK(runs[1].seconds == 1.377);
  CHECK(runs[1].gib == 64.8);
  CHECK_FALSE(runs[2].gib.has_value());
}

TEST_CASE("runs of two clusters are refused") {
  const support::ScratchFolder scratch("measured_runs");
  MeasuredRuns runs(scratch, {});
  runs.add("vgg16", 4, 64, 16);
  const std::string plan = core::read_file(scratch.path("vgg16_4_16.yaml"));
  std::string other = plan;
  other.replace(other.find("summit"), 6, "p3_16xlarge");
  core::write_file(scratch.path("other.yaml"), other);
  const std::string file = scratch.path("runs.csv");
  const auto both =
      experiment::parse_measured_runs("plan,iteration_s\nvgg16_4_16.yaml,1\nother.yaml,1\n", file);
  CHECK_THROWS_WITH_AS(
      experiment::fit_cluster(both, file, analytic, {}),
      (file + ":3: plan: is for cluster p3_16xlarge, the first plan for summit: constants belong to one "
              "cluster")
          .c_str(),
      core::BadInput);
}

TEST_CASE("constants are in every device type, in place of the given ones") {
  FittedCluster fitted;
  fitted.kernel_slowdown = 1.25;
  fitted.host_launch = core::Seconds(12e-6);
  fitted.reserved = core::Bytes(1 << 30);
  const std::string text =
      "name: two\ndevice_types:\n"
      "  a: {memory: 16GiB, memory_bandwidth: 900GB/s, multiprocessors: 80, launch_overhead: 5us,\n"
      "      runtime: eager_pytorch, kernel_slowdown: 1.5, peak: {fp32: 15TFLOP/s}}\n"
      "  b: {memory: 8GiB, reserved: 2GiB, memory_bandwidth: 900GB/s, multiprocessors: 80, launch_overhead: "
      "5us,\n"
      "      peak: {fp32: 15TFLOP/s}}\n"
      "nodes:\n"
      "  - {count: 1, device: a, devices: 2, link: {bandwidth: 1GB/s, latency: 1us}, uplink: {bandwidth: "
      "1GB/s, "
      "latency: 1us}}\n";
  const auto read = cluster::parse_cluster(experiment::with_constants(text, "two.yaml", fitted), "two.yaml");
  REQUIRE(read.types().size() == 2);
  for (const cluster::DeviceType& type : read.types()) {
    CHECK(type.slowdown() == 1.25);
    CHECK(type.runtime == cluster::FrameworkRuntime{.per_kernel = core::Seconds(12e-6)});
    CHECK(type.reserved == core::Bytes(1 << 30));
  }
  const std::string block =
      "name: one\ndevice_types:\n  a:\n    memory: 16GiB\n    memory_bandwidth: 900GB/s\n"
      "    multiprocessors: 80\n    kernel_slowdown: 2\n    launch_overhead: 5us\n    peak: {fp32: "
      "15TFLOP/s}\n"
      "machines:\n- {name: d, device: a}\n";
  const auto one = cluster::parse_cluster(experiment::with_constants(block, "one.yaml", fitted), "one.yaml");
  CHECK(one.types().front().kernel_slowdown == 1.25);
  CHECK(one.types().front().reserved == core::Bytes(1 << 30));
  const std::string other =
      "name: one\ndevice_types: {a: {memory: 16GiB, memory_bandwidth: 900GB/s, multiprocessors: 80,\n"
      "    launch_overhead: 5us, peak: {fp32: 15TFLOP/s}}}\nmachines:\n- {name: d, device: a}\n";
  CHECK_THROWS_WITH_AS(
      experiment::with_constants(other, "one.yaml", fitted),
      "one.yaml: device_types: put these keys into each device type by hand: kernel_slowdown: "
      "1.2500, host_launch: 12.00us, reserved: 1073741824B",
      core::BadInput);
}

TEST_CASE("reserved memory is the median of what runs had above their plans") {
  const support::ScratchFolder scratch("measured_runs");
  MeasuredRuns runs(scratch, {1, core::Seconds(0), 0.5});
  runs.add("candle_uno", 2, 64, 1);
  runs.reserve(3);
  runs.add("vgg16", 4, 64, 16);
  runs.reserve(1);
  runs.add("bert", 4, 16, 4);
  CHECK(std::abs(static_cast<double>(runs.fit().reserved.value().value()) / kGib - 1) < 0.011);
}

TEST_CASE("doubts name a slow-down at the end of the search, and memory below the plan's") {
  const support::ScratchFolder scratch("measured_runs");
  MeasuredRuns slow(scratch, {9, core::Seconds(0), 0.5});
  slow.add("vgg16", 4, 64, 16);
  CHECK(slow.fit().stated_slowdown == 1);
  const auto doubts = slow.fit().doubts;
  REQUIRE(doubts.size() == 1);
  CHECK(doubts.front().starts_with("kernel_slowdown 4.5000 is the end of what is searched"));

  MeasuredRuns small(scratch, {1, core::Seconds(0), 0.5});
  small.reserve(-0.2);
  small.add("vgg16", 4, 64, 16);
  const auto below = small.fit().doubts;
  REQUIRE(below.size() == 1);
  CHECK(below.front().find("less than the") != std::string::npos);

  MeasuredRuns usual(scratch, {1.25, core::Seconds(0), 0.5});
  usual.add("vgg16", 4, 64, 16);
  CHECK(usual.fit().doubts.empty());
}
