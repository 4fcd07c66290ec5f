#include "penstock/frameworks/model_reference.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "penstock/core/yaml.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "penstock/plan/model_value.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::string_view kFirstKey = "penstock: model_reference", kFirstKeyOfPlan = "penstock_plan:";

/// The text below its comments.
std::string_view uncommented(std::string_view text) {
  while (text.starts_with('#') || text.starts_with('\n')) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return "";
    text.remove_prefix(end + 1);
  }
  return text;
}

/// Nothing where it is no number: the model reports that when it is built.
std::optional<std::int64_t> tokens_of(const plan::ModelRef& given) {
  const auto found = given.parameters.find("sequence");
  if (found == given.parameters.end()) return {};
  std::int64_t tokens = 0;
  const std::string& text = found->second;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  const bool number = fault == std::errc() && end == text.data() + text.size();
  return number ? std::optional(tokens) : std::nullopt;
}

std::string read_precision_name(const core::Yaml& node) {
  try {
    plan::mixed_precision(node.text());
  } catch (const core::BadInput& fault) {
    node.fail(fault.what());
  }
  return node.text();
}

}  // namespace

std::string to_yaml(const NamedModel& named, const std::string& comment) {
  const plan::ModelRef& model = named.model;
  std::string out = fmt::format("# {}\n{}\nversion: 1\nname: {}\n", comment, kFirstKey, model.name);
  if (!model.label.empty()) out += fmt::format("label: {}\n", core::quoted(model.label));
  if (!named.precision.empty()) out += fmt::format("precision: {}\n", named.precision);
  out += "parameters:";
  if (model.parameters.empty()) return out + " {}\n";
  out += '\n';
  for (const auto& [key, value] : model.parameters) {
    const bool plain = value.find(':') == value.npos && value != "true" && value != "false";
    out += fmt::format("  {}: {}\n", key, plain ? value : core::quoted(value));
  }
  return out;
}

bool is_model_reference(std::string_view text) {
  return uncommented(text).starts_with(kFirstKey);
}

NamedModel parse_model_reference(const std::string& text, const std::string& file) {
  const auto root = core::Yaml::parse(text, file);
  root.only({"penstock", "version", "name", "label", "precision", "parameters"});
  if (root.at("penstock").text() != "model_reference") root.at("penstock").fail("expected 'model_reference'");
  root.at("version").integer(1, 1);
  NamedModel out{{root.at("name").text(), {}}};
  if (const auto label = root.find("label")) out.model.label = label->text();
  if (const auto precision = root.find("precision")) out.precision = read_precision_name(*precision);
  if (const auto parameters = root.find("parameters"))
    for (const auto& [key, value] : parameters->entries())
      out.model.parameters[key] = plan::model_value(value);
  return out;
}

namespace {

/// Parameters that the user adds to a file's model distinguish it from the file's.
void add_given(const std::map<std::string, std::string>& given, plan::ModelRef& model) {
  for (const auto& [key, value] : given) {
    model.parameters[key] = value;
    if (!model.label.empty()) model.label += fmt::format(" {}={}", key, value);
  }
}

/// The model of a plan file, such as `penstock import megatron` writes.
NamedModel model_of_plan(const std::string& text, const std::string& file) {
  NamedModel out{plan::parse_plan_head(text, file).model};
  if (std::filesystem::exists(out.model.name))
    throw core::BadInput(
        fmt::format("{} is a plan of model file {}: name that file instead", file, out.model.name));
  const auto training = core::Yaml::parse(text, file).find("training");
  const auto precision = training ? training->find("precision") : std::nullopt;
  if (precision && precision->is_scalar()) {
    out.precision = read_precision_name(*precision);
    out.model.parameters.erase("element_bytes");  // both follow from the precision
    out.model.parameters.erase("products");
  }
  return out;
}

/// Nothing where the text is neither reference, nor config, nor plan.
std::optional<NamedModel> read_named(const std::string& text, const std::string& file,
                                     const plan::ModelRef& given, std::optional<std::int64_t> most_tokens) {
  const auto tokens = tokens_of(given);
  NamedModel out;
  std::map<std::string, std::string> parameters = given.parameters;
  if (is_model_reference(text)) {
    out = parse_model_reference(text, file);
  } else if (uncommented(text).starts_with(kFirstKeyOfPlan)) {
    out = model_of_plan(text, file);
  } else if (is_hf_config(text)) {
    HfModel read = parse_hf_config(text, file, SampleTokens{tokens, most_tokens});
    out = {std::move(read.model), std::move(read.precision), tokens.has_value()};
    // Families that state tokens of only the text have taken theirs out of the sequence.
    if (tokens && !out.model.parameters.contains("sequence")) {
      out.model.label += fmt::format(" sequence={}", *tokens);
      parameters.erase("sequence");
    }
  } else {
    return {};
  }
  add_given(parameters, out.model);
  if (!given.label.empty()) out.model.label = given.label;
  return out;
}

}  // namespace

plan::ModelRef named_by(const std::string& text, const std::string& file, const plan::ModelRef& given) {
  if (auto named = read_named(text, file, given, {})) return std::move(named->model);
  return given;
}

NamedModel named_by(const std::string& text, const std::string& file, const plan::ModelRef& given,
                    std::int64_t most_tokens) {
  auto named = read_named(text, file, given, most_tokens);
  return named ? std::move(*named) : NamedModel{given};
}

}  // namespace penstock::frameworks
