#include "penstock/frameworks/from_megatron.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "frameworks/writers.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/random.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "support/checkout.hpp"
#include "support/reference_data.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using frameworks::from_megatron;
using frameworks::MegatronRun;

namespace {

const std::string kModel =
    "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 "
    "\\\n"
    "  --vocab-size 512 --make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16 ";
const std::string kLlama =
    kModel +
    "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
    "--untie-embeddings-and-output-weights --ffn-hidden-size 128 ";

MegatronRun read(const std::string& text, std::int64_t devices, const std::string& file = "train.sh") {
  return from_megatron(text, file, {"8xH100", static_cast<int>(devices)}, devices, {});
}

std::string refusal(const std::string& text, std::int64_t devices = 4, const std::string& file = "train.sh") {
  try {
    read(text, devices, file);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

/// [stage] its layers of the decoder.
std::vector<std::int64_t> layers_of(const plan::Plan& plan) {
  const auto graph = models::build(plan.model.name, plan.model.parameters);
  const auto reading = frameworks::read_layers(graph, plan);
  REQUIRE(reading.plan);
  std::vector<std::int64_t> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) out.push_back(reading.plan->layers(s));
  return out;
}

using Counts = std::vector<std::int64_t>;

/// A YAML file of kLlama's arguments.
std::string yaml(const std::string& more) {
  return "num_layers: 8\nhidden_size: 64\nnum_attention_heads: 4\nseq_length: 32\nffn_hidden_size: 128\n"
         "vocab_size: 512\nmake_vocab_size_divisible_by: 1\nmicro_batch_size: 1\nglobal_batch_size: 16\n"
         "normalization: RMSNorm\nposition_embedding_type: rope\nuntie_embeddings_and_output_weights: yes\n" +
         more + "\n";
}
const std::string kOn = "swiglu: true\ndisable_bias_linear: true\n";

}  // namespace

TEST_CASE("a script that starts another number of processes than the cluster has devices is refused") {
  const auto refused = [](const std::string& launcher) {
    return refusal(launcher + " pretrain_gpt.py " + kLlama, 4);
  };
  CHECK(refused("torchrun --nproc_per_node 8 --nnodes 2") ==
        "train.sh:1: nproc_per_node: the script starts 16 processes, and the plan is for 4 devices: give a "
        "cluster of 16 (--gpus, --devices), or --ignore nproc_per_node");
  CHECK(refused("deepspeed --num_gpus 8").find("num_gpus: the script starts 8 processes") !=
        std::string::npos);
  CHECK(refused("torchrun --nproc-per-node 2 --nnodes=2") == "taken");
  CHECK(refused("torchrun --nproc_per_node 4") == "taken");
  for (const char* unknown :
       {"torchrun --nproc_per_node gpu", "torchrun --nproc_per_node 8 --nnodes $N", "python"})
    CHECK(refused(unknown) == "taken");
  CHECK(from_megatron("torchrun --nproc_per_node 8 pretrain_gpt.py " + kLlama, "train.sh", {"8xH100", 4}, 4,
                      {}, {"nproc_per_node"})
            .plan.stages.size() == 1);
}

TEST_CASE("a batch that replicas cannot share is refused in the script's words, with the nearest batches") {
  CHECK(refusal(kLlama + "--micro-batch-size 2 --global-batch-size 30", 4) ==
        "train.sh:2: global_batch_size: 30 is no multiple of micro_batch_size 2 x data-parallel size 4: the "
        "nearest are 24 and 32");
  CHECK(refusal(kLlama + "--micro-batch-size 32 --global-batch-size 32", 8)
            .find("32 is no multiple of micro_batch_size 32 x data-parallel size 8: the nearest is 256") !=
        std::string::npos);
  const std::string file = support::reference_data("trials/batch_words/uneven.sh");
  if (!file.empty())
    CHECK(
        refusal(core::read_file(file), 1472) ==
        "train.sh:4: global_batch_size: 32 is no multiple of micro_batch_size 1 x data-parallel size 23: the "
        "nearest are 23 and 46");
}

TEST_CASE("an error names the line of an argument in a text of several lines, wherever that is used") {
  const std::string text =
      "ARGS=\"\n  --num-layers 8 \\\n  --hidden-size 64\n  --num-attention-heads four\"\n"
      "RUN=\"torchrun pretrain_gpt.py \\\n  --bf16 \\\n  $ARGS --micro-batch-size 1\"\neval $RUN";
  CHECK(refusal(text).starts_with("train.sh:4: num_attention_heads: expected a whole number"));
  CHECK(refusal(text + " --tensor-model-parallel-size x")
            .starts_with("train.sh:8: tensor_model_parallel_size"));
  CHECK(refusal("bash -c 'torchrun t.py\n --num-layers x --hidden-size 64'\n")
            .starts_with("train.sh:2: num_layers"));
}

TEST_CASE("an argument that is not known is refused, unless the launcher or a mapping of data has it") {
  CHECK(refusal(kLlama + "--moon-layers 3 --lr 1 --sun-layers 2", 1) ==
        "train.sh:2: moon_layers: is not known, and may change model, time or memory (--ignore moon_layers "
        "reads the rest); also unknown: sun_layers");
  CHECK(refusal("start --moon-layers 3 pretrain_gpt.py " + kLlama, 1) == "taken");
  CHECK(refusal(yaml(kOn + "moon_layers: 3"), 1, "run.yaml")
            .starts_with("run.yaml:15: moon_layers: is not known"));
  for (const char* aside : {"data: {moon_layers: 3}", "moon_layers: null", "MOON_LAYERS: 3"})
    CHECK(refusal(yaml(kOn + aside), 1, "run.yaml") == "taken");
  // Names of Megatron-LM in several years, and of its launchers.
  for (const char* harmless : {"--use-mcore-models",
                               "--transformer-impl transformer_engine",
                               "--no-async-tensor-model-parallel-allreduce",
                               "--distributed-timeout-minutes 60",
                               "--log-throughput",
                               "--ckpt-format torch_dist",
                               "--data-path d",
                               "--tokenizer-type NullTokenizer",
                               "--lr-warmup-iters 2",
                               "--weight-decay 0.1",
                               "--split 99,1,0",
                               "--exit-duration-in-mins 230",
                               "--DDP-impl local",
                               "--master_addr x",
                               "--rotary-percent 1.0",
                               "--overlap-param-gather",
                               "--tp-comm-overlap",
                               "--no-gradient-accumulation-fusion",
                               "--timing-log-level 0",
                               "--cross-entropy-loss-fusion",
                               "--moe-permute-fusion",
                               "--manual-gc",
                               "--wandb-project x",
                               "--deepspeed",
                               "--recompute-method uniform",
                               "--spec local"})
    CHECK(refusal(kLlama + harmless, 1) == "taken");
  for (const char* foreign :
       {"--freeze-LM", "--img-h 336", "--perform-rl-step", "--rwkv-head-size 64", "--gated-delta-net",
        "--linear-num-key-heads 16", "--spec a.mamba_specs stack", "--partition-activations"})
    CHECK(refusal(kLlama + foreign, 1).find("no plan states this (--ignore ") != std::string::npos);
}

// Files may state every argument.
TEST_CASE("arguments that count beside others only change nothing without these") {
  for (const char* idle :
       {"kv_lora_rank: 32", "q_lora_rank: null", "moe_layer_freq: 1", "moe_router_topk: 2",
        "moe_ffn_hidden_size: null", "n_shared_experts: 2", "no_position_embedding: true",
        "add_position_embedding: false", "qk_layernorm: false", "model_parallel_size: null",
        "encoder_tensor_model_parallel_size: 0", "mtp_loss_scaling_factor: 0.1"}) {
    CAPTURE(idle);
    CHECK(refusal(yaml(kOn + idle), 1, "run.yaml") == "taken");
  }
  CHECK(refusal(
            kLlama + "--multi-latent-attention --num-experts 8 --group-query-attention --num-query-groups 2",
            1) == "taken");
  CHECK(refusal(kModel + "--kv-channels 16", 1) == "taken");
}

TEST_CASE("a script of another model than a decoder is refused by its name") {
  const auto refused = [](const std::string& script) {
    return refusal("torchrun " + script + " " + kLlama, 1);
  };
  CHECK(
      refused("finetune_bert.py") ==
      "train.sh:1: finetune_bert.py: trains BERT, an encoder; decoders of text, BERT and T5 are read (--ignore "
      "finetune_bert.py reads the arguments as a decoder's)");
  for (const char* other : {"a/t5_tasks.py", "pretrain_biencoder_bert.py", "pretrain_vision_classify.py",
                            "pretrain_ict.py", "pretrain_mamba.py", "train_rl.py",
                            "$HOME/examples/multimodal/train.py", "train_rwkv.py", "pretrain_vlm.py"})
    CHECK(refused(other).find("decoders of text, BERT and T5 are read") != std::string::npos);
  for (const char* decoder : {"pretrain_gpt.py", "t5/pretrain_gpt.py", "pretrain_llama.py", "train.py"})
    CHECK(refused(decoder) == "taken");
  CHECK(from_megatron("torchrun x/pretrain_bert.py " + kModel, "train.sh", {"8xH100", 1}, 1, {},
                      {"pretrain_bert.py"})
            .plan.model.name == "gpt");
}

TEST_CASE("words of Megatron's relatives are read") {
  const auto plan = [](const std::string& name, std::int64_t devices) {
    const std::string file = support::reference_data("trials/model_words/" + name);
    return file.empty() ? plan::Plan{} : read(core::read_file(file), devices, name).plan;
  };
  const auto millions = [](const plan::Plan& read) {
    return models::build(read.model.name, read.model.parameters).parameters() / 1'000'000;
  };
  if (const plan::Plan wide = plan("wide.yaml", 16); !wide.stages.empty()) {
    CHECK(wide.model.parameters.at("feed_forward") == "24576");
    CHECK(millions(wide) == 33'697);  // with the vocabulary padded to a multiple of 128 x TP4
    CHECK(millions(plan("latent.sh", 8)) == 15'706);
    CHECK(millions(plan("glu.sh", 8)) == 1315);
    CHECK(layers_of(plan("layer_list.sh", 8)) == Counts{11, 13, 13, 11});
  }
  if (const plan::Plan encoder = plan("encoder.sh", 8); !encoder.stages.empty())
    CHECK(models::build(encoder.model.name, encoder.model.parameters).parameters() ==
          336'226'108 + (30'592 - 30'522) * 1025);  // BertForPreTraining with a longer vocabulary
  for (const char* refused : {"vision.sh", "reinforcement.sh"})
    if (const std::string file = support::reference_data(std::string("trials/model_words/") + refused);
        !file.empty())
      CHECK(refusal(core::read_file(file), 8, refused).find("decoders of text, BERT and T5 are read") !=
            std::string::npos);
}

TEST_CASE("an argument that is misspelt by a letter or two is refused, others are listed") {
  CHECK(
      refusal(kLlama + "--tensor-model-paralel-size 2").find("did you mean 'tensor_model_parallel_size'?") !=
      std::string::npos);
  CHECK(read(kLlama + "--tensorboard-dir x --vocab-file v.json --lr 3", 4).unread ==
        std::vector<std::string>{"lr", "tensorboard_dir", "vocab_file"});
}

TEST_CASE("a launch script: arrays, variables, comments, quotes, and arguments of others") {
  const std::string script =
      "#!/bin/bash\n"
      "TP=2\nPP=${PP:-2}   # of the environment, or 2\n"
      "MODEL_ARGS=(\n    --num-layers 8 --hidden-size 64\n    --num-attention-heads 4   # heads\n"
      "    --seq-length 32 --max-position-embeddings 32\n    --vocab-size 500 --make-vocab-size-divisible-by "
      "4\n)\n"
      "TRAINING=\"--micro-batch-size 2 --global-batch-size 16 --bf16 --lr 6.0e-5\"\n"
      "torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_ARGS[@]} $TRAINING \\\n"
      "  --tensor-model-parallel-size $TP --pipeline-model-parallel-size=${PP} --sequence-parallel \\\n"
      "  --use-distributed-optimizer --recompute-granularity full --recompute-method block "
      "--recompute-num-layers 3\n";
  const MegatronRun run = read(script, 8);
  CHECK(run.plan.model.name == "gpt");
  CHECK(run.plan.model.parameters.at("vocabulary") == "504");  // the next multiple of 4 x TP2
  CHECK(run.plan.model.parameters.at("element_bytes") == "2");
  CHECK(run.plan.training.mini_batch == 16);
  CHECK(run.plan.stages.size() == 2);
  for (const auto& stage : run.plan.stages) {
    CHECK(stage.tensor_parallel == 2);
    CHECK(stage.replicas() == 2);
    CHECK(stage.micro_batch == 4);
    CHECK(stage.zero == 1);
    CHECK(stage.sequence_parallel);
    CHECK(plan::written(stage.recompute) == "3 layers");
  }
  CHECK(layers_of(run.plan) == Counts{4, 4});
  CHECK(run.unread == std::vector<std::string>{"lr"});
}

TEST_CASE("context groups and instances of the distributed optimizer are read") {
  const std::string two =
      kModel + " --context-parallel-size 2 --cp-comm-type allgather --use-distributed-optimizer";
  const MegatronRun run = read(two + " --num-distributed-optimizer-instances 2", 8);
  for (const auto& stage : run.plan.stages) {
    CHECK(stage.context_parallel == 2);
    CHECK(stage.context_exchange == plan::ContextExchange::all_gather);
    CHECK(stage.replicas() == 4);
    CHECK(stage.zero == 1);
    CHECK(stage.zero_over == 4);  // of eight with equal weights
  }
  CHECK(run.unread.empty());
  CHECK(read(two, 2).plan.stages.front().zero == 1);  // two groups of one replica share
  CHECK(refusal(two + " --num-distributed-optimizer-instances 3").find("are not 3 instances") !=
        std::string::npos);
}

// Conditions of Megatron-LM 0.19's forward_backward_pipelining_with_interleaving.
TEST_CASE("groups of interleaved micro-batches are read, or refused as Megatron-LM does") {
  const auto with = [](std::int64_t micro_batches, const std::string& group) {
    const std::string text =
        kLlama +
        "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 --global-batch-size " +
        std::to_string(micro_batches) +
        (group.empty() ? "" : " --microbatch-group-size-per-virtual-pipeline-stage " + group);
    return refusal(text, 4);
  };
  CHECK(with(16, "") == "taken");
  CHECK(with(10, "5") == "taken");
  CHECK(with(6, "6") == "taken");
  CHECK(with(10, "").find("does not interleave 10 micro-batches in groups of 4: the last group has 2") !=
        std::string::npos);
  CHECK(with(10, "4").find("the last group has 2, fewer than the 4") != std::string::npos);
  CHECK(with(3, "").find("groups of 4 to 3 micro-batches") != std::string::npos);
  CHECK(with(8, "2").find("groups of 4 to 8 micro-batches") != std::string::npos);
  // Megatron-LM runs these, and no plan states them.
  CHECK(with(16, "8").find("16 micro-batches in groups of 8: a plan states equal groups alone, here of 4") !=
        std::string::npos);
  CHECK(with(11, "6").find("11 micro-batches in groups of 6") != std::string::npos);
  CHECK(read(kLlama + "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "
                      "--global-batch-size 10 --microbatch-group-size-per-virtual-pipeline-stage 5",
             4)
            .unread.empty());
  // Without interleaving any number runs.
  CHECK(refusal(kLlama + "--pipeline-model-parallel-size 4 --global-batch-size 3", 4) == "taken");
}

TEST_CASE("a YAML file gives the same names, as deep as it likes") {
  const MegatronRun run = read(
      "model:\n  num_layers: 8\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length: 32\n"
      "  max_position_embeddings: 32\n  vocab_size: 512\n  make_vocab_size_divisible_by: 1\n"
      "parallel: {pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2, "
      "sequence_parallel: false}\n"
      "train: {micro_batch_size: 1, global_batch_size: 16, bf16: true, data: [a, b]}\n",
      2, "run.yaml");
  CHECK(run.plan.schedule == "interleaved_1f1b");
  CHECK(layers_of(run.plan) == Counts{2, 2, 2, 2});
  CHECK(plan::rank_of_stage(run.plan) == std::vector<std::int32_t>{0, 1, 0, 1});
  CHECK(run.plan.training.precision == plan::mixed_precision("mixed_bf16"));
}

TEST_CASE("without a global batch size each replica takes one micro-batch") {
  const std::string model =
      "model:\n  num_layers: 8\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length: 32\n"
      "  max_position_embeddings: 32\n  vocab_size: 512\n  make_vocab_size_divisible_by: 1\n";
  const MegatronRun run = read(
      model + "parallel: {pipeline_model_parallel_size: 2}\ntrain: {micro_batch_size: 3}\n", 8, "run.yaml");
  CHECK(run.plan.training.mini_batch == 3 * 4);  // 8 devices in pipelines of two
  CHECK(refusal(model, 1, "run.yaml").find("micro_batch_size: is not given") != std::string::npos);
}

TEST_CASE("a key that two mappings of a YAML file give different values is refused with both lines") {
  const std::string rest =
      "model:\n  num_layers: 8\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length: 32\n"
      "  max_position_embeddings: 32\n  vocab_size: 512\n  make_vocab_size_divisible_by: 1\n"
      "train: {micro_batch_size: 1, global_batch_size: 16}\n";
  CHECK(refusal(rest + "other: {num_layers: 8}\n", 1, "run.yaml") == "taken");
  CHECK(refusal(rest + "other: {num-layers: 12}\n", 1, "run.yaml") ==
        "run.yaml:10: num_layers: is '12' here and '8' in line 2: keep one of them");
}

TEST_CASE("a switch of a YAML file has the words of YAML 1.1, 0, 1 and null") {
  const auto precise = [](const std::string& value) {
    return read(yaml(kOn + "bf16: " + value), 1, "run.yaml").plan.training.precision.has_value();
  };
  for (const char* on : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "1"})
    CHECK(precise(on));
  for (const char* off :
       {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "0", "", "~", "null"})
    CHECK(!precise(off));
  for (const char* unclear : {"n", "y", "disabled", "2", "tRUE", "[true]", "''", "'no'", "\"true\""}) {
    CAPTURE(unclear);
    CHECK(refusal(yaml(kOn + "bf16: " + unclear), 1, "run.yaml")
              .starts_with("run.yaml:15: bf16: a switch: expected true or false"));
  }
  // Equal words for every switch.
  const auto parameter = [](const std::string& switches, const char* name) {
    return read(yaml(switches), 1, "run.yaml").plan.model.parameters.at(name);
  };
  CHECK(parameter("swiglu: no\ndisable_bias_linear: true", "gated") == "no");
  CHECK(parameter("swiglu: true\ndisable_bias_linear: no", "attention_bias") == "yes");
  CHECK(refusal(yaml(kOn + "use_megatron_fsdp: no"), 1, "run.yaml") == "taken");
  CHECK(refusal(yaml(kOn + "use_megatron_fsdp: on"), 1, "run.yaml").find("Megatron-FSDP") !=
        std::string::npos);
  CHECK(refusal(yaml(kOn + "fp8: false"), 1, "run.yaml") == "taken");
}

TEST_CASE("Megatron-Bridge's names of a tied head and of precisions are read") {
  const auto tied = [](const std::string& more) {
    std::string text = yaml(kOn + more);
    text.erase(text.find("untie_embeddings"),
               std::string("untie_embeddings_and_output_weights: yes\n").size());
    return read(text, 1, "run.yaml").plan.model.parameters.at("tied_head");
  };
  CHECK(tied("share_embeddings_and_output_weights: false") == "no");
  CHECK(tied("share_embeddings_and_output_weights: true") == "yes");
  CHECK(tied("share_embeddings_and_output_weights: null") == "yes");
  CHECK(refusal(yaml(kOn + "share_embeddings_and_output_weights: true"), 1, "run.yaml")
            .find("is true, and untie_embeddings_and_output_weights is true: keep one") != std::string::npos);
  const auto precision = [](const std::string& name) {
    return read(yaml(kOn + "mixed_precision: " + name), 1, "run.yaml").plan.training.precision;
  };
  for (const char* bf16 : {"bf16_mixed", "bf16-mixed", "\"bf16_mixed\""})
    CHECK(precision(bf16) == plan::mixed_precision("mixed_bf16"));
  CHECK(precision("fp16_mixed") == plan::mixed_precision("mixed_fp16"));
  CHECK(precision("{bf16: true, grad_reduce_in_fp32: true}") == plan::mixed_precision("mixed_bf16"));
  CHECK(refusal(yaml(kOn + "mixed_precision: bf16_with_mxfp8_mixed"), 1, "run.yaml")
            .find("expected  or bf16_mixed") != std::string::npos);
  CHECK(refusal(yaml(kOn + "mixed_precision: {bf16: true, grad_reduce_in_fp32: false}"), 1, "run.yaml")
            .find("gradients reduced in bf16") != std::string::npos);
}

TEST_CASE("Megatron-LM's recipes of 8 and 4 bits are formats of products") {
  const auto precision = [](const std::string& arguments) {
    const plan::Plan plan = read(kLlama + "--bf16 " + arguments, 8).plan;
    CHECK(plan.training.precision);
    const auto products = plan.model.parameters.find("products");
    CHECK((products == plan.model.parameters.end() ? "stored" : products->second) ==
          graph::name(plan.training.precision->products));
    return std::string(plan::name(*plan.training.precision));
  };
  CHECK(precision("--fp8-format hybrid") == "fp8_delayed");
  CHECK(precision("--fp8-format e4m3 --fp8-recipe tensorwise") == "fp8_current");
  CHECK(precision("--fp8-format e4m3 --fp8-recipe blockwise") == "fp8_block");
  CHECK(precision("--fp8-format hybrid --fp8-recipe mxfp8 --fp8-amax-history-len 1024") == "mxfp8");
  CHECK(precision("--fp4-format e2m1 --fp4-recipe nvfp4") == "nvfp4");
  CHECK(precision("--fp8-recipe mxfp8") == "mixed_bf16");  // without a format Megatron-LM multiplies in bf16
  const auto wrong = [](const std::string& arguments) { return refusal(kLlama + arguments, 8); };
  CHECK(wrong("--fp8-format hybrid").find("only where it trains in --bf16") != std::string::npos);
  CHECK(wrong("--fp16 --fp4-format e2m1").find("only where it trains in --bf16") != std::string::npos);
  CHECK(wrong("--bf16 --fp8-format hybrid --fp4-format e2m1").find("keep one of them") != std::string::npos);
  CHECK(wrong("--bf16 --fp8-format hybrid --fp8-recipe custom").find("tensorwise") != std::string::npos);
  CHECK(wrong("--bf16 --fp8-format hybrid --fp8-param-gather").find("8-bit weights") != std::string::npos);
  CHECK(wrong("--bf16 --fp8-format hybrid --first-last-layers-bf16").find("some layers in 16 bits") !=
        std::string::npos);
}

// A file like those of tests/functional_tests/test_cases of Megatron-LM.
TEST_CASE("a YAML file may have a command line's names, with dashes") {
  const MegatronRun run = read(
      "ENV_VARS: {CUDA_DEVICE_MAX_CONNECTIONS: 1}\nMODEL_ARGS:\n  --num-layers: 8\n  --hidden-size: 64\n"
      "  --num-attention-heads: 4\n  --seq-length: 32\n  --max-position-embeddings: 32\n  --vocab-size: 512\n"
      "  --make-vocab-size-divisible-by: 1\n  --micro-batch-size: 1\n  --global-batch-size: 16\n"
      "  --pipeline-model-parallel-size: 2\n  --bf16: true\nTEST_TYPE: regular\n",
      2, "run.yaml");
  CHECK(run.plan.stages.size() == 2);
  CHECK(run.plan.training.precision == plan::mixed_precision("mixed_bf16"));
  CHECK(run.unread == std::vector<std::string>{"CUDA_DEVICE_MAX_CONNECTIONS", "TEST_TYPE"});
}

TEST_CASE("arguments without a place in a plan are refused, or ignored by name") {
  const std::string arguments[] = {"is_hybrid_model",
                                   "experimental_attention_variant dsa",
                                   "attention_output_gate",
                                   "moe_latent_size 64",
                                   "heterogeneous_layers_config_path x.json",
                                   "fp8_param_gather",
                                   "tensor_parallel_num_weight_shards 2",
                                   "grad_reduce_in_bf16",
                                   "main_grads_dtype bf16",
                                   "exp_avg_dtype fp8",
                                   "optimizer_cpu_offload",
                                   "moe_layer_recompute",
                                   "distribute_saved_activations",
                                   "overlap_moe_expert_parallel_comm",
                                   "use_tp_pp_dp_mapping"};
  for (const std::string& argument : arguments) {
    CAPTURE(argument);
    const std::string name = argument.substr(0, argument.find(' '));
    std::string flag = argument;
    std::replace(flag.begin(), flag.begin() + static_cast<std::ptrdiff_t>(name.size()), '_', '-');
    const std::string text = kLlama + "--" + flag;
    CHECK(refusal(text, 1).find("no plan states this (--ignore " + name) != std::string::npos);
    for (const std::string& given : {name, "--" + flag.substr(0, name.size())})
      CHECK(from_megatron(text, "train.sh", {"8xH100", 1}, 1, {}, {given}).plan.stages.size() == 1);
  }
  for (const char* usual : {"--main-grads-dtype fp32", "--softmax-type vanilla", "--exp-avg-dtype fp32"})
    CHECK(refusal(kLlama + usual, 1) == "taken");
  CHECK_THROWS_WITH_AS(from_megatron(kLlama, "train.sh", {"8xH100", 1}, 1, {}, {"moe_latent_size"}),
                       "train.sh: moe_latent_size is to be ignored, and is not in the file", core::BadInput);
}

TEST_CASE("dropout that a model of the zoo leaves out is noted") {
  const auto notes = [](const std::string& text) { return read(text, 1).notes.size(); };
  CHECK(notes(kLlama) == 1);
  CHECK(notes(kLlama + "--attention-dropout 0 --hidden-dropout 0.0") == 0);
  CHECK(notes(kModel) == 0);                            // a gpt has its masks
  CHECK(read(yaml(kOn), 1, "run.yaml").notes.empty());  // Megatron-Bridge's recipes turn it off
}

TEST_CASE("a switch of a command line has no value, or a clear one") {
  CHECK(read(kLlama + "--bf16", 1).plan.training.precision);
  CHECK(read(kLlama + "--bf16 $MORE_ARGS", 1).plan.training.precision);
  CHECK(!read(kLlama + "--bf16=no", 1).plan.training.precision);
  CHECK(refusal(kLlama + "--bf16 train.py", 1) ==
        "train.sh:2: bf16: a switch: expected true or false, found 'train.py'");
  CHECK(refusal(kLlama + "--bf16 yes no", 1).find("found 'yes no'") != std::string::npos);
}

TEST_CASE("a number of a YAML file is a number, not a text or an octal one") {
  const auto layers = [](const std::string& value) {
    return refusal(yaml(kOn + "num_query_groups: " + value), 1, "run.yaml");
  };
  CHECK(layers("2") == "taken");
  CHECK(layers("null") == "taken");
  for (const char* no : {"'2'", "02", "1_0", "0x2", "2.0", "[2]", "two"})
    CHECK(
        layers(no).starts_with("run.yaml:15: num_query_groups: expected a whole number from 1 on, found '"));
}

TEST_CASE("lists of a YAML file are read, refused or named") {
  const std::string two = kOn + "pipeline_model_parallel_size: 2\n";
  const auto split = [&](const std::string& layout) {
    return layers_of(read(yaml(two + "pipeline_model_parallel_layout: " + layout), 2, "run.yaml").plan);
  };
  CHECK(split("[[embedding, decoder, decoder], [decoder*6, loss]]") == Counts{2, 6});
  CHECK(
      split("\n- [embedding]\n- [decoder * 3]\n- [decoder, decoder, decoder, decoder, decoder]\n- [loss]") ==
      Counts{0, 3, 5, 0});
  const auto wrong = [&](const std::string& more) { return refusal(yaml(two + more), 2, "run.yaml"); };
  CHECK(wrong("pipeline_model_parallel_layout: [embedding, decoder]")
            .find("expected a list of layers for each stage") != std::string::npos);
  CHECK(wrong("pipeline_model_parallel_layout: [[embedding, layer], [loss]]")
            .find("expected embedding, decoder, mtp or loss, found 'layer'") != std::string::npos);
  CHECK(read(yaml(two + "window_size: [128, 0]"), 2, "run.yaml").plan.model.parameters.at("mixers") ==
        "window(129)");
  CHECK(wrong("window_size: [128, 128]").find("none after it") != std::string::npos);
  CHECK(wrong("fp8_format: [\"e5m2\"]").find("hybrid or e4m3") != std::string::npos);
  CHECK(wrong("mtp_num_layers: [1]").find("multi-token prediction") != std::string::npos);
  CHECK(wrong("hierarchical_context_parallel_sizes: [2, 2]").find("context parallelism in two ways") !=
        std::string::npos);
  const std::string selective = "recompute_granularity: selective\nrecompute_modules: ";
  CHECK(wrong(selective + "[core_attn]") == "taken");
  CHECK(wrong(selective + "[core_attn, mlp]").find("recompute_modules: expected core_attn") !=
        std::string::npos);
  CHECK(read(yaml(two + "data_path: [a, b]"), 2, "run.yaml").unread == std::vector<std::string>{"data_path"});
  CHECK(refusal(kLlama + "--recompute-granularity selective --recompute-modules core_attn mlp", 1)
            .find("recompute_modules: expected core_attn") != std::string::npos);
}

TEST_CASE("only the launched command of a script counts, and what it uses") {
  const std::string rest =
      " --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 --vocab-size 512 "
      "--make-vocab-size-divisible-by 1 --micro-batch-size 1 --global-batch-size 16";
  const std::string arrays =
      "SMALL=(--num-layers 8 --hidden-size 64)\nLARGE=(--num-layers 48 --hidden-size 4096)\n";
  const auto run =
      read(arrays + "python prepare.py --seq-length 7\ntorchrun t.py ${SMALL[@]}" + rest + " --bf16", 1);
  CHECK(run.plan.model.parameters.at("layers") == "8");
  CHECK(run.plan.model.parameters.at("hidden") == "64");
  CHECK(run.plan.model.parameters.at("sequence") == "32");

  const std::string branches =
      "if [ $SIZE = small ]; then\n  L=8\nelse\n  L=48\nfi\ntorchrun t.py --num-layers $L --hidden-size 64" +
      rest;
  CHECK(refusal(branches, 1) ==
        "train.sh:6: num_layers: is '8' by line 2 (L) and '48' by line 4; nothing in the script decides: "
        "keep one "
        "of them");
  CHECK(read("SIZE=small\n" + branches, 1).plan.model.parameters.at("layers") == "8");
  // Branches that set what is not read are no matter.
  CHECK(refusal("if [ $SIZE = a ]; then D=x; else D=y; fi\ntorchrun t.py --num-layers 8 --hidden-size 64 "
                "--data-path $D" +
                    rest,
                1) == "taken");
  CHECK(
      refusal("if [ -f x ]; then\n P=--bf16\nfi\ntorchrun t.py $P --num-layers 8 --hidden-size 64" + rest, 1)
          .find("bf16: is given by line 2 (P) and not given by line 1") != std::string::npos);
  CHECK(refusal("torchrun t.py --num-layers 8 --hidden-size 64" + rest +
                    "\ntorchrun t.py --num-layers 9 --hidden-size 64" + rest,
                1)
            .find("num_layers: is '8' in the command of line 1 and '9' in the command of line 2") !=
        std::string::npos);
  CHECK(refusal(arrays + "echo ${SMALL[@]}", 1).find("hidden_size: is '4096' here and '64' in line 1") !=
        std::string::npos);
  CHECK(refusal("torchrun t.py --num-layers 8 \\\n  # --hidden-size 32 \\\n  --hidden-size 64" + rest, 1)
            .starts_with("train.sh:3: --hidden-size: begins a command of its own"));
}

TEST_CASE("an attention backend is one of Megatron-LM's, and expert groups need experts") {
  const auto attention = [](const std::string& backend) {
    return read(kLlama + "--attention-backend " + backend, 1).plan.model.parameters.at("attention");
  };
  for (const char* flash : {"flash", "fused", "auto"}) CHECK(attention(flash) == "flash");
  for (const char* plain : {"unfused", "local"}) CHECK(attention(plain) == "plain");
  // GPUs before Ampere have no fused attention.
  CHECK(from_megatron(kModel + "--attention-backend flash", "train.sh", {"8xV100-32", 1}, 1, {}, {}, false)
            .plan.model.parameters.at("attention") == "plain");
  CHECK(refusal(kLlama + "--attention-backend triton", 1).find("attention_backend: expected flash or") !=
        std::string::npos);
  CHECK(refusal(kLlama + "--expert-model-parallel-size 2").find("the model has no experts") !=
        std::string::npos);
}

TEST_CASE("widths, experts and stages in the words of FlagScale, MindSpeed and Megatron-DeepSpeed") {
  const auto parameters = [](const std::string& more) {
    return read(kLlama + more, 1).plan.model.parameters;
  };
  const std::string no_width = yaml(kOn).replace(yaml(kOn).find("ffn_hidden_size: 128\n"), 21, "");
  const auto width = [&](const std::string& more) {
    return read(no_width + more, 1, "run.yaml").plan.model.parameters.at("feed_forward");
  };
  CHECK(width("multiple_of: 100\n") == "200");                              // of 4 x 64 x 2 / 3 = 170
  CHECK(width("multiple_of: 100\nhidden_dim_multiplier: 1.3\n") == "300");  // of 221
  CHECK(refusal(no_width + "hidden_dim_multiplier: 1.3\n", 1, "run.yaml")
            .find("counts beside multiple_of only") != std::string::npos);
  CHECK(
      refusal(kModel + "--glu-activation geglu", 1).find("glu_activation: expected swiglu, found 'geglu'") !=
      std::string::npos);
  CHECK(read(kModel + "--glu-activation swiglu", 1).plan.model.parameters.at("feed_forward") == "256");
  CHECK(parameters("--pad-vocab-size-to 1024").at("vocabulary") == "1024");
  const std::string experts = "--multi-latent-attention --num-experts 8 --moe-intermediate-size 24 ";
  CHECK(parameters(experts).at("expert_width") == "24");
  CHECK(parameters(experts + "--n-shared-experts 2").at("shared_width") == "48");
  CHECK(parameters(experts + "--first-k-dense-replace 2 --moe-layer-freq 1").at("dense_layers") == "2");
  CHECK(refusal(kLlama + experts + "--first-k-dense-replace 9", 1).find("is 9, and the model has 8 layers") !=
        std::string::npos);
  CHECK(refusal(kLlama + experts + "--moe-ffn-hidden-size 32", 1).find("keep one of them") !=
        std::string::npos);
  CHECK(refusal(kLlama + experts + "--n-shared-experts 2 --moe-shared-expert-intermediate-size 64", 1)
            .find("n_shared_experts: makes shared experts 48 wide") != std::string::npos);
  const auto stages = [](const std::string& list) {
    return refusal(kLlama + "--pipeline-model-parallel-size 4 --num-layer-list " + list, 4);
  };
  CHECK(layers_of(read(kLlama + "--pipeline-model-parallel-size 4 --num-layer-list 1,3,3,1", 4).plan) ==
        Counts{1, 3, 3, 1});
  CHECK(layers_of(read(yaml(kOn + "pipeline_model_parallel_size: 2\nnum_layer_list: [3, 5]"), 2, "run.yaml")
                      .plan) == Counts{3, 5});
  CHECK(stages("1,3,3,2").find("num_layer_list: has 9 layers, the model 8") != std::string::npos);
  CHECK(stages("4,4").find("has 2 stages, the pipeline 4 ranks") != std::string::npos);
  CHECK(stages("1,3,,4").find("expected layers of each stage") != std::string::npos);
  CHECK(stages("1,3,3,1 --num-virtual-stages-per-pipeline-rank 2").find("does not go with num_layer_list") !=
        std::string::npos);
}

TEST_CASE("${NAME:value} of a YAML file is its value") {
  const auto pipeline = [](const std::string& value) {
    return refusal(yaml(kOn + "pipeline_model_parallel_size: " + value), 2, "run.yaml");
  };
  for (const char* two : {"${PP:2}", "\"${PP:2}\"", "${A:${B:2}}", "${PP:null}"})
    CHECK(pipeline(two) == "taken");
  CHECK(read(yaml(kOn + "pipeline_model_parallel_size: ${PP:2}"), 2, "run.yaml").plan.stages.size() == 2);
  CHECK(refusal(yaml(kOn + "bf16: ${BF16:no}"), 1, "run.yaml") == "taken");
  for (const char* open : {"${PP}", "${PP:x}", "${a.b:2}"}) {
    CAPTURE(open);
    CHECK(pipeline(open).starts_with("run.yaml:15: pipeline_model_parallel_size: expected a whole number"));
  }
}

TEST_CASE("a job of Primus takes its model from the file that it names, and overrides it") {
  const support::ScratchFolder folder("primus_job");
  const auto write = [&](const std::string& name, const std::string& text) {
    core::write_file(folder.path(name), text);
    return folder.path(name);
  };
  const std::string job =
      "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    model: m.yaml\n"
      "    overrides:\n      seq_length: 16\n";
  const std::string file = write("job.yaml", job);
  CHECK(refusal(job, 1, file) == file + ":5: modules.pre_trainer.model: " + folder.path("m.yaml") +
                                     " does not exist: copy it next to this file");
  write("base.yaml", yaml(kOn));
  write("m.yaml", "extends:\n  - base.yaml\nnum_layers: 6\n");
  const auto run = read(job, 1, file);
  CHECK(run.plan.model.parameters.at("layers") == "6");
  CHECK(run.plan.model.parameters.at("sequence") == "16");
  write("pre_trainer.yaml", "num_layers: 5\nbf16: true\n");
  CHECK(read(job, 1, file).plan.model.parameters.at("layers") == "6");
  CHECK(read(job, 1, file).plan.training.precision.has_value());
  const std::string model = write("m.yaml", "extends: [base.yaml]\nnum_layers: six\n");
  CHECK(refusal(job, 1, file).starts_with(model + ":2: num_layers: expected a whole number"));
  write("m.yaml", "extends: [m.yaml]\n");
  CHECK(refusal(job, 1, file).find("files name each other too deep") != std::string::npos);
  // Primus keeps models in a folder of its own, above its jobs.
  const auto own = std::filesystem::path(folder.path("primus/configs/models/megatron"));
  std::filesystem::create_directories(own);
  std::filesystem::create_directories(folder.path("examples/jobs"));
  core::write_file((own / "n.yaml").string(), yaml(kOn));
  std::string far = job;
  far.replace(far.find("m.yaml"), 6, "n.yaml");
  CHECK(read(far, 1, write("examples/jobs/far.yaml", far)).plan.model.parameters.at("layers") == "8");
  const std::string trial = support::reference_data("trials/run_yaml/job.yaml");
  if (trial.empty()) return;
  const plan::Plan plan = read(core::read_file(trial), 8, trial).plan;
  CHECK(models::build(plan.model.name, plan.model.parameters).parameters() / 100'000 == 80'302);  // 8,030.3 M
  CHECK(plan.training.mini_batch == 64);
  CHECK(plan.stages.front().tensor_parallel == 2);
  CHECK(plan.stages.front().replicas() == 4);
  CHECK(plan.stages.front().micro_batch == 2 * 4);
  CHECK(plan.stages.front().zero == 1);
}

TEST_CASE("a script's own arguments are given, or the refusal shows how") {
  const auto started = [](const std::string& text, const std::string& arguments) {
    return from_megatron(text, "train.sh", {"8xH100", 8}, 8, {}, {}, true, arguments).plan;
  };
  const std::string text = "TP=$1\ntorchrun pretrain_gpt.py " + kLlama + "--tensor-model-parallel-size $TP";
  CHECK(started(text, "2").stages.front().tensor_parallel == 2);
  CHECK(refusal(text) ==
        "train.sh:3: tensor_model_parallel_size: expected a whole number from 1 on, found '$1' ($1 and those "
        "after it are the script's arguments: --args \"2 4\")");
  CHECK_THROWS_WITH_AS(from_megatron(yaml(kOn), "run.yaml", {"8xH100", 1}, 1, {}, {}, true, "2"),
                       "run.yaml: is no script, which --args gives its arguments to", core::BadInput);
  const std::string trial = support::reference_data("trials/shell_branches/positional.sh");
  if (trial.empty()) return;
  const plan::Plan plan = started(core::read_file(trial), "2 2 8192");
  CHECK(plan.stages.size() == 2);
  CHECK(plan.stages.front().tensor_parallel == 2);
  CHECK(plan.model.parameters.at("sequence") == "8192");
}

TEST_CASE("DeepSpeed's ZeRO stage is that of the optimizer") {
  const auto zero = [](const std::string& more) { return read(kLlama + more, 4).plan.stages.front().zero; };
  CHECK(zero("--zero-stage 0") == 0);
  CHECK(zero("--zero-stage=1") == 1);
  CHECK(refusal(kLlama + "--zero-stage 3").find("zero_stage: expected 0 or 1, found '3'") !=
        std::string::npos);
  CHECK(refusal(kLlama + "--deepspeed_config ds.json")
            .find("deepspeed_config: the ZeRO stage is in that file") != std::string::npos);
  CHECK(zero("--deepspeed_config ds.json --zero-stage 1") == 1);
}

TEST_CASE("splits: even, first and last, virtual stages, layout") {
  const auto split = [](const std::string& text, std::int64_t devices) {
    return layers_of(read(kLlama + text, devices).plan);
  };
  CHECK(split("--pipeline-model-parallel-size 4", 4) == Counts{2, 2, 2, 2});
  CHECK(split("--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 1 "
              "--decoder-last-pipeline-num-layers 1",
              4) == Counts{1, 3, 3, 1});
  CHECK(split("--pipeline-model-parallel-size 4 --decoder-last-pipeline-num-layers 2", 4) ==
        Counts{2, 2, 2, 2});
  // Embedding and loss as layers (get_num_layers_to_build): 30 layers on 4 ranks are 7 8 8 7.
  const std::string ends =
      "--num-layers 30 --pipeline-model-parallel-size 4 --account-for-embedding-in-pipeline-split "
      "--account-for-loss-in-pipeline-split ";
  CHECK(split(ends, 4) == Counts{7, 8, 8, 7});
  CHECK(split(ends + "--num-virtual-stages-per-pipeline-rank 2", 4) == Counts{3, 4, 4, 4, 4, 4, 4, 3});
  CHECK(split("--num-layers 2 --pipeline-model-parallel-size 4 --account-for-embedding-in-pipeline-split "
              "--account-for-loss-in-pipeline-split",
              4) == Counts{0, 1, 1, 0});
  CHECK(split("--num-layers 7 --pipeline-model-parallel-size 4 --account-for-loss-in-pipeline-split", 4) ==
        Counts{2, 2, 2, 1});
  CHECK(refusal(kLlama + ends + "--decoder-first-pipeline-num-layers 6", 4)
            .find("decoder_first_pipeline_num_layers: does not go with account_for_embedding") !=
        std::string::npos);
  CHECK(
      refusal(kLlama + "--num-layers 8 --pipeline-model-parallel-size 4 --account-for-loss-in-pipeline-split",
              4)
          .find("9 layers, counted so, are not 4 equal shares") != std::string::npos);
  CHECK(split("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", 2) ==
        Counts{1, 1, 1, 1, 1, 1, 1, 1});
  // Rank 0 has 2 layers, rank 1 has 6, each in two stages.
  CHECK(split("--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 2 "
              "--num-virtual-stages-per-pipeline-rank 2",
              2) == Counts{1, 3, 1, 3});
  CHECK(split("--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout \"E|(t*4|)*2,L\"", 4) ==
        Counts{0, 4, 4, 0});
}

TEST_CASE("a plan that was handed over comes back") {
  core::Random random(5);
  for (int turn = 0; turn < 60; ++turn) {
    const int ranks = random.between(1, 4), chunks = ranks > 1 ? random.between(1, 2) : 1,
              tensor = 1 << random.between(0, 1), data = 1 << random.between(0, 1);
    // Random layers in as many stages, 8 together.
    std::vector<int> counts(static_cast<std::size_t>(ranks * chunks), 1);
    for (int left = 8 - ranks * chunks; left > 0; --left)
      ++counts[static_cast<std::size_t>(random.between(0, ranks * chunks - 1))];
    std::string layout = "E";
    for (std::size_t s = 0; s < counts.size(); ++s)
      layout += std::string(static_cast<std::size_t>(counts[s]), 't') + (s + 1 < counts.size() ? "|" : "L");
    const std::string text =
        kLlama + (ranks * chunks > 1 ? "--pipeline-model-parallel-layout '" + layout + "'" : "") +
        " --pipeline-model-parallel-size " + std::to_string(ranks) + " --global-batch-size " +
        std::to_string(4 * ranks * data) + " --tensor-model-parallel-size " + std::to_string(tensor) +
        (random.chance(0.5) ? " --sequence-parallel" : "") + (random.chance(0.5) ? " --bf16" : "") +
        (random.chance(0.5) ? " --use-distributed-optimizer" : "") +
        (random.chance(0.5) ? " --recompute-granularity selective" : " --overlap-grad-reduce") +
        (random.chance(0.3) ? " --cross-entropy-loss-fusion" : "") +
        (random.chance(0.5) ? " --cross-entropy-fusion-impl te" : "");
    CAPTURE(text);
    const plan::Plan first = read(text, ranks * tensor * data).plan;
    const auto graph = models::build(first.model.name, first.model.parameters);
    const auto& megatron = frameworks::framework_named("megatron");
    REQUIRE(frameworks::refusals(megatron, graph, first, false) == std::vector<std::string>{});
    const std::string out = frameworks::exported(megatron, graph, first, "");
    CAPTURE(out);
    const plan::Plan again = read(out, ranks * tensor * data).plan;
    CHECK(again.model.parameters == first.model.parameters);
    CHECK(again.schedule == first.schedule);
    CHECK(again.training.precision == first.training.precision);
    if (data > 1) CHECK(again.training.bucket == first.training.bucket);
    REQUIRE(again.stages.size() == first.stages.size());
    for (std::size_t s = 0; s < first.stages.size(); ++s) {
      const auto &a = first.stages[s], &b = again.stages[s];
      CHECK(a.operators == b.operators);
      CHECK(a.devices == b.devices);
      CHECK(a.micro_batch == b.micro_batch);
      CHECK(a.tensor_parallel == b.tensor_parallel);
      CHECK(a.zero == b.zero);
      CHECK(a.sequence_parallel == b.sequence_parallel);
      CHECK(a.recompute == b.recompute);
    }
  }
}

TEST_CASE("keys of a config come back from Megatron-LM's arguments") {
  for (const char* name : {"qwen3_32b", "llama3_8b", "mixtral_8x7b", "qwen15_moe_a27b", "gpt2"}) {
    CAPTURE(name);
    const std::string file = support::checkout(std::string("/tests/frameworks/configs/") + name + ".json");
    plan::Plan plan;
    plan.model = frameworks::parse_hf_config(core::read_file(file), file, 512).model;
    plan.model.parameters["layers"] = "2";
    plan.training = {8, plan::Optimizer::adam};
    const auto graph = models::build(plan.model.name, plan.model.parameters);
    plan::Stage& stage = plan.stages.emplace_back();
    for (std::size_t v = 0; v < graph.size(); ++v) stage.operators.emplace_back(v);
    stage.devices = {core::DeviceId(0)};
    const std::string text = frameworks::exported(frameworks::framework_named("megatron"), graph, plan, "");
    const auto again = read(text, 1).plan.model.parameters;
    for (const auto& model : models::catalogue())
      for (const auto& parameter : model.parameters) {
        if (model.name != plan.model.name || parameter.computes) continue;
        const auto value = [&](const std::map<std::string, std::string>& from) {
          const auto found = from.find(parameter.name);
          return found == from.end() ? parameter.default_value : found->second;
        };
        CAPTURE(parameter.name);
        CHECK(value(again) == value(plan.model.parameters));
      }
  }
  const std::string scaled = "--use-rope-scaling --rope-scaling-factor 32 --rotary-base 500000 ";
  CHECK(read(kLlama + scaled, 1).plan.model.parameters.at("rope_scaling").starts_with("llama3:factor=32:"));
  CHECK(refusal(kLlama + "--norm-epsilon small")
            .find("norm_epsilon: expected a number of 0 or more, found 'small'") != std::string::npos);
}

TEST_CASE("a plan with experts comes back, in expert groups") {
  const std::string text =
      kLlama +
      "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 48 --moe-shared-expert-intermediate-size 16 "
      "--expert-model-parallel-size 4 --pipeline-model-parallel-size 2 --bf16";
  const plan::Plan first = read(text, 8).plan;
  CHECK(first.model.name == "mixtral");
  CHECK(first.model.parameters.at("expert_width") == "48");
  const auto graph = models::build(first.model.name, first.model.parameters);
  const auto& megatron = frameworks::framework_named("megatron");
  REQUIRE(frameworks::refusals(megatron, graph, first, false) == std::vector<std::string>{});
  const plan::Plan again = read(frameworks::exported(megatron, graph, first, ""), 8).plan;
  CHECK(again.model.parameters == first.model.parameters);
  for (std::size_t s = 0; s < 2; ++s) {
    CHECK(first.stages[s].expert_parallel == 4);
    CHECK(again.stages[s].expert_parallel == 4);
    CHECK(again.stages[s].operators == first.stages[s].operators);
  }
}

TEST_CASE("a plan with latent attention comes back, dense layers before those with experts") {
  const plan::Plan first =
      read(kLlama +
               "--multi-latent-attention --qk-layernorm --q-lora-rank 24 --kv-lora-rank 16 "
               "--qk-head-dim 8 --qk-pos-emb-head-dim 4 --v-head-dim 8 --num-experts 8 "
               "--moe-ffn-hidden-size 48 --moe-layer-freq '([0]*3+[1]*5)' "
               "--moe-router-score-function sigmoid --pipeline-model-parallel-size 2 "
               "--pipeline-model-parallel-layout 'Et*5|t*3L' --bf16",
           2)
          .plan;
  CHECK(first.model.name == "deepseek_v3");
  CHECK(first.model.parameters.at("dense_layers") == "3");
  CHECK(first.model.parameters.at("query_rank") == "24");
  CHECK(first.model.parameters.at("scores") == "sigmoid");
  CHECK(layers_of(first) == Counts{5, 3});
  const auto graph = models::build(first.model.name, first.model.parameters);
  const auto& megatron = frameworks::framework_named("megatron");
  const plan::Plan again = read(frameworks::exported(megatron, graph, first, ""), 2).plan;
  CHECK(again.model.parameters == first.model.parameters);
  CHECK(again.stages[0].operators == first.stages[0].operators);
  const std::string latent = kLlama + "--multi-latent-attention ";
  CHECK(refusal(latent + "--num-experts 8 --moe-layer-freq '([0]*3+[1]*6)'")
            .find("moe_layer_freq: '([0]*3+[1]*6)' has 9 layers, the model 8") != std::string::npos);
  const auto dense = [&](const std::string& pattern) {
    return read(latent + "--num-experts 8 --moe-layer-freq '" + pattern + "'", 1)
        .plan.model.parameters.at("dense_layers");
  };
  // The form of Megatron-LM's and Megatron-Bridge's examples.
  for (const char* same :
       {"[0]*3+[1]*5", "([0]*3+[1]*5)", "[0,0,0,1,1,1,1,1]", "([0]*3)+([1]*2+[1]*3)", "[0]*3 + [1]*5"})
    CHECK(dense(same) == "3");
  CHECK(dense("[1]*8") == "0");
  CHECK(dense("([0]*1+[1]*1)*1+[1]*6") == "1");
  const auto pattern = [&](const std::string& text) {
    return refusal(latent + "--num-experts 8 --moe-layer-freq '" + text + "'", 1);
  };
  for (const char* none : {"[0]*8", "[2]*8"})
    CHECK(pattern(none).find("expected 1 for layers with experts, at least one") != std::string::npos);
  for (const char* odd : {"[0]*3+", "[0]*3-[1]*5", "[0", "(((([1]*8)))", "[1]*x", "1+1", "[-1]*8"})
    CHECK(pattern(odd).find("expected a list of layers") != std::string::npos);
  CHECK(pattern("[1]*99999*99999").find("more than 65536 layers") != std::string::npos);
  CHECK(
      read(yaml(kOn +
                "multi_latent_attention: true\nnum_moe_experts: 8\nmoe_layer_freq: [0, 0, 1, 1, 1, 1, 1, 1]"),
           1, "run.yaml")
          .plan.model.parameters.at("dense_layers") == "2");
}

TEST_CASE(
    "what would be another computation, and what does not divide, is refused by file, line and argument") {
  CHECK(refusal(kModel + "--context-parallel-size 3").find("are not replicas of TP1 x CP3 x PP1") !=
        std::string::npos);
  CHECK(refusal(kLlama + "--num-experts 8 --expert-model-parallel-size 3") ==
        "train.sh:2: expert_model_parallel_size: 4 replicas are not groups of 3");
  CHECK(refusal(kModel + "--context-parallel-size 1") == "taken");
  CHECK(refusal(kModel + "--step-batch-size-schedule 0:384,200B:768").find("add the one to plan for") ==
        std::string::npos);  // the global batch is stated
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 3") ==
        "train.sh:2: pipeline_model_parallel_size: 4 devices are not replicas of TP1 x PP3");
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 9")
            .find("-1 layers are not 1 equal shares") != std::string::npos);
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Et|t|t|tL'") ==
        "train.sh:2: pipeline_model_parallel_layout: has 4 layers, the model 8");
  CHECK(
      refusal(kModel + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Et*5||t*3|L'") ==
      "train.sh:2: pipeline_model_parallel_layout: stage 1 of 4 (from 0) is empty, and every stage of a plan has an "
      "operator: give it a layer, as in 'Et*4|t|t*3|L'");
  CHECK(
      refusal(kModel +
              "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Et*5|||t*3||||L'") ==
      "train.sh:2: pipeline_model_parallel_layout: stages 1, 2, 4, 5, 6 of 8 (from 0) are empty, and every stage of a "
      "plan has an operator: give each a layer, as in 'Et|(t|)*2,tt|(t|)*3,L'");
  CHECK(
      refusal(kModel + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'E(t|)*8|||L'")
          .ends_with(
              "stages 8, 9, 10 of 12 (from 0) are empty, and every stage of a plan has an operator: use fewer "
              "stages"));
  CHECK(refusal(kModel + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'E(t*4||t*4|L'")
            .find("a bracket is not closed") != std::string::npos);
  CHECK(refusal(kModel + "--tensor-model-parallel-size $TP") ==
        "train.sh:2: tensor_model_parallel_size: expected a whole number from 1 on, found '$TP'");
  CHECK(refusal("--hidden-size 8").starts_with("train.sh: num_layers: is not given"));
  CHECK(refusal(kModel + "--recompute-granularity most") ==
        "train.sh:2: recompute_granularity: expected none or full or selective, found 'most'");
  CHECK(refusal("echo 'never ends").find("a quote is not closed") != std::string::npos);
  CHECK(refusal("").find("is not given") != std::string::npos);
}

TEST_CASE("a vocabulary that only the tokenizer has is given separately") {
  const std::string none =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 "
      "--max-position-embeddings 32 --micro-batch-size 1 --global-batch-size 16";
  CHECK(refusal(none).find("-p vocabulary=N") != std::string::npos);
  const auto run = from_megatron(none, "train.sh", {"8xH100", 4}, 4, {{"vocabulary", "1000"}});
  CHECK(run.plan.model.parameters.at("vocabulary") == "1000");
}

namespace {

std::map<std::string, std::string> model_of(const std::string& text, std::int64_t devices = 1) {
  return read(text, devices).plan.model.parameters;
}

const std::string kNoWidth =
    kModel + "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear ";

}  // namespace

// Defaults of Megatron-LM's arguments.py and of its TransformerConfig.
TEST_CASE("widths that a script leaves out are Megatron-LM's") {
  // SwiGLU: two thirds of four times the width, in steps of 64: 4 x 64 x 2 / 3 = 170, down to 128.
  CHECK(model_of(kNoWidth).at("feed_forward") == "128");
  CHECK(model_of(kModel).at("feed_forward") == "256");
  CHECK(model_of(kNoWidth).at("kv_heads") == "4");
  CHECK(model_of(kNoWidth + "--group-query-attention").at("kv_heads") == "1");
  CHECK(model_of(kNoWidth + "--group-query-attention --num-query-groups 2").at("kv_heads") == "2");
  // The argument parser of 0.19 has groups of one query head without the switch; Megatron-Bridge has no
  // switch.
  CHECK(refusal(kNoWidth + "--num-query-groups 2", 1)
            .find("Megatron-LM ignores it without --group-query-attention") != std::string::npos);
  CHECK(read(yaml(kOn + "num_query_groups: 2"), 1, "run.yaml").plan.model.parameters.at("kv_heads") == "2");
  CHECK(model_of(kNoWidth + "--kv-channels 32").at("head_width") == "32");
  CHECK_FALSE(model_of(kNoWidth).contains("head_width"));
  CHECK_FALSE(model_of(kNoWidth).contains("qkv_bias"));
  CHECK(model_of(kNoWidth + "--add-qkv-bias").at("qkv_bias") == "yes");
  CHECK(model_of(kNoWidth).at("tied_head") == "yes");
  CHECK(model_of(kNoWidth + "--untie-embeddings-and-output-weights").at("tied_head") == "no");
  CHECK(model_of(kNoWidth).at("attention") == "flash");
  CHECK(model_of(kNoWidth + "--attention-backend unfused").at("attention") == "plain");
}

TEST_CASE("settings of mixtures and latent attention that a script leaves out are Megatron-LM's") {
  const auto mixture = model_of(kLlama + "--num-experts 4");
  CHECK(mixture.at("chosen") == "2");
  CHECK(mixture.at("expert_width") == "128");  // as the feed-forward
  CHECK(model_of(kLlama + "--num-experts 4 --moe-router-topk 1").at("chosen") == "1");
  CHECK(model_of(kLlama + "--num-experts 4 --moe-ffn-hidden-size 48").at("expert_width") == "48");
  CHECK(model_of(kLlama + "--num-experts 4 --moe-shared-expert-intermediate-size 40").at("shared_width") ==
        "40");
  const auto latent = model_of(kLlama + "--num-experts 4 --multi-latent-attention");
  CHECK(latent.at("query_rank") == "0");
  CHECK(latent.at("key_rank") == "32");
  CHECK(latent.at("head_width") == "128");
  CHECK(latent.at("rotary_width") == "64");
  CHECK(latent.at("value_width") == "128");
}

TEST_CASE("a bucket left out holds 40 million gradients, or a million for each replica beyond 40") {
  const auto bucket = [](std::int64_t devices, const std::string& more) {
    const std::string text = kLlama + "--overlap-grad-reduce " + more;
    return read(text.substr(0, text.find("--global-batch-size 16")) + "--global-batch-size 64 " +
                    text.substr(text.find("--global-batch-size 16") + 22),
                devices)
        .plan.training.bucket;
  };
  CHECK(bucket(8, "--bf16") == core::Bytes(40'000'000LL * 4));
  CHECK(bucket(64, "--bf16") == core::Bytes(64'000'000LL * 4));
  CHECK(bucket(64, "--bf16 --context-parallel-size 2") ==
        core::Bytes(64'000'000LL * 4));  // with equal weights
  CHECK(bucket(64, "--bf16 --tensor-model-parallel-size 2") == core::Bytes(40'000'000LL * 4));
  // fp16 sums its gradients in two bytes, or in four on request.
  const auto gradients = [](const std::string& more) {
    return read(kLlama + "--fp16 " + more, 8).plan.training.precision->gradients;
  };
  CHECK(gradients("") == cluster::Precision::fp16);
  CHECK(gradients("--accumulate-allreduce-grads-in-fp32") == cluster::Precision::fp32);
  CHECK(bucket(8, "--fp16 --ddp-bucket-size 1000") == core::Bytes(2000));
  CHECK(bucket(8, "--fp16 --ddp-bucket-size 1000 --accumulate-allreduce-grads-in-fp32") == core::Bytes(4000));
  CHECK(read(kLlama + "--bf16", 8).plan.training.bucket == core::Bytes(0));
}

TEST_CASE("descent without momentum, selective recomputation of old scripts, one tensor-parallel device") {
  const auto optimizer = [](const std::string& more) {
    return read(kLlama + more, 1).plan.training.optimizer;
  };
  CHECK(optimizer("") == plan::Optimizer::adam);
  CHECK(optimizer("--optimizer sgd") == plan::Optimizer::momentum);
  CHECK(optimizer("--optimizer sgd --sgd-momentum 0.9") == plan::Optimizer::momentum);
  CHECK(optimizer("--optimizer sgd --sgd-momentum 0") == plan::Optimizer::sgd);
  const auto recompute = [](const std::string& more) {
    return plan::written(read(kLlama + more, 1).plan.stages.front().recompute);
  };
  CHECK(recompute("") == "none");
  CHECK(recompute("--recompute-activations") == "selective");
  // Before 2022 layers were checkpointed whole.
  for (const char* all :
       {"--checkpoint-activations", "--checkpoint-activations --checkpoint-num-layers 1",
        "--activations-checkpoint-method uniform", "--checkpoint-activations --recompute-granularity full"})
    CHECK(recompute(all) == "layers");
  CHECK(recompute("--activations-checkpoint-method block --activations-checkpoint-num-layers 2") ==
        "2 layers");
  CHECK(refusal(kLlama + "--checkpoint-activations --checkpoint-num-layers 2", 1)
            .find("checkpoint_num_layers: expected 1: no plan computes several layers") != std::string::npos);
  CHECK(refusal(kLlama + "--checkpoint-activations --recompute-activations", 1).find("keep one") !=
        std::string::npos);
  CHECK(refusal(kLlama + "--checkpoint-activations --recompute-granularity selective", 1)
            .find("checkpoint_activations checkpoints all layers: keep one") != std::string::npos);
  CHECK(recompute("--recompute-granularity full") == "layers");
  CHECK_FALSE(read(kLlama + "--sequence-parallel", 2).plan.stages.front().sequence_parallel);
  CHECK(read(kLlama + "--sequence-parallel --tensor-model-parallel-size 2", 2)
            .plan.stages.front()
            .sequence_parallel);
  // A last stage of only the loss has nothing to compute again.
  const auto stages = read(kLlama +
                               "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"Et*8|L\" "
                               "--recompute-granularity full",
                           2)
                          .plan.stages;
  CHECK(plan::written(stages[0].recompute) == "layers");
  CHECK(plan::written(stages[1].recompute) == "none");
}

TEST_CASE("activations checkpointed in the old spelling are those recomputed in the new one") {
  const std::string folder = support::reference_data("trials/checkpoint_activations");
  if (folder.empty()) return;
  const auto plan = [&](const std::string& file) { return read(core::read_file(folder + file), 8).plan; };
  const plan::Plan old_spelling = plan("/old.sh"), new_spelling = plan("/new.sh");
  CHECK(plan::written(new_spelling.stages.front().recompute) == "layers");
  for (std::size_t s = 0; s < new_spelling.stages.size(); ++s)
    CHECK(old_spelling.stages[s].recompute == new_spelling.stages[s].recompute);
}

TEST_CASE("settings that no operator depends on and a script leaves out are Megatron-LM's") {
  const auto all = [](const std::string& text) {
    const auto model = read(text, 1).plan.model;
    return frameworks::all_parameters(model);
  };
  CHECK(all(kModel).at("attention_dropout") == "0.1");
  CHECK(all(kModel).at("hidden_dropout") == "0.1");
  // A GPT's dropout takes time and memory unless both shares are zero; a gate's width is two thirds of 4 h.
  CHECK(all(kModel).at("dropout") == "yes");
  CHECK(all(kModel + "--attention-dropout 0 --hidden-dropout 0").at("dropout") == "no");
  CHECK(all(kModel + "--attention-dropout 0").at("dropout") == "yes");
  CHECK(all(kModel).at("activation") == "gelu");
  CHECK(all(kModel + "--swiglu").at("activation") == "swiglu");
  const std::int64_t hidden = std::stoll(all(kModel).at("hidden"));
  CHECK(all(kModel + "--swiglu").at("feed_forward") == std::to_string(4 * hidden * 2 / 3 / 64 * 64));
  CHECK(all(kModel + "--swiglu --ffn-hidden-size 96").at("feed_forward") == "96");
  CHECK(all(kLlama).at("attention_dropout") == "0.1");
  CHECK(all(kLlama).at("rope_base") == "10000");
  CHECK(all(kLlama).at("rope_scaling") == "none");
  CHECK(all(kLlama + "--use-rope-scaling").at("rope_scaling").find("factor=8") != std::string::npos);
  CHECK(all(kLlama + "--use-rope-scaling --rope-scaling-factor 4").at("rope_scaling").find("factor=4") !=
        std::string::npos);
  const auto latent = all(kLlama + "--num-experts 4 --multi-latent-attention");
  CHECK(latent.at("rope_scaling").starts_with("yarn:"));
  CHECK(latent.at("rope_scaling").find("original_max_position_embeddings=4096") != std::string::npos);
  CHECK(all(kLlama + "--num-experts 4 --multi-latent-attention --rope-type rope").at("rope_scaling") ==
        "none");
  const auto balance = [&](const std::string& more) {
    return all(kLlama + "--num-experts 4 " + more).at("balance_over");
  };
  CHECK(balance("") == "batch");
  CHECK(balance("--moe-router-load-balancing-type seq_aux_loss") == "sample");
}

TEST_CASE("kernels of the loss and layers without Transformer Engine are read, and written again") {
  const auto parameter = [](const std::string& words, const std::string& name) {
    return read("pretrain_gpt.py " + kLlama + words, 4).plan.model.parameters.at(name);
  };
  CHECK(parameter("", "loss") == "yes");
  CHECK(parameter("--cross-entropy-fusion-impl te", "loss") == "yes");
  CHECK(parameter("--cross-entropy-loss-fusion", "loss") == "native");
  CHECK(parameter("--cross-entropy-loss-fusion --cross-entropy-fusion-impl te", "loss") == "te");
  CHECK(parameter("--transformer-impl transformer_engine", "attention") == "flash");
  CHECK(parameter("--transformer-impl local", "attention") == "plain");
  CHECK(refusal("pretrain_gpt.py " + kLlama + "--transformer-impl fast").find("transformer_impl") !=
        std::string::npos);
}

TEST_CASE("muon and its older name are read, and refused in fp16") {
  for (const char* name : {"muon", "dist_muon"})
    CHECK(read(kLlama + "--bf16 --muon-momentum 0.9 --optimizer " + name, 4).plan.training.optimizer ==
          plan::Optimizer::muon);
  CHECK(read(kLlama + "--optimizer lion", 4).plan.training.optimizer == plan::Optimizer::lion);
  CHECK(refusal(kLlama + "--fp16 --optimizer muon").find("does not run muon in fp16") != std::string::npos);
  const std::string flat = "--bf16 --no-use-layer-wise-param-layout ";
  CHECK(refusal(kLlama + flat + "--optimizer muon").find("only in their layer-wise layout") !=
        std::string::npos);
  CHECK(refusal(kLlama + flat) == "taken");
  CHECK(refusal(kLlama + "--optimizer soap").find("soap") != std::string::npos);
}
