// BERT and T5 of Megatron-LM.
#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/frameworks/from_megatron.hpp"
#include "penstock/layout/ties.hpp"

using namespace penstock;

namespace {

const std::string kEncoder =
    "--hidden-size 64 --num-attention-heads 4 --max-position-embeddings 32 --vocab-size 512 "
    "--make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16 ";
const std::string kBert = "python pretrain_bert.py " + kEncoder + "--num-layers 8 --seq-length 32 ";
const std::string kT5 = "python pretrain_t5.py " + kEncoder +
                        "--encoder-num-layers 3 --encoder-seq-length 32 --decoder-seq-length 16 ";

plan::Plan imported(const std::string& script, int devices = 1) {
  return frameworks::from_megatron(script, "train.sh", {"8xH100", devices}, devices, {}).plan;
}

std::int64_t weights_in(const std::string& script) {
  const plan::ModelRef model = imported(script).model;
  return models::build(model.name, model.parameters).parameters();
}

std::string answer(const std::string& script, int devices = 1) {
  try {
    imported(script, devices);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

constexpr std::int64_t kHidden = 64, kWords = 512, kPositions = 32, kNorm = 2 * kHidden;
constexpr std::int64_t kAttention = 4 * (kHidden * kHidden + kHidden),
                       kFeed = 8 * kHidden * kHidden + 5 * kHidden;
constexpr std::int64_t kLayer = kAttention + kFeed + 2 * kNorm;

}  // namespace

TEST_CASE("weights of Megatron-LM's BERT equal a count by hand") {
  constexpr std::int64_t dense = kHidden * kHidden + kHidden;
  constexpr std::int64_t masked = kWords * kHidden + kPositions * kHidden + 8 * kLayer + kNorm  // encoder
                                  + dense + kNorm + kWords;                                     // head
  constexpr std::int64_t next = 2 * kHidden + dense + 2 * kHidden + 2;  // segments, pooler, two classes
  CHECK(weights_in(kBert + "--bert-no-binary-head") == masked);
  CHECK(weights_in(kBert) == masked + next);
  CHECK(weights_in(kBert + "--untie-embeddings-and-output-weights") == masked + next + kWords * kHidden);
  CHECK(weights_in(kBert + "--disable-bias-linear") == masked + next - 8 * 9 * kHidden);
}

TEST_CASE("weights of Megatron-LM's T5 equal a count by hand") {
  constexpr std::int64_t decoder = kLayer + kAttention + kNorm;
  constexpr std::int64_t all =
      kWords * kHidden + kPositions * kHidden + 3 * (kLayer + decoder) + 2 * kNorm + kWords;
  CHECK(weights_in(kT5) == all);
  CHECK(weights_in(kT5 + "--decoder-num-layers 3 --kv-channels 16 --ffn-hidden-size 256") == all);
  CHECK(weights_in(kT5 + "--untie-embeddings-and-output-weights") == all - kWords + kWords * kHidden);
  CHECK(weights_in(kT5 + "--kv-channels 8") == all - 9 * (2 * kHidden * kHidden + 3 * kHidden / 2));
}

TEST_CASE(
    "tensor parallelism leaves torch's layers in BERT's heads whole, and divides the vocabulary's bias") {
  const plan::Plan plan = imported(kBert + "--tensor-model-parallel-size 4", 4);
  const auto graph = models::build(plan.model.name, plan.model.parameters);
  const auto axis = [&](const std::string& name) {
    for (std::size_t v = 0; v < graph.size(); ++v)
      if (graph.op(core::OpId(v)).name == name)
        return layout::weight_axis(graph, plan.stages.front(), core::OpId(v));
    FAIL("the model has no operator ", name);
    return std::optional<layout::WeightAxis>();
  };
  for (const char* whole : {"masked.dense", "masked.norm", "pooler.dense", "next.head"}) CHECK(!axis(whole));
  for (const char* divided : {"token.embedding", "head.bias"})
    CHECK(axis(divided) == layout::WeightAxis::first);
}

TEST_CASE("BERT's encoder is cut into stages, virtual ones too") {
  CHECK(imported(kBert + "--pipeline-model-parallel-size 2", 2).stages.size() == 2);
  CHECK(imported(kBert + "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2", 2)
            .stages.size() == 4);
}

TEST_CASE("dropout, kernels and lengths of BERT and T5 are read as Megatron-LM reads them") {
  const auto bert = imported(kBert + "--attention-backend unfused").model.parameters;
  CHECK(bert.at("dropout") == "yes");
  CHECK(bert.at("attention") == "plain");
  CHECK(imported(kBert + "--spec local").model.parameters.at("attention") == "plain");
  CHECK(imported(kBert).model.parameters.at("attention") == "flash");
  const auto t5 = imported(kT5 + "--attention-dropout 0 --hidden-dropout 0").model.parameters;
  CHECK(t5.at("dropout") == "no");
  CHECK(t5.at("source_length") == "32");
  CHECK(t5.at("target_length") == "16");
}

TEST_CASE("parts that no plan states of BERT or T5 are refused by name") {
  const auto refuses = [](const std::string& script, const char* name, int devices = 1) {
    CAPTURE(script);
    CHECK(answer(script, devices).starts_with(std::string("train.sh:1: ") + name + ": "));
  };
  refuses(kT5 + "--pipeline-model-parallel-size 2", "pipeline_model_parallel_size", 2);
  refuses(kT5 + "--decoder-num-layers 4", "decoder_num_layers");
  refuses(kT5 + "--position-embedding-type relative", "position_embedding_type");
  refuses(kT5 + "--context-parallel-size 2", "context_parallel_size", 2);
  refuses(kBert + "--sequence-parallel --tensor-model-parallel-size 2", "sequence_parallel", 2);
  refuses(kBert + "--use-rotary-position-embeddings", "use_rotary_position_embeddings");
  refuses(kBert + "--normalization RMSNorm", "normalization");
  refuses(kBert + "--kv-channels 8", "kv_channels");
  refuses(kBert + "--num-experts 4", "num_experts");
  refuses(kBert + "--group-query-attention --num-query-groups 2", "group_query_attention");
  CHECK(answer(kBert + "--num-layers 4 --encoder-num-layers 4") != "taken");
}
