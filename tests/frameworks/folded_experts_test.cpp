// Experts in Megatron-LM's arguments: whole beside tensor parallelism (--expert-tensor-parallel-size 1), or of
// a GPT.

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/frameworks/from_megatron.hpp"
#include "penstock/plan/strategy.hpp"
#include "support/reference_data.hpp"

using namespace penstock;

namespace {

const std::string kMixture =
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 "
    "--vocab-size 512 --make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16 --swiglu "
    "--normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights --ffn-hidden-size 128 --num-experts 8 --moe-router-topk 2 "
    "--use-distributed-optimizer --bf16 ";

plan::Plan read(const std::string& more, std::int64_t devices) {
  return frameworks::from_megatron(kMixture + more, "train.sh", {"8xH100", static_cast<int>(devices)},
                                   devices, {})
      .plan;
}

std::string refusal(const std::string& more, std::int64_t devices) {
  try {
    read(more, devices);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

std::string words(const plan::Plan& plan) {
  return plan::in_words(plan::strategy(plan, 1));
}

}  // namespace

TEST_CASE("expert groups over tensor-parallel devices are read, and written back") {
  const plan::Plan plan = read(
      "--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 8 "
      "--expert-tensor-parallel-size 1",
      8);
  CHECK(plan.stages.front().whole_experts);
  CHECK(plan.stages.front().expert_parallel == 8);
  CHECK(plan.stages.front().zero == 1);
  CHECK(words(plan).starts_with("DP4 x TP2+SP x EP8+ETP1"));
  const auto graph = models::build(plan.model.name, plan.model.parameters);
  const auto& megatron = frameworks::framework_named("megatron");
  CHECK(frameworks::refusals(megatron, graph, plan, false).empty());
  const std::string back = frameworks::exported(megatron, graph, plan, "");
  CHECK(back.find("--expert-model-parallel-size 8\n") != back.npos);
  CHECK(back.find("--expert-tensor-parallel-size 1\n") != back.npos);
  // Stages with such experts stay as they are, and other frameworks have no word for them.
  plan::Plan uneven = plan;
  uneven.stages.front().partition[uneven.stages.front().operators.back()] = plan::Partition::whole;
  const auto mended = frameworks::nearest(megatron, graph, uneven);
  REQUIRE(mended);
  CHECK(words(*mended).starts_with("DP4 x TP2+SP x EP8+ETP1"));
  const auto others = frameworks::refusals(frameworks::framework_named("torchtitan"), graph, plan, false);
  CHECK(std::ranges::count(others, "torchtitan is told nothing of experts here: the plan has EP8") == 1);
}

TEST_CASE("without its own size an expert is divided as the operators beside it") {
  const std::string groups = "--tensor-model-parallel-size 2 --sequence-parallel ";
  CHECK_FALSE(read(groups + "--expert-model-parallel-size 4", 8).stages.front().whole_experts);
  CHECK_FALSE(read(groups + "--expert-model-parallel-size 4 --expert-tensor-parallel-size 2", 8)
                  .stages.front()
                  .whole_experts);
  CHECK(refusal(groups + "--expert-model-parallel-size 8", 8).ends_with("4 replicas are not groups of 8"));
}

TEST_CASE("sizes of experts that no plan states are refused by name") {
  const std::string four =
      "--tensor-model-parallel-size 4 --sequence-parallel --expert-model-parallel-size 2 ";
  CHECK(refusal(four + "--expert-tensor-parallel-size 2", 8)
            .ends_with("expected 1, or 4 as operators beside experts: no plan states another"));
  CHECK(refusal("--tensor-model-parallel-size 2 --expert-tensor-parallel-size 1", 8)
            .find("expert_tensor_parallel_size") != std::string::npos);
  CHECK(refusal(four + "--expert-tensor-parallel-size 1", 8) == "taken");
  CHECK(refusal("--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 3 "
                "--expert-tensor-parallel-size 1",
                8)
            .ends_with("8 devices with whole experts are not groups of 3"));
}

TEST_CASE("a public recipe folds experts over tensor-parallel devices") {
  const std::string file = support::reference_data("trials/expert_folding/folded.sh");
  if (file.empty()) return;
  const auto run = frameworks::from_megatron(core::read_file(file), file, {"8xH100", 8}, 8, {});
  CHECK(words(run.plan).starts_with("DP4 x TP2+SP x EP8+ETP1"));
  const auto& stage = run.plan.stages.front();
  CHECK(stage.expert_replicas() == 1);  // held once per 8 devices
  CHECK(stage.weight_replicas() == 4);
}

TEST_CASE("a GPT's experts have its activation and its biases, and are written back") {
  const std::string gpt =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 "
      "--vocab-size 512 --make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16 "
      "--num-experts 8 --moe-router-topk 1 --moe-router-load-balancing-type sinkhorn ";
  const auto plan = [&](const std::string& more) {
    return frameworks::from_megatron(gpt + more, "train.sh", {"8xH100", 4}, 4, {}).plan;
  };
  const auto parameters = [&](const std::string& more) {
    const auto model = plan(more).model;
    return models::build(model.name, model.parameters).parameters();
  };
  // Tables of 544 x 64, with the head tied. A layer: attention 4 x 64 x 64, router 64 x 8, experts
  // 8 x 2 x 64 x 256. Norms: two of a layer and the last one, 128 numbers each.
  constexpr std::int64_t kPlain = 544 * 64 + 2 * (4 * 64 * 64 + 64 * 8 + 8 * 2 * 64 * 256) + 5 * 128,
                         kBiases = 2 * (4 * 64 + 8 * (256 + 64));
  CHECK(parameters("--disable-bias-linear") == kPlain);
  CHECK(parameters("") == kPlain + kBiases);
  CHECK(parameters("--disable-bias-linear --swiglu --ffn-hidden-size 256") == kPlain + 2 * 8 * 64 * 256);
  CHECK(parameters("--disable-bias-linear --moe-ffn-hidden-size 128") == kPlain - 2 * 8 * 2 * 64 * 128);
  const plan::Plan read = plan("--disable-bias-linear --expert-model-parallel-size 4");
  const auto graph = models::build(read.model.name, read.model.parameters);
  const std::string back = frameworks::exported(frameworks::framework_named("megatron"), graph, read, "");
  for (const char* line : {"--num-experts 8\n", "--moe-router-topk 1\n", "--moe-ffn-hidden-size 256\n",
                           "--disable-bias-linear\n", "--expert-model-parallel-size 4\n"})
    CHECK_MESSAGE(back.find(line) != back.npos, line);
}
