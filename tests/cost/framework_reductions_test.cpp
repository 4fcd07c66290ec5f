// How frameworks reduce gradients: in buckets of one chunk only, or in the precision of weights.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/cluster/runtime.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/buckets.hpp"
#include "penstock/cost/weight_exchanges.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "src/cost/zero_traffic.hpp"
#include "support/judged_plan.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;

namespace {

/// Four operators in a row with 250 numbers each.
graph::OpGraph row() {
  graph::GraphBuilder builder("row");
  for (std::size_t v = 0; v < 4; ++v) {
    builder.add(support::unit_op("v" + std::to_string(v), 1e9, 250));
    if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
  }
  return builder.build();
}

cluster::Cluster run_by(const char* framework) {
  return support::tiny_cluster(4).run_by(cluster::runtime(framework));
}

}  // namespace

// megatron-core 0.19.2: bucket_size is None on pipeline ranks above 0, and where disable_bucketing is set: in model
// chunks above 0.
TEST_CASE("Megatron-LM has buckets in the chunk that begins the model, others in all") {
  const auto graph = row();
  const cost::AnalyticCosts costs;
  plan::Training training{4};
  training.bucket = Bytes(1000);
  const plan::Stage first = support::stage_of(0, 2, 4, 4), later = support::stage_of(2, 4, 4, 4),
                    whole = support::stage_of(0, 4, 4, 4);
  for (const char* framework : {"megatron", "megatron+compiled"}) {
    const auto cluster = run_by(framework);
    const cost::Problem problem{graph, cluster, costs, training};
    CHECK(cost::bucket_size(problem, first) == Bytes(1000));
    CHECK(cost::bucket_size(problem, later) == Bytes(0));
    CHECK(cost::buckets(problem, first).size() == 2);
    CHECK(cost::buckets(problem, later).size() == 1);
    CHECK(cost::buckets(problem, later).front().gradients == Bytes(2000));
    CHECK(cost::buckets(problem, whole).size() == 4);
  }
  for (const char* framework : {"torchtitan", "deepspeed", "automodel", "pytorch", "none", "eager_pytorch"}) {
    CAPTURE(framework);
    const auto cluster = run_by(framework);
    CHECK(cost::buckets({graph, cluster, costs, training}, later).size() == 2);
  }
}

// accelerate 1.15.0: mixed_precision bf16 sets param_dtype, reduce_dtype and output_dtype of FSDP2 to bf16. Without
// reduce_dtype, FSDP2 of torch 2.15 reduces in fp32.
TEST_CASE(
    "gradients that accelerate's replicas shard travel in bf16, others in the precision of their sums") {
  const auto graph = models::build("llama", {{"layers", "1"},
                                             {"hidden", "32"},
                                             {"heads", "4"},
                                             {"kv_heads", "4"},
                                             {"feed_forward", "64"},
                                             {"sequence", "64"},
                                             {"vocabulary", "128"},
                                             {"element_bytes", "2"},
                                             {"loss", "no"}});
  const cost::AnalyticCosts costs;
  plan::Training training{4};
  const auto sent = [&](const char* framework, const char* precision, int zero) {
    const auto cluster = run_by(framework);
    training.precision = plan::mixed_precision(precision);
    plan::Stage stage = support::stage_of(0, graph.size(), 4, 4);
    stage.zero = zero;
    return cost::sent_gradients({graph, cluster, costs, training}, stage, Bytes(1000)).value();
  };
  for (const int zero : {0, 2, 3})
    for (const char* framework : {"torchtitan", "automodel", "pytorch", "megatron", "none"}) {
      CAPTURE(framework);
      CHECK(sent(framework, "mixed_bf16", zero) == 2000);
      CHECK(sent(framework, "bf16", zero) == 1000);
    }
  CHECK(sent("accelerate", "mixed_bf16", 0) == 2000);  // DistributedDataParallel, of fp32 weights
  CHECK(sent("accelerate", "mixed_bf16", 2) == 1000);
  CHECK(sent("accelerate", "mixed_bf16", 3) == 1000);
  CHECK(sent("accelerate+compiled", "mixed_bf16", 3) == 1000);
  CHECK(sent("accelerate", "bf16", 3) == 1000);
  training.compression.gradients = 0.5;
  CHECK(sent("accelerate", "mixed_bf16", 3) == 500);
  CHECK(sent("pytorch", "mixed_bf16", 3) == 1000);
}
