// Costs that need no file: measured GPUs by their curves, relatives as efficient as these, others by data
// sheet.

#include "penstock/cost/curve_costs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "models/catalogue.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/problem.hpp"
#include "support/near.hpp"

using namespace penstock;
using support::near;

namespace {

const cost::CurveCosts kCurves;

/// One dense layer of 4096 x 4096 on 4096 tokens, numbers of two bytes: shapes that the curves hold.
graph::OpGraph dense() {
  return models::build("transformer", {{"layers", "1"}, {"element_bytes", "2"}});
}

core::OpId first_linear(const graph::OpGraph& graph) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(core::OpId(v)).kind == graph::OpKind::linear) return core::OpId(v);
  FAIL("no dense layer");
  return {};
}

cluster::DeviceType type(const std::string& cluster) {
  return cluster::load_cluster(cluster).types().front();
}

}  // namespace

TEST_CASE("measured GPUs have curves of their own, relatives those of the nearest") {
  const auto chosen = [](const char* name) {
    cluster::DeviceType device;
    device.name = name;
    const auto choice = cost::curves_for(device);
    return choice ? choice->curves->name : "none";
  };
  CHECK(chosen("a100") == "a100");
  CHECK(chosen("NVIDIA H100 80GB HBM3") == "h100");
  CHECK(chosen("gb200") == "b200");
  CHECK(chosen("GH200") == "h100");
  CHECK(chosen("h200") == "h100");
  CHECK(chosen("V100") == "a100");
  CHECK(chosen("host") == "none");
  CHECK(cost::curves_for(type("8xA100-80"))->own);
  CHECK(cost::curves_for(type("8xA100-40"))->own);
  CHECK(cost::curves_for(type("8xH100"))->own);
  CHECK(cost::curves_for(type("8xB200"))->own);
  CHECK_FALSE(cost::curves_for(type("72xGB200"))->own);
}

TEST_CASE("every GPU of the short form is measured or has a relative") {
  for (const auto& gpu : cluster::rented()) {
    CAPTURE(gpu.name);
    CHECK(cost::curves_for(type("1x" + std::string(gpu.name))));
  }
}

TEST_CASE("a measured GPU's products take the time of its curves") {
  const auto graph = dense();
  const core::OpId op = first_linear(graph);
  const auto h100 = type("8xH100");
  const auto& curves = *cost::curves_for(h100)->curves;
  CHECK(kCurves.op_time(graph, op, h100, 4) == curves.tables.op_time(graph, op, h100, 4));
  CHECK(kCurves.op_time(graph, op, h100, 4).forward >
        cost::AnalyticCosts().op_time(graph, op, h100, 4).forward * 0.9);
}

TEST_CASE("a relative is as efficient against its data sheet as the measured GPU") {
  const auto graph = dense();
  const core::OpId op = first_linear(graph);
  const auto v100 = type("8xV100-32"), a100 = type("8xA100-80");
  const cost::AnalyticCosts analytic;
  const auto ratio = [&](const cluster::DeviceType& device, auto pass) {
    return pass(kCurves.op_time(graph, op, device, 4)) / pass(analytic.op_time(graph, op, device, 4));
  };
  for (const auto pass : {+[](const cost::OpTime& t) { return t.forward; },
                          +[](const cost::OpTime& t) { return t.input_gradient; },
                          +[](const cost::OpTime& t) { return t.weight_gradient; }})
    CHECK(ratio(v100, pass) == near(ratio(a100, pass)));
  const plan::Training training{8, plan::Optimizer::adam};
  const core::Bytes weights(1 << 30);
  CHECK(kCurves.step_time(weights, training, v100).value() ==
        near(analytic.step_time(weights, training, v100).value()));
}

TEST_CASE("a type without a relative takes analytic times and no slow-down") {
  const auto graph = dense();
  const core::OpId op = first_linear(graph);
  auto device = type("8xA100-80");
  device.name = "mine";
  CHECK(kCurves.op_time(graph, op, device, 4) == cost::AnalyticCosts().op_time(graph, op, device, 4));
  const auto host = cluster::load_cluster("host");
  CHECK(kCurves.completed(host).types().front().slowdown() == 1);
}

TEST_CASE("sustained load slows kernels down where the cluster's file states nothing") {
  const auto slowdown = [](const cluster::Cluster& cluster) {
    return cost::measured_by(kCurves, cluster).types().front().slowdown();
  };
  CHECK(slowdown(cluster::load_cluster("8xA100-80")) == 1.25);
  CHECK(slowdown(cluster::load_cluster("8xH100")) == 1.44);
  CHECK(slowdown(cluster::load_cluster("8xB200")) == 1);
  CHECK(slowdown(cluster::load_cluster("8xH200")) == 1.44);
  CHECK(slowdown(cluster::load_cluster("8xH100").slowed_by(1)) == 1);  // stated
  CHECK(slowdown(cluster::load_cluster("8xH100").slowed_by(2)) == 2);
}

TEST_CASE("collectives within a node are measured where its links are no slower") {
  CHECK(kCurves.completed(cluster::load_cluster("8xH100")).collectives() != nullptr);
  CHECK(kCurves.completed(cluster::load_cluster("8xA100-80x4")).collectives() != nullptr);
  CHECK(kCurves.completed(cluster::load_cluster("8xH200")).collectives() == nullptr);  // a relative
  const std::string pcie =
      "name: pcie\ndevice_types:\n  a100: {memory: 40GiB, memory_bandwidth: 1555GB/s, multiprocessors: 108,\n"
      "         launch_overhead: 4us, peak: {fp32: 19.5TFLOP/s, bf16: 312TFLOP/s}}\n"
      "nodes:\n  - {count: 1, device: a100, devices: 8, link: {bandwidth: 25GB/s, latency: 1us},\n"
      "     uplink: {bandwidth: 25GB/s, latency: 1us}}\n";
  CHECK(kCurves.completed(cluster::parse_cluster(pcie, "pcie.yaml")).collectives() == nullptr);
}

TEST_CASE("the source lists tables, slow-down, relatives and comparisons") {
  const auto source = [](const char* name) {
    return cost::source_of(kCurves, kCurves.completed(cluster::load_cluster(name)));
  };
  CHECK(source("8xH100").starts_with("H100 kernel tables, x1.44 under sustained load; expected error "));
  CHECK(source("8xB200").starts_with("B200 kernel tables under sustained load; expected error "));
  CHECK(
      source("8xH200") ==
      "data sheet of H200 with the efficiency of H100, its nearest measured relative, x1.44 under sustained "
      "load; no measured runs to compare with");
  CHECK(source("host").starts_with("data sheet of "));
  const cluster::Cluster built_in = cluster::load_cluster("8xA100-80");
  std::vector<cluster::DeviceType> types = built_in.types();
  types.front().name = "a100_80_of_rack_2";  // as the file of a mixed cluster may call it
  const std::vector<cluster::Link> links(built_in.links().begin(), built_in.links().end());
  const cluster::Cluster renamed("renamed", types, built_in.devices(),
                                 built_in.points().size() - built_in.size(), links);
  CHECK(cost::source_of(kCurves, kCurves.completed(renamed)) == source("8xA100-80"));
  const auto own = kCurves.completed(cluster::load_cluster("8xH100").slowed_by(1.6));
  CHECK(cost::source_of(kCurves, own) == "H100 kernel tables, x1.6 by the cluster's kernel_slowdown");
}

TEST_CASE("the curves state their sources and licences, and are small") {
  std::size_t bytes = 0;
  for (const cost::DeviceCurves& curves : cost::built_in_curves()) {
    CHECK(curves.source.find("Apache-2.0") != std::string::npos);
    CHECK(!curves.slowdown_source.empty());
    bytes += cost::to_yaml(curves.tables).size();
  }
  CHECK(cost::built_in_curves().size() == 3);
  CHECK(bytes < 300'000);
}

TEST_CASE(
    "hosts of GPUs with curves or kernel tables launch kernels as Megatron-LM does, unless they state more") {
  const cluster::FrameworkRuntime usual = cluster::usual_runtime().runtime, none = cluster::runtime("none");
  const auto completed = [](const cluster::Cluster& cluster, const cost::CostModel& costs) {
    return cost::measured_by(costs, cluster).types().front().runtime;
  };
  const cluster::Cluster node = cluster::load_cluster("8xH100"), cpu = cluster::load_cluster("host");
  CHECK_FALSE(node.types().front().runtime);
  CHECK(completed(node, kCurves) == usual);
  CHECK(completed(node, cost::curves_for(node.types().front())->curves->tables) == usual);
  CHECK(completed(node.run_by(none), kCurves) == none);
  CHECK_FALSE(completed(cpu, kCurves));
  CHECK_FALSE(completed(node, cost::AnalyticCosts()));
}
