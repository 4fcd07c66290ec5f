// BERT and T5 (megatron/core/models/bert and T5, pretrain_bert.py, pretrain_t5.py; 0.19). Both have norms before
// their branches, a table of learned positions and biases, other than in their papers.
#include <fmt/format.h>

#include <algorithm>

#include "megatron_parts.hpp"

namespace penstock::frameworks {
namespace {

using Values = std::map<std::string, std::string>;

/// Parts of decoders that their layers lack, or that no plan states of them.
constexpr const char* kOfDecoders[] = {"num_experts",  "num_moe_experts",      "multi_latent_attention",
                                       "qk_layernorm", "qk_l2_norm",           "group_query_attention",
                                       "squared_relu", "window_size",          "hybrid_layer_pattern",
                                       "add_qkv_bias", "no_position_embedding"};

void refuse_parts(MegatronArguments& args) {
  for (const char* name : kOfDecoders)
    if (args.has(name) && !args.nothing(name))
      args.fail(name, "belongs to a decoder: no plan states it of BERT or T5");
  if (args.count("context_parallel_size", 1) > 1)
    args.fail("context_parallel_size", "expected 1: BERT and T5 do not divide their tokens");
  if (args.word("normalization", {"LayerNorm", "RMSNorm"}, "LayerNorm") == "RMSNorm")
    args.fail("normalization", "expected LayerNorm, as BERT and T5 have it");
  const std::string usual = args.flag("use_rotary_position_embeddings") ? "rope" : "learned_absolute";
  if (args.text("position_embedding_type", usual) != "learned_absolute")
    args.fail(
        args.has("position_embedding_type") ? "position_embedding_type" : "use_rotary_position_embeddings",
        "expected learned_absolute: no plan states other positions of BERT or T5");
}

std::int64_t head_width(MegatronArguments& args) {
  const std::int64_t heads = args.count("num_attention_heads");
  return args.count("kv_channels", std::max<std::int64_t>(1, args.count("hidden_size") / heads));
}

std::string feed_forward_width(MegatronArguments& args) {
  return std::to_string(is_gated(args) ? gated_width(args)
                                       : args.count("ffn_hidden_size", 4 * args.count("hidden_size")));
}

void read_bert(MegatronArguments& args, Values& out) {
  if (head_width(args) * args.count("num_attention_heads") != args.count("hidden_size"))
    args.fail("kv_channels",
              "expected hidden_size over num_attention_heads: no plan states another width of BERT");
  if (args.flag("sequence_parallel"))
    args.fail("sequence_parallel", "BERT's heads divided by tokens: no plan states this");
  const bool alone = args.flag("bert_no_binary_head");
  out["sequence"] = std::to_string(args.count("seq_length"));
  out["masked_loss"] = out.extract("loss").mapped();
  out["head"] = alone ? "masked" : "both";
  out["segments"] = alone ? "0" : "2";
  out["biases"] = has_biases(args) ? "yes" : "no";
}

/// The decoder has as many layers as the encoder, whatever --decoder-num-layers is (pretrain_t5.py).
void read_t5(MegatronArguments& args, Values& out) {
  if (args.count("pipeline_model_parallel_size", 1) > 1)
    args.fail("pipeline_model_parallel_size", "expected 1: Megatron-LM has no pipelines of T5");
  const std::int64_t layers = layer_count(args);
  if (args.count("decoder_num_layers", layers) != layers)
    args.fail("decoder_num_layers",
              fmt::format("expected {}: Megatron-LM's T5 has as many layers of the decoder as of the encoder",
                          layers));
  out["source_length"] = std::to_string(args.count(args.spelling({"encoder_seq_length", "seq_length"})));
  out["target_length"] = std::to_string(args.count("decoder_seq_length"));
  out["head_width"] = std::to_string(head_width(args));
  out["mask"] = "causal";
  out["biases"] = has_biases(args) ? "yes" : "no";
  out["head_bias"] = out["tied_head"];
}

}  // namespace

std::string encoder_family(const MegatronArguments& args) {
  const auto words = script_words(args);
  if (!words.contains("pretrain")) return "";
  return words.contains("bert") ? "bert" : words.contains("t5") ? "encoder_decoder" : "";
}

void read_encoder(MegatronArguments& args, const std::string& family, Values& out) {
  refuse_parts(args);
  out["norms"] = "before";
  out["positions"] = std::to_string(args.count("max_position_embeddings"));
  out["feed_forward"] = feed_forward_width(args);
  out["activation"] = is_gated(args) ? "swiglu" : "gelu";
  out["dropout"] = has_dropout(args) ? "yes" : "no";
  for (const char* stated : {"norm_epsilon", "init_method_std"})
    args.has(stated);  // no operator depends on them
  family == "bert" ? read_bert(args, out) : read_t5(args, out);
}

std::vector<std::string> whole_operators(const std::string& family) {
  if (family != "bert") return {};
  return {"masked.dense", "pooler.dense", "next.head"};
}

}  // namespace penstock::frameworks
