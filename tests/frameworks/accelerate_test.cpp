// accelerate, under Hugging Face's Trainer: no pipelines; sizes whose product is the number of processes.
#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/plan/mixed_precision.hpp"

using namespace penstock;
using namespace penstock::frameworks;

namespace {

const graph::OpGraph& llama() {
  static const graph::OpGraph out = models::build("llama", {{"layers", "4"},
                                                            {"hidden", "64"},
                                                            {"heads", "4"},
                                                            {"kv_heads", "2"},
                                                            {"vocabulary", "512"},
                                                            {"sequence", "32"},
                                                            {"attention", "flash"},
                                                            {"element_bytes", "2"}});
  return out;
}

/// The whole model on eight devices.
plan::Plan whole(int tensor, int context, int zero) {
  plan::Plan out;
  out.model = {"llama", {}};
  out.training = {64, plan::Optimizer::adam};
  out.training.precision = plan::mixed_precision("mixed_bf16");
  out.schedule = "1f1b";
  plan::Stage& stage = out.stages.emplace_back();
  for (std::size_t v = 0; v < llama().size(); ++v) stage.operators.emplace_back(v);
  for (std::size_t d = 0; d < 8; ++d) stage.devices.emplace_back(d);
  stage.tensor_parallel = tensor;
  stage.context_parallel = context;
  stage.zero = zero;
  stage.micro_batch = 2 * 8 / (tensor * context);
  return out;
}

const Framework& accelerate() {
  return framework_named("accelerate");
}

std::string written(const plan::Plan& plan) {
  const auto why = refusals(accelerate(), llama(), plan, false);
  return why.empty() ? exported(accelerate(), llama(), plan, "") : why.front();
}

bool says(const plan::Plan& plan, const std::string& part) {
  return written(plan).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("accelerate is handed sizes whose product is the number of processes") {
  auto plan = whole(2, 2, 3);
  plan.stages[0].recompute = plan::kRecomputeLayers;
  for (const char* part :
       {"num_processes: 8\n", "mixed_precision: 'bf16'\n", "distributed_type: FSDP\n", "fsdp_version: 2\n",
        "fsdp_reshard_after_forward: true\n", "fsdp_activation_checkpointing: true\n",
        "parallelism_config_dp_replicate_size: 1\n", "parallelism_config_dp_shard_size: 2\n",
        "parallelism_config_tp_size: 2\n", "parallelism_config_cp_size: 2\n",
        "parallelism_config_cp_comm_strategy: alltoall\n",
        "per_device_train_batch_size=2, gradient_accumulation_steps=16\n"}) {
    CAPTURE(part);
    CHECK(says(plan, part));
  }
  plan.stages[0].context_exchange = plan::ContextExchange::all_gather;
  CHECK(says(plan, "parallelism_config_cp_comm_strategy: allgather\n"));
  plan.stages[0].context_exchange = plan::ContextExchange::ulysses;
  CHECK(written(plan) == "accelerate has context parallelism by ring, all_gather, not by ulysses");
}

TEST_CASE("replicas that share in groups, or hold whole copies, in accelerate's words") {
  auto hybrid = whole(1, 1, 2);
  hybrid.stages[0].zero_over = 4;
  CHECK(says(hybrid, "parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 4\n"));
  CHECK(says(hybrid, "fsdp_reshard_after_forward: false\n"));
  auto copies = whole(1, 1, 0);
  copies.stages[0].recompute = plan::kRecomputeLayers;
  CHECK(says(copies, "distributed_type: MULTI_GPU\n"));
  CHECK_FALSE(says(copies, "parallelism_config"));  // the launcher refuses it without FSDP2
  CHECK(says(copies, "gradient_checkpointing=True\n"));
  CHECK_FALSE(says(copies, "fsdp_config"));
  copies.training.precision = plan::mixed_precision("fp32");
  CHECK(says(copies, "mixed_precision: 'no'\n"));
}

TEST_CASE("accelerate has no pipelines, and no tensor parallelism of whole copies") {
  CHECK(written(whole(2, 1, 0)) ==
        "accelerate shards weights over replicas of tensor-parallel groups: the plan has TP2 without ZeRO");
  CHECK(says(whole(8, 1, 0), "the plan has TP8 without ZeRO"));
  CHECK(says(whole(2, 1, 2), "parallelism_config_tp_size: 2\n"));
  auto piped = whole(1, 1, 0);
  piped.stages.push_back(piped.stages[0]);
  const std::size_t half = llama().size() / 2;
  piped.stages[0].operators.resize(half);
  piped.stages[1].operators.erase(piped.stages[1].operators.begin(),
                                  piped.stages[1].operators.begin() + static_cast<std::ptrdiff_t>(half));
  piped.stages[0].devices.resize(4);
  piped.stages[1].devices.erase(piped.stages[1].devices.begin(), piped.stages[1].devices.begin() + 4);
  for (auto& stage : piped.stages) stage.micro_batch = 4;
  CHECK(written(piped) == "accelerate has no pipelines: the plan has PP2");
  const auto near = nearest(accelerate(), llama(), piped);
  REQUIRE(near);
  REQUIRE(near->stages.size() == 1);
  CHECK(near->stages[0].devices.size() == 8);
  CHECK(near->stages[0].zero == 3);  // a pipeline holds each weight on one of its ranks
  CHECK(refusals(accelerate(), llama(), *near, false).empty());
}
