#include "properties/problem.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/profile.hpp"
#include "penstock/graph/canonical.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/schedule/schedule.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "support/random_graph.hpp"

namespace penstock::properties {
namespace {

using core::Bytes;
using core::Random;
using Parameters = std::map<std::string, std::string>;

std::vector<OperatorSpec> random_operators(Random& random) {
  const auto dag = test::random_series_parallel(random, random.between(2, 8));
  std::vector<OperatorSpec> out;
  for (std::size_t v = 0; v < dag.size(); ++v) {
    OperatorSpec& op = out.emplace_back();
    op.name = fmt::format("layer{}.{}", v / 2, static_cast<char>('a' + v));
    op.flops = 1e9 * random.between(1, 40);
    op.parameters = random.between(0, 9) * 100'000;
    op.output = random.between(1, 40) * 4000;
    op.saved = op.output + random.between(0, 5) * 20'000;
    for (const graph::Vertex from : dag.predecessors(static_cast<graph::Vertex>(v)))
      op.inputs.push_back(static_cast<std::size_t>(from));
  }
  return out;
}

plan::ModelRef random_zoo(Random& random) {
  const std::string layers = std::to_string(random.between(1, 4));
  const char* attention = random.chance(0.5) ? "flash" : "plain";
  const std::vector<plan::ModelRef> all = {
      {"gpt",
       {{"layers", layers},
        {"hidden", "256"},
        {"heads", "4"},
        {"sequence", "128"},
        {"vocabulary", "512"},
        {"loss", "yes"},
        {"attention", attention}}},
      {"llama",
       {{"layers", layers},
        {"hidden", "256"},
        {"heads", "4"},
        {"kv_heads", "2"},
        {"feed_forward", "512"},
        {"sequence", "128"},
        {"vocabulary", "512"},
        {"loss", "yes"},
        {"element_bytes", "2"}}},
      {"mixtral",
       {{"layers", layers},
        {"hidden", "128"},
        {"heads", "4"},
        {"kv_heads", "2"},
        {"sequence", "64"},
        {"vocabulary", "512"},
        {"experts", "4"},
        {"chosen", "2"},
        {"expert_width", "256"},
        {"loss", "yes"},
        {"element_bytes", "2"}}},
      {"mmt", {{"feed_forward", "512"}, {"branches", "2"}, {"layers", "1"}}},
      {"dlrm", {}},
      {"candle_uno", {{"towers", "3"}, {"tower_layers", "2"}}}};
  return all[static_cast<std::size_t>(random.between(0, static_cast<int>(all.size()) - 1))];
}

ClusterSpec random_cluster(Random& random, bool small) {
  ClusterSpec out;
  out.nodes = random.chance(0.4) ? 2 : 1;
  out.devices = small ? random.between(1, out.nodes == 2 ? 2 : 4) : 1 << random.between(0, 2);
  out.memory = random.chance(0.7) ? 16e9 : 3e7 * random.between(1, 20);
  out.flops = 1e12 * random.between(5, 50);
  out.bandwidth = 1e11 * random.between(3, 20);
  out.launch = 1e-6 * random.between(0, 6);
  out.link = 1e9 * random.between(5, 200);
  out.link_latency = random.chance(0.3) ? 0 : 5e-7;
  out.uplink = 1e9 * random.between(1, 25);
  out.uplink_latency = random.chance(0.3) ? 0 : 1e-6;
  const char* runtimes[] = {"", "", "eager_pytorch", "legion_flexflow", "5us/kernel"};
  out.runtime = runtimes[random.between(0, 4)];
  return out;
}

plan::Training random_training(Random& random, bool two_bytes) {
  plan::Training out{std::int64_t{4} << random.between(0, 3)};
  out.optimizer = static_cast<plan::Optimizer>(random.between(0, 2));
  if (two_bytes && random.chance(0.7)) out.precision = plan::mixed_precision("mixed_bf16");
  if (random.chance(0.4)) out.bucket = Bytes(0);
  if (random.chance(0.3)) out.bucket = Bytes(random.between(1, 20) * 100'000);
  return out;
}

PlanSpec random_plan(Random& random, const ClusterSpec& cluster, std::int64_t mini_batch) {
  PlanSpec out;
  out.ranks = random.between(1, cluster.count());
  const char* schedules[] = {
      "1f1b", "1f1b", "gpipe", "list_order", "zb_h1", "pipedream", "interleaved_1f1b", "looped_bfs", "zbv"};
  const int chosen = random.between(0, 8);
  out.schedule = schedules[chosen];
  out.chunks = chosen >= 6 ? 2 : 1;
  out.tensor = random.chance(0.3) ? 2 : 1;
  out.micro_batch = std::int64_t{1} << random.between(0, 4);
  out.micro_batch = std::min(out.micro_batch, mini_batch);
  if (random.chance(0.3)) out.zero = random.between(1, 3);
  if (random.chance(0.2)) out.recompute = plan::kRecomputeStage;
  if (random.chance(0.1)) out.recompute = plan::kRecomputeLayers;
  return out;
}

graph::OpGraph graph_of(const ProblemSpec& spec) {
  return spec.zoo.name.empty() ? random_graph_of(spec.operators)
                               : models::build(spec.zoo.name, spec.zoo.parameters);
}

/// Products and cores of a device that is slower at small shapes.
std::string tables_text(const ClusterSpec& cluster) {
  std::string out = "penstock_kernel_tables: 1\ndevice: test_device\nproducts: |\n";
  for (const std::int64_t m : {16, 512, 8192})
    for (const std::int64_t n : {64, 1024})
      for (const std::int64_t k : {64, 1024}) {
        const double flops = 2.0 * static_cast<double>(m * n * k);
        const double share = 0.8 * static_cast<double>(m * n) / static_cast<double>(m * n + 100'000);
        out += fmt::format("  {} {} {} {:.9g}\n", m, n, k, flops / (cluster.flops * share) * 1e6);
      }
  return out;
}

std::string profile_text(const graph::OpGraph& graph, const ClusterSpec& cluster) {
  std::string out = "penstock_profile: 1\ndevice: test_device\noperators:\n";
  for (const graph::Operator& op : graph.operators()) {
    const double once = op.forward_flops.value() / cluster.flops;
    out +=
        fmt::format("  {}: {{forward: {{1: {:.9g}s, 8: {:.9g}s}}, backward: {{1: {:.9g}s, 8: {:.9g}s}}}}\n",
                    op.name, 2 * once, 9 * once, 4 * once, 18 * once);
  }
  return out;
}

std::string costs_text_of(const ProblemSpec& spec, const graph::OpGraph& graph) {
  if (spec.costs == CostsKind::tables) return tables_text(spec.cluster);
  return spec.costs == CostsKind::profile ? profile_text(graph, spec.cluster) : "";
}

std::unique_ptr<const cost::CostModel> costs_of(CostsKind kind, const std::string& text) {
  if (kind == CostsKind::tables)
    return std::make_unique<cost::TableCosts>(cost::parse_kernel_tables(text, "costs.yaml"));
  if (kind == CostsKind::profile)
    return std::make_unique<cost::ProfileCosts>(cost::parse_profile(text, "costs.yaml"));
  return std::make_unique<cost::AnalyticCosts>();
}

cluster::Cluster cluster_of(const ClusterSpec& spec) {
  auto out = cluster::parse_cluster(cluster_yaml(spec), "cluster.yaml");
  return spec.runtime.empty() ? out : out.run_by(cluster::runtime(spec.runtime));
}

}  // namespace

ProblemSpec random_problem(std::uint64_t seed) {
  Random random(seed);
  ProblemSpec out;
  out.seed = seed;
  const bool zoo = random.chance(0.4);
  if (zoo)
    out.zoo = random_zoo(random);
  else
    out.operators = random_operators(random);
  out.cluster = random_cluster(random, !zoo);
  const bool two_bytes = out.zoo.parameters.contains("element_bytes");
  if (two_bytes && random.chance(0.5)) out.costs = CostsKind::tables;
  if (!zoo && random.chance(0.3)) out.costs = CostsKind::profile;
  out.training = random_training(random, two_bytes);
  for (int tries = 0; tries < 20; ++tries) {
    out.plan = random_plan(random, out.cluster, out.training.mini_batch);
    if (BuiltProblem(out).plan()) break;
  }
  return out;
}

std::string cluster_yaml(const ClusterSpec& c) {
  return fmt::format(
      "name: random\ndevice_types:\n  test_device: {{memory: {:.0f}B, memory_bandwidth: {:.9g}GB/s, "
      "multiprocessors: "
      "40, launch_overhead: {:.9g}us,\n                peak: {{fp32: {:.9g}TFLOP/s, bf16: "
      "{:.9g}TFLOP/s}}}}\nnodes:\n"
      "  - {{count: {}, device: test_device, devices: {}, link: {{bandwidth: {:.9g}GB/s, latency: "
      "{:.9g}us}}, uplink: "
      "{{bandwidth: {:.9g}GB/s, latency: {:.9g}us}}}}\n",
      c.memory, c.bandwidth / 1e9, c.launch * 1e6, c.flops / 1e12, c.flops * 2 / 1e12, c.nodes, c.devices,
      c.link / 1e9, c.link_latency * 1e6, c.uplink / 1e9, c.uplink_latency * 1e6);
}

graph::OpGraph random_graph_of(const std::vector<OperatorSpec>& operators) {
  graph::GraphBuilder builder("random");
  std::vector<core::OpId> ids;
  for (const OperatorSpec& spec : operators) {
    graph::Operator op;
    op.name = spec.name;
    op.kind = graph::OpKind::profiled;
    op.forward_flops = core::Flops(spec.flops);
    op.input_gradient_flops = spec.inputs.empty() ? core::Flops(0) : op.forward_flops;
    if (spec.parameters > 0) op.weight_gradient_flops = op.forward_flops;
    op.parameters = spec.parameters;
    op.output_bytes = Bytes(spec.output);
    op.saved_bytes = Bytes(spec.saved);
    std::vector<core::OpId> inputs;
    for (const std::size_t from : spec.inputs) inputs.push_back(ids.at(from));
    ids.push_back(builder.add(std::move(op), inputs));
  }
  return graph::canonical(builder.build());  // as a file of it is read
}

std::optional<plan::Plan> plan_of(const cost::Problem& problem, const ProblemSpec& spec) {
  const PlanSpec& how = spec.plan;
  const int devices = spec.cluster.count(), stages = how.ranks * how.chunks;
  const auto size = static_cast<int>(problem.graph.size());
  if (devices % how.ranks != 0 || stages > size) return {};
  const int each = devices / how.ranks;
  if (each % how.tensor != 0 || how.micro_batch < each / how.tensor) return {};
  if (problem.training.mini_batch % how.micro_batch != 0) return {};
  plan::Plan out;
  out.model = spec.zoo.name.empty() ? plan::ModelRef{"model.json", {}} : spec.zoo;
  out.cluster = {"cluster.yaml", devices, spec.cluster.runtime};
  out.planner = "hand";
  out.training = problem.training;
  out.schedule = how.schedule;
  const auto rank = how.schedule == "zbv" ? schedule::zigzag_placement(how.ranks, how.chunks)
                                          : schedule::loop_placement(how.ranks, how.chunks);
  for (int s = 0; s < stages; ++s) {
    plan::Stage& stage = out.stages.emplace_back();
    for (int v = s * size / stages; v < (s + 1) * size / stages; ++v)
      stage.operators.emplace_back(static_cast<std::size_t>(v));
    for (int d = 0; d < each; ++d)
      stage.devices.emplace_back(static_cast<std::size_t>(rank[static_cast<std::size_t>(s)] * each + d));
    stage.micro_batch = how.micro_batch;
    stage.tensor_parallel = how.tensor;
    stage.zero = stage.weight_replicas() > 1 ? how.zero : 0;
    if (plan::applies(problem.graph, stage.operators, how.recompute)) stage.recompute = how.recompute;
  }
  return out;
}

BuiltProblem::BuiltProblem(ProblemSpec spec)
    : id_([] {
        static std::uint64_t built = 0;
        return ++built;
      }()),
      spec_(std::move(spec)),
      graph_(graph_of(spec_)),
      cluster_(cluster_of(spec_.cluster)),
      costs_text_(costs_text_of(spec_, graph_)),
      costs_(costs_of(spec_.costs, costs_text_)) {
  try {
    auto made = plan_of(problem(), spec_);
    if (!made || !score::stage_violations(problem(), *made).empty()) return;
    score::derive_in_flight(problem(), *made);
    if (score::violations(problem(), *made).empty()) plan_ = std::move(made);
  } catch (const core::Error&) {  // a schedule that these stages cannot have
  }
}

std::string write_files(const BuiltProblem& world, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    core::write_file(folder + "/" + name, text);
  };
  write("cluster.yaml", cluster_yaml(world.spec().cluster));
  const bool zoo = !world.spec().zoo.name.empty();
  if (!zoo) write("model.json", graph::to_json(world.graph()));
  std::string costs;
  if (!world.costs_text().empty()) {
    write("costs.yaml", world.costs_text());
    costs = " --costs costs.yaml";
  }
  if (world.plan()) {
    write("plan.yaml", plan::to_yaml(world.graph(), *world.plan()));
    return fmt::format("cd {} && penstock simulate plan.yaml{}", folder, costs);
  }
  std::string model = zoo ? world.spec().zoo.name : "model.json";
  for (const auto& [key, value] : world.spec().zoo.parameters) model += fmt::format(" -p {}={}", key, value);
  return fmt::format(
      "cd {} && penstock plan --model {} --cluster cluster.yaml --devices {} --mini-batch {}{}", folder,
      model, world.spec().cluster.count(), world.spec().training.mini_batch, costs);
}

}  // namespace penstock::properties
