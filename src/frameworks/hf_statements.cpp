#include "hf_statements.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "models/stated.hpp"

namespace penstock::frameworks {

std::string number_text(double number) {
  return fmt::format("{}", number);
}

namespace {

using Parameters = std::map<std::string, std::string>;

std::optional<double> number_of(const core::Yaml& node) {
  if (!node.is_scalar()) return {};
  const std::string text = node.text();
  double out = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool number = fault == std::errc() && end == text.data() + text.size() && std::isfinite(out);
  return number ? std::optional(out) : std::nullopt;
}

/// Type and keys are words that a parameter can hold.
void check_words(const core::Yaml& given, const models::RopeScaling& scaling) {
  try {
    models::parse_rope_scaling(models::written(scaling));
  } catch (const core::BadInput&) {
    given.fail("expected a type and one number or more, under keys of small letters, digits and underscores");
  }
}

/// `rope_scaling`, or what transformers 5 calls `rope_parameters`; lists of factors have no short form.
models::RopeScaling scaling_of(ConfigKeys& keys) {
  models::RopeScaling out;
  auto given = keys.find("rope_scaling");
  if (!given) given = keys.find("rope_parameters");
  if (!given || !given->is_map()) return out;
  auto type = given->find("rope_type");
  if (!type) type = given->find("type");
  if (type && type->is_scalar()) out.type = type->text();
  for (const auto& [key, value] : given->entries())
    if (const auto number = number_of(value); number && key != "rope_theta") out.numbers[key] = *number;
  if (out.type == "default" && out.numbers.empty()) out.type = "none";
  if (out.type == "none") out.numbers.clear();
  check_words(*given, out);
  return out;
}

}  // namespace

double rope_base(ConfigKeys& keys, double usual) {
  if (const auto given = keys.find("rope_theta")) return given->number();
  const auto all = keys.find("rope_parameters");
  const auto theta = all && all->is_map() ? all->find("rope_theta") : std::nullopt;
  return theta ? theta->number() : usual;
}

std::string rope_scaling_text(ConfigKeys& keys) {
  return models::written(scaling_of(keys));
}

namespace {

void read_decoder_statements(ConfigKeys& keys, Parameters& out, double epsilon) {
  out["norm_epsilon"] = number_text(epsilon);
  out["init_std"] = number_text(keys.number("initializer_range", 0.02));
}

}  // namespace

void read_rotary_statements(ConfigKeys& keys, const HfRotaryDefaults& usual, Parameters& out) {
  if (const auto positions = keys.find("max_position_embeddings"); positions)
    if (const std::string known = number_text(positions->number()); known != out["sequence"])
      out["positions"] = known;
  out["rope_base"] = number_text(rope_base(keys, usual.rope_theta));
  out["rope_scaling"] = models::written(scaling_of(keys));
  read_decoder_statements(keys, out, keys.number("rms_norm_eps", usual.epsilon));
  out["attention_dropout"] = number_text(keys.number("attention_dropout", 0));
}

void read_gpt2_statements(ConfigKeys& keys, Parameters& out) {
  constexpr double kUsual = 0.1;
  read_decoder_statements(keys, out, keys.number("layer_norm_epsilon", 1e-5));
  out["attention_dropout"] = number_text(keys.number("attn_pdrop", kUsual));
  out["hidden_dropout"] = number_text(keys.number("resid_pdrop", kUsual));
}

void read_opt_statements(ConfigKeys& keys, Parameters& out) {
  out["init_std"] = number_text(keys.number("init_std", 0.02));
  out["attention_dropout"] = number_text(keys.number("attention_dropout", 0));
  out["hidden_dropout"] = number_text(keys.number("dropout", 0.1));
}

void read_router_statements(ConfigKeys& keys, const HfRouterDefaults& usual, Parameters& out) {
  out["router_normalised"] = keys.flag("norm_topk_prob", usual.normalised) ? "yes" : "no";
  out["balance_loss"] = number_text(keys.number("router_aux_loss_coef", usual.balance_loss));
  out["router_jitter"] = number_text(keys.number("router_jitter_noise", 0));
}

void read_deepseek_router(ConfigKeys& keys, bool third, Parameters& out) {
  constexpr double kThirdScale = 2.5, kLoss = 0.001;
  const std::string method = keys.text("topk_method", third ? "noaux_tc" : "greedy");
  const bool groups = method != "greedy";
  const auto count = [&](const char* key, std::int64_t usual) {
    return std::to_string(groups ? keys.count(key, usual) : 1);
  };
  out["router_normalised"] = keys.flag("norm_topk_prob", third) ? "yes" : "no";
  out["router_scale"] = number_text(keys.number("routed_scaling_factor", third ? kThirdScale : 1));
  out["router_bias"] = method == "noaux_tc" ? "yes" : "no";
  out["router_groups"] = count("n_group", third ? 8 : 1);
  out["router_groups_chosen"] = count("topk_group", third ? 4 : 1);
  out["balance_loss"] = number_text(keys.number("aux_loss_alpha", kLoss));
  out["balance_over"] = keys.flag("seq_aux", true) ? "sample" : "batch";
}

void leave_out_usual(const std::string& family, Parameters& out) {
  for (const auto& model : models::catalogue())
    if (model.name == family)
      for (const auto& parameter : model.parameters)
        if (const auto given = out.find(parameter.name);
            !parameter.computes && given != out.end() && given->second == parameter.default_value)
          out.erase(given);
}

}  // namespace penstock::frameworks
