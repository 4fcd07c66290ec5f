// Received tensors that torch's pipelining keeps on the last stage.
#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/from_megatron.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"

using namespace penstock;

namespace {

constexpr std::int64_t kTokens = 64, kWidth = 32;

/// Peaks of both devices of a pipeline, simulated and by the rules of plans.
struct PipelinePeaks {
  std::vector<std::int64_t> simulated, counted;
};

PipelinePeaks peaks(const std::string& framework, std::int64_t micro_batches, const std::string& more = "") {
  plan::Plan plan = frameworks::from_megatron(
                        "--num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 64 "
                        "--max-position-embeddings 64 --vocab-size 128 --micro-batch-size 1 --bf16 "
                        "--make-vocab-size-divisible-by 1 --pipeline-model-parallel-size 2 "
                        "--untie-embeddings-and-output-weights --attention-dropout 0 "
                        "--hidden-dropout 0 --global-batch-size " +
                            std::to_string(micro_batches) + " " + more,
                        "run.sh", {"2xH100", 2}, 2, {})
                        .plan;
  const auto graph = models::build(plan.model.name, plan.model.parameters);
  const auto cluster = experiment::load_cluster({"2xH100", 2, framework});
  const cost::AnalyticCosts costs;
  schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
  const cost::Problem problem{graph, cluster, costs, plan.training};
  PipelinePeaks out;
  for (const auto& device : trace::summarise(sim::simulate(problem, {graph, plan})).devices)
    out.simulated.push_back(device.peak.value());
  for (const auto& memory : score::stage_memories(problem, plan))
    out.counted.push_back(plan::total(memory).value());
  return out;
}

}  // namespace

TEST_CASE(
    "torch's last stage keeps the received tensor of every micro-batch, other frameworks those in flight") {
  constexpr std::int64_t received = kTokens * kWidth * 2;  // bytes, of one micro-batch in 16 bits
  for (const char* framework : {"pytorch", "torchtitan", "automodel"}) {
    CAPTURE(framework);
    const PipelinePeaks few = peaks(framework, 4), many = peaks(framework, 20);
    CHECK(many.simulated[1] - few.simulated[1] == 16 * received);
    CHECK(many.counted[1] - few.counted[1] == 16 * received);
    CHECK(many.simulated[0] == few.simulated[0]);
  }
  for (const char* framework : {"megatron", "deepspeed", "none"}) {
    CAPTURE(framework);
    const PipelinePeaks few = peaks(framework, 4), many = peaks(framework, 20);
    CHECK(many.simulated == few.simulated);
    CHECK(many.counted == few.counted);
  }
}

TEST_CASE("a recomputed last stage of torch keeps received tensors too") {
  const std::string recompute =
      "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  const PipelinePeaks few = peaks("pytorch", 4, recompute), many = peaks("pytorch", 20, recompute);
  CHECK(many.simulated[1] - few.simulated[1] == 16 * kTokens * kWidth * 2);
}
