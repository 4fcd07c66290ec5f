#include "models/stated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/parameters.hpp"
#include "penstock/core/error.hpp"

namespace penstock::models {
namespace {

ParameterInfo stated(const char* name, const char* default_value, const char* meaning) {
  return {name, default_value, std::string(meaning) + "; for exports only", false};
}

void add(std::vector<ParameterInfo>& out, std::vector<ParameterInfo> more) {
  out.insert(out.end(), more.begin(), more.end());
}

/// A word of small letters, digits and underscores.
bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

[[noreturn]] void refuse_scaling(std::string_view text) {
  throw core::BadInput(
      fmt::format("rope_scaling: expected none, or TYPE:KEY=NUMBER:..., such as "
                  "llama3:factor=8, not '{}'",
                  text));
}

void check_scaling(const Parameters& p) {
  try {
    parse_rope_scaling(p.text("rope_scaling"));
  } catch (const core::BadInput&) {
    p.fail("rope_scaling", "none, or TYPE:KEY=NUMBER:..., such as llama3:factor=8");
  }
}

}  // namespace

std::vector<ParameterInfo> decoder_statements(const StatedDecoder& defaults) {
  return {stated("norm_epsilon", defaults.norm_epsilon, "added to the variance of norms"),
          stated("init_std", "0.02", "standard deviation of first weights"),
          stated("attention_dropout", defaults.dropout, "share of attention's weights set to zero"),
          stated("hidden_dropout", defaults.dropout, "share of a layer's outputs set to zero")};
}

std::vector<ParameterInfo> rotary_statements(const char* rope_base, const char* rope_scaling,
                                             const StatedDecoder& defaults) {
  std::vector<ParameterInfo> out = {
      stated("positions", "0", "positions known; 0: as many as a sample has tokens"),
      stated("rope_base", rope_base, "base of rotary positions (rope_theta)"),
      stated("rope_scaling", rope_scaling,
             "how rotary positions are stretched: none, or a type with its numbers, as "
             "llama3:factor=8")};
  add(out, decoder_statements(defaults));
  return out;
}

std::vector<ParameterInfo> router_statements(bool deepseek) {
  return {
      stated("router_normalised", "yes", "yes: weights of a token's experts add up to one; no: they do not"),
      stated("router_scale", deepseek ? "2.5" : "1", "factor on weights of a token's experts"),
      stated("router_jitter", "0", "share that noise changes a router's input by"),
      stated("router_groups", deepseek ? "8" : "1", "groups of experts"),
      stated("router_groups_chosen", deepseek ? "4" : "1", "groups that a token's experts come from"),
      stated("router_bias", deepseek ? "yes" : "no",
             "yes: a bias of each expert balances the load; no: it does not"),
      stated("balance_loss", deepseek ? "0.001" : "0.02", "weight of the loss that balances experts"),
      stated("balance_over", deepseek ? "sample" : "batch", "tokens that this loss counts: sample or batch")};
}

double RopeScaling::number(const std::string& key, double otherwise) const {
  const auto found = numbers.find(key);
  return found == numbers.end() ? otherwise : found->second;
}

RopeScaling parse_rope_scaling(std::string_view text) {
  const std::string_view whole = text;
  const auto next = [&text] {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
  };
  RopeScaling out{std::string(next()), {}};
  if (!is_word(out.type) || whole.ends_with(':')) refuse_scaling(whole);
  while (!text.empty()) {
    const std::string_view part = next();
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals),
                           value = part.substr(std::min(equals + 1, part.size()));
    double number = 0;
    const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (!is_word(key) || fault != std::errc() || end != value.data() + value.size()) refuse_scaling(whole);
    out.numbers[std::string(key)] = number;
  }
  if ((out.type == "none") != out.numbers.empty()) refuse_scaling(whole);
  return out;
}

std::string written(const RopeScaling& scaling) {
  std::string out = scaling.type;
  for (const auto& [key, value] : scaling.numbers) out += fmt::format(":{}={}", key, value);
  return out;
}

void check_stated(const Parameters& p) {
  constexpr double kMost = 1e12;
  const auto number = [&p](const char* name, double low, double high) {
    if (p.states(name)) p.number(name, low, high);
  };
  if (p.states("positions")) p.integer("positions", 0, std::int64_t{1} << 31);
  number("rope_base", 1, kMost);
  if (p.states("rope_scaling")) check_scaling(p);
  number("norm_epsilon", 0, 1);
  number("init_std", 0, kMost);
  number("attention_dropout", 0, 1);
  number("hidden_dropout", 0, 1);
  if (!p.states("router_scale")) return;
  p.flag("router_normalised");
  p.flag("router_bias");
  number("router_scale", 0, kMost);
  number("balance_loss", 0, kMost);
  number("router_jitter", 0, 1);
  p.integer("router_groups_chosen", 1, p.integer("router_groups", 1, kWidest));
  p.word("balance_over", {"batch", "sample"});
}

}  // namespace penstock::models
