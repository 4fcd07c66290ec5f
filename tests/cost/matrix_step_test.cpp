// Optimizers that treat matrices, or large tensors, apart: their state, padded buffers, and the time of Muon's step.

#include "penstock/cost/matrix_step.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/catalogue.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/cluster/runtime.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/cost/training_state.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Bytes;
using plan::MemoryKind;
using plan::Optimizer;

namespace {

using Sizes = std::vector<std::int64_t>;
constexpr std::size_t kDevices = 8;

/// Parameters of a model whose weights have the precision's size.
std::map<std::string, std::string> stored_in(const std::string& precision,
                                             std::map<std::string, std::string> parameters) {
  if (precision != "fp32") parameters["element_bytes"] = "2";
  return parameters;
}

/// A model on the devices of one node, as one stage.
struct StepCase {
  StepCase(const StepCase&) = delete;  // the problem refers to the members
  StepCase& operator=(const StepCase&) = delete;
  StepCase(const char* family, const std::map<std::string, std::string>& parameters, Optimizer optimizer,
           const char* precision = "fp32", const char* framework = "none")
      : graph(models::build(family, stored_in(precision, parameters))),
        cluster(cluster::load_cluster("8xH100").run_by(cluster::runtime(framework))),
        problem{graph, cluster, costs, {kDevices, optimizer}} {
    problem.training.precision = plan::mixed_precision(precision);
    problem.training.bucket = Bytes(0);
    for (std::size_t op = 0; op < graph.size(); ++op) stage.operators.emplace_back(op);
    for (std::size_t d = 0; d < kDevices; ++d) stage.devices.emplace_back(d);
    stage.micro_batch = stage.in_flight = kDevices;
  }
  plan::MemoryByKind memory() const {
    return cost::stage_memory(cost::stage_load(problem, stage), {}, problem.training, 0, 0, {},
                              plan::replica_placement(stage));
  }
  Bytes state() const { return at(memory(), MemoryKind::optimizer); }
  double step() const { return cost::step_time(problem, stage, 0, cluster.types()[0]).value(); }
  double products() const {
    return cost::orthogonalization_time(problem, stage, 0, cluster.types()[0]).value();
  }

  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
  cost::Problem problem;
  plan::Stage stage;
};

const std::map<std::string, std::string> kLlama = {{"size", "llama3-8b"}, {"sequence", "4096"}};
constexpr std::int64_t kAll = 8'030'261'248, kMatrices = 6'979'321'856;

}  // namespace

TEST_CASE("state of Llama 3 8B, to the byte: muon, lion, adam8bit") {
  const std::int64_t rest = kAll - kMatrices;  // table, head, norms
  CHECK(StepCase("llama", kLlama, Optimizer::adam).state() == Bytes(8 * kAll));
  CHECK(StepCase("llama", kLlama, Optimizer::lion).state() == Bytes(4 * kAll));
  CHECK(StepCase("llama", kLlama, Optimizer::muon).state() == Bytes(4 * kMatrices + 8 * rest));
  CHECK(StepCase("llama", kLlama, Optimizer::muon, "mixed_bf16").state() ==
        Bytes(4 * kMatrices + 8 * rest + 4 * kAll));
  // Norms of 4,096 numbers are divisible by 256: every tensor is in 8 bits. Stored: 4 matrices and 2 norms a layer
  // (query, key and value are three), and three more.
  const std::int64_t tensors = 32 * (6 + 2) + 3;
  CHECK(StepCase("llama", kLlama, Optimizer::adam8bit).state() ==
        Bytes(2 * kAll + 2 * kAll / 256 * 4 + tensors * 2048));
}

TEST_CASE("small tensors keep both moments in the parameter's type under adam8bit") {
  const StepCase wide("bert", {}, Optimizer::adam8bit);
  std::int64_t expected = 0;
  for (std::size_t op = 0; op < wide.graph.size(); ++op)
    for (const graph::WeightTensor& t : graph::weight_tensors(wide.graph, core::OpId(op))) {
      const std::int64_t each = t.rows * t.columns;
      expected += t.count * (each < 4096 || each % 256 != 0 ? 8 * each : 2 * each + each / 32 + 2048);
    }
  CHECK(wide.state() == Bytes(expected));
  CHECK(wide.state() > Bytes(wide.graph.parameters() * 65 / 32));
}

TEST_CASE("state of a mixture and of a decoder with a tied head, to the byte") {
  const std::int64_t hidden = 4096, layers = 32, words = 32000, experts = 8;
  const std::int64_t matrices =
      layers * (2 * hidden * hidden + 2 * hidden * 1024 + experts * (3 * hidden * 14336 + hidden));
  const std::int64_t rest = 2 * words * hidden + (2 * layers + 1) * hidden;
  CHECK(StepCase("mixtral", {}, Optimizer::muon).state() == Bytes(4 * matrices + 8 * rest));
  const StepCase gpt("gpt", {}, Optimizer::muon);
  const cost::UpdatedWeights updated = cost::stage_load(gpt.problem, gpt.stage).updated;
  CHECK(gpt.state() == Bytes(gpt.graph.parameters() * 4) + updated.by_adam);
  CHECK(updated.by_adam > Bytes(0));
  CHECK(cost::checkpoint_bytes(gpt.problem) == Bytes(gpt.graph.parameters() * 4) + gpt.state());
}

TEST_CASE("Newton-Schulz: 5 x 3 products, whichever side is the longer") {
  CHECK(cost::newton_schulz_flops(2, 3).value() == 5 * (2 * 2 * 2 * 3 + 2 * 2 * 2 * 2 + 2 * 2 * 2 * 3));
  CHECK(cost::newton_schulz_flops(3, 2).value() == cost::newton_schulz_flops(2, 3).value());
  CHECK(cost::newton_schulz_flops(4096, 4096).value() == 15 * 2 * 4096.0 * 4096 * 4096);
}

// Sizes of buffers and of the fullest owner are those of megatron-core 0.19.2's own
// LayerWiseDistributedOptimizer._compute_per_buffer_param_layout, run on these sizes.
TEST_CASE("buffers of whole matrices are as large as megatron-core's") {
  Sizes layers;
  for (int layer = 0; layer < 32; ++layer)
    for (const std::int64_t size : {16777216, 25165824, 117440512, 58720256}) layers.push_back(size);
  const auto numbers = [](const Sizes& sizes, std::int64_t owners, std::int64_t bucket) {
    const auto out = cost::matrix_buffers(sizes, owners, bucket);
    return std::pair(out.numbers, out.fullest);
  };
  CHECK(numbers(layers, 8, 40'000'000) == std::pair<std::int64_t, std::int64_t>(7717519360, 964689920));
  CHECK(numbers(layers, 64, 64'000'000) == std::pair<std::int64_t, std::int64_t>(15032385536, 234881024));
  CHECK(numbers(layers, 256, 256'000'000) == std::pair<std::int64_t, std::int64_t>(30064771072, 117440512));
  CHECK(numbers(layers, 8, 0) == std::pair<std::int64_t, std::int64_t>(6979321856, 872415232));
  CHECK(numbers(layers, 64, 0) == std::pair<std::int64_t, std::int64_t>(7516192768, 117440512));
  CHECK(numbers(layers, 6, 40'000'000) == std::pair<std::int64_t, std::int64_t>(7751073792, 1291845632));
  layers.resize(4 * 8);
  CHECK(numbers(layers, 8, 40'000'000) == std::pair<std::int64_t, std::int64_t>(2080374784, 260046848));
  CHECK(numbers(layers, 64, 64'000'000) == std::pair<std::int64_t, std::int64_t>(7516192768, 117440512));
  const Sizes odd = {1000, 4097, 64, 130, 777, 5000, 321};
  CHECK(numbers(odd, 2, 0) == std::pair<std::int64_t, std::int64_t>(11776, 5777));
  CHECK(numbers(odd, 2, 3000) == std::pair<std::int64_t, std::int64_t>(12800, 6194));
  CHECK(numbers(odd, 3, 0) == std::pair<std::int64_t, std::int64_t>(15360, 5000));
  CHECK(numbers(odd, 5, 3000) == std::pair<std::int64_t, std::int64_t>(25600, 5000));
}

TEST_CASE("Megatron-LM's ranks own whole matrices, and every rank has the padding") {
  StepCase owned("llama", kLlama, Optimizer::muon, "mixed_bf16", "megatron");
  owned.stage.zero = 1;
  const std::int64_t rest = kAll - kMatrices, fullest = 872'415'232;
  CHECK(owned.state() == Bytes(8 * fullest + 12 * rest / 8));
  CHECK(at(owned.memory(), MemoryKind::weights) == Bytes(2 * kAll));  // on 8 owners the bucket is even
  owned.problem.training.bucket = Bytes(160'000'000);                 // 40 million fp32 gradients
  const std::int64_t padding = 7'717'519'360 - kMatrices;
  CHECK(at(owned.memory(), MemoryKind::weights) == Bytes(2 * (kAll + padding)));
  CHECK(at(owned.memory(), MemoryKind::gradients) == Bytes(4 * (kAll + padding)));
  StepCase even("llama", kLlama, Optimizer::muon, "mixed_bf16", "pytorch");
  even.stage.zero = 1;
  CHECK(even.state() == Bytes(8 * kMatrices / 8 + 12 * rest / 8));
}

TEST_CASE("Muon's step: owners divide it, copies do all of it, FSDP2 sends between products") {
  const StepCase copies("llama", kLlama, Optimizer::muon, "mixed_bf16"),
      adam("llama", kLlama, Optimizer::adam, "mixed_bf16");
  StepCase owners("llama", kLlama, Optimizer::muon, "mixed_bf16"),
      divided("llama", kLlama, Optimizer::muon, "mixed_bf16");
  double flops = 0;
  for (const auto& matrix : cost::muon_matrices(copies.graph, copies.stage.operators, {}, 1))
    for (const auto& part : matrix.parts) flops += cost::newton_schulz_flops(part.rows, part.columns).value();
  const double square = 15 * 2 * 4096.0 * 4096 * 4096,
               narrow = 5 * 2 * (2 * 1024.0 * 1024 * 4096 + 1024.0 * 1024 * 1024),
               up = 5 * 2 * (2 * 4096.0 * 4096 * 28672 + 4096.0 * 4096 * 4096),
               down = 5 * 2 * (2 * 4096.0 * 4096 * 14336 + 4096.0 * 4096 * 4096);
  CHECK(flops == support::near(32 * (2 * square + 2 * narrow + up + down), 1e-9));
  const double peak = copies.cluster.types()[0].peak_rate(cluster::Precision::bf16).value();
  CHECK(copies.products() > flops / peak);
  CHECK(copies.products() < 2 * flops / peak);
  owners.stage.zero = 1;
  // Owners have unequal shares: the fullest takes a few percent more than an eighth.
  CHECK(owners.products() >= copies.products() / 8);
  CHECK(owners.products() < copies.products() / 8 * 1.05);
  divided.stage.zero = 3;
  CHECK(divided.products() > owners.products());
  CHECK(adam.products() == 0);
  CHECK(copies.step() > copies.products());
  CHECK(copies.step() - copies.products() < adam.step());
}
