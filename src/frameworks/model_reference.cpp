#include "penstock/frameworks/model_reference.hpp"

#include <fmt/format.h>

#include <charconv>

#include "penstock/core/yaml.hpp"
#include "penstock/frameworks/hf_config.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::string_view kFirstKey = "penstock: model_reference";

/// The text below its comments.
std::string_view uncommented(std::string_view text) {
  while (text.starts_with('#') || text.starts_with('\n')) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return "";
    text.remove_prefix(end + 1);
  }
  return text;
}

/// Nothing where it is no number: the model says so when it is built.
std::optional<std::int64_t> tokens_of(const plan::ModelRef& given) {
  const auto found = given.parameters.find("sequence");
  if (found == given.parameters.end()) return {};
  std::int64_t tokens = 0;
  const std::string& text = found->second;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  const bool number = fault == std::errc() && end == text.data() + text.size();
  return number ? std::optional(tokens) : std::nullopt;
}

}  // namespace

std::string to_yaml(const plan::ModelRef& model, const std::string& comment) {
  std::string out =
      fmt::format("# {}\n{}\nversion: 1\nname: {}\nparameters:", comment, kFirstKey, model.name);
  if (model.parameters.empty()) return out + " {}\n";
  out += '\n';
  for (const auto& [key, value] : model.parameters) out += fmt::format("  {}: {}\n", key, value);
  return out;
}

bool is_model_reference(std::string_view text) {
  return uncommented(text).starts_with(kFirstKey);
}

plan::ModelRef parse_model_reference(const std::string& text, const std::string& file) {
  const auto root = core::Yaml::parse(text, file);
  root.only({"penstock", "version", "name", "parameters"});
  if (root.at("penstock").text() != "model_reference") root.at("penstock").fail("expected 'model_reference'");
  root.at("version").integer(1, 1);
  plan::ModelRef out{root.at("name").text(), {}};
  if (const auto parameters = root.find("parameters"))
    for (const auto& [key, value] : parameters->entries()) out.parameters[key] = value.text();
  return out;
}

plan::ModelRef named_by(const std::string& text, const std::string& file, const plan::ModelRef& given) {
  plan::ModelRef out;
  auto parameters = given.parameters;
  if (is_model_reference(text)) {
    out = parse_model_reference(text, file);
  } else if (is_hf_config(text)) {
    const auto tokens = tokens_of(given);
    out = parse_hf_config(text, file, tokens).model;
    // Families that state tokens of text alone have taken theirs out of the sequence.
    if (tokens && !out.parameters.contains("sequence")) parameters.erase("sequence");
  } else {
    return given;
  }
  for (const auto& [key, value] : parameters) out.parameters[key] = value;
  return out;
}

}  // namespace penstock::frameworks
