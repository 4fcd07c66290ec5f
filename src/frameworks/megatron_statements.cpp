// Arguments that no operator depends on: positions, norms, dropout, the router's rules.

#include <fmt/format.h>

#include "hf_statements.hpp"
#include "megatron_run.hpp"
#include "models/stated.hpp"

namespace penstock::frameworks {
namespace {

using Values = std::map<std::string, std::string>;

std::string in_digits(double number) {
  return fmt::format("{}", number);
}

models::RopeScaling latent_scaling(MegatronArguments& args) {
  if (args.word("rope_type", {"rope", "yarn"}, "yarn") == "rope") return {};
  return {"yarn",
          {{"factor", args.number("rotary_scaling_factor", 1)},
           {"mscale", args.number("mscale", 1)},
           {"mscale_all_dim", args.number("mscale_all_dim", 0)},
           {"original_max_position_embeddings", args.number("original_max_position_embeddings", 4096)},
           {"beta_fast", args.number("beta_fast", 32)},
           {"beta_slow", args.number("beta_slow", 1)}}};
}

models::RopeScaling plain_scaling(MegatronArguments& args) {
  constexpr double kFactor = 8;  // as Megatron-LM's
  const double share = args.number("rotary_percent", 1),
               stretch = args.number("rotary_seq_len_interpolation_factor", 1);
  if (args.flag("use_rope_scaling"))
    return {"llama3",
            {{"factor", args.number("rope_scaling_factor", kFactor)},
             {"low_freq_factor", 1},
             {"high_freq_factor", 4},
             {"original_max_position_embeddings", 8192}}};
  if (stretch != 1) return {"linear", {{"factor", stretch}}};
  if (share != 1) return {"default", {{"partial_rotary_factor", share}}};
  return {};
}

void read_router(MegatronArguments& args, Values& out) {
  out["router_normalised"] = args.flag("moe_router_pre_softmax") ? "no" : "yes";
  out["router_scale"] = in_digits(args.number("moe_router_topk_scaling_factor", 1));
  out["router_groups"] = std::to_string(args.count("moe_router_num_groups", 1));
  out["router_groups_chosen"] = std::to_string(args.count("moe_router_group_topk", 1));
  out["router_bias"] = args.flag("moe_router_enable_expert_bias") ? "yes" : "no";
  out["router_jitter"] = in_digits(args.number("moe_input_jitter_eps", 0));
  out["balance_loss"] = in_digits(args.number("moe_aux_loss_coeff", 0));
  out["balance_over"] =
      args.text("moe_router_load_balancing_type", "aux_loss") == "seq_aux_loss" ? "sample" : "batch";
}

}  // namespace

void read_megatron_statements(MegatronArguments& args, plan::ModelRef& model) {
  constexpr double kEpsilon = 1e-5, kStd = 0.02, kDropout = 0.1, kBase = 10'000;
  Values& p = model.parameters;
  const double epsilon = args.number("layernorm_epsilon", kEpsilon);  // the name in a YAML file
  p["norm_epsilon"] = in_digits(args.number("norm_epsilon", epsilon));
  p["init_std"] = in_digits(args.number("init_method_std", kStd));
  p["attention_dropout"] = in_digits(args.number("attention_dropout", kDropout));
  p["hidden_dropout"] = in_digits(args.number("hidden_dropout", kDropout));
  if (model.name != "gpt") {
    const auto mixers = p.find("mixers");
    const bool latent = model.name == "deepseek_v3" || (mixers != p.end() && mixers->second == "latent");
    p["rope_base"] = in_digits(args.number("rotary_base", kBase));
    p["rope_scaling"] = models::written(latent ? latent_scaling(args) : plain_scaling(args));
    const std::string positions = std::to_string(args.count("max_position_embeddings", 1));
    if (args.has("max_position_embeddings") && positions != p["sequence"]) p["positions"] = positions;
  }
  if (p.contains("experts")) read_router(args, p);
  leave_out_usual(model.name, p);
}

}  // namespace penstock::frameworks
