#include "models/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::models {

ParameterInfo element_bytes_parameter() {
  return {"element_bytes", "4",
          "bytes of every number: 4 for fp32, 2 for bf16 or fp16, computed at their rates"};
}

ParameterInfo products_parameter() {
  return {
      "products", "stored",
      "format in which layers multiply: stored, or fp8_delayed, fp8_current, fp8_block, mxfp8, nvfp4 with "
      "two-byte numbers"};
}

ParameterInfo lora_parameter() {
  return {
      "lora", "off",
      "adapters beside frozen weights: off, or rank=N,targets=attention|mlp|all,frozen=16|8|4, of which only "
      "the rank has no default (attention, 16)"};
}

namespace {

std::string names_of(const std::vector<SizeInfo>& sizes) {
  std::vector<std::string> names;
  for (const SizeInfo& size : sizes) names.push_back(size.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns " without a suffix (32768 or 32000)" for "32k": users mean either.
std::string without_suffix(const std::string& value) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, fault] = std::from_chars(value.data(), end, number);
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (fault != std::errc() || stop + 1 != end || (*stop != 'k' && *stop != 'K') || number < 1 ||
      number > kMost)
    return "";
  return fmt::format(" without a suffix ({} or {})", number * 1024, number * 1000);
}

}  // namespace

ParameterInfo size_parameter(const std::vector<SizeInfo>& sizes) {
  return {"size", sizes.front().name, names_of(sizes) + ": what the others are where not given"};
}

Parameters::Parameters(const ModelInfo& model, const std::map<std::string, std::string>& given)
    : model_(model) {
  std::vector<std::string> known;
  for (const ParameterInfo& parameter : model.parameters) {
    known.push_back(parameter.name);
    values_[parameter.name] = parameter.default_value;
  }
  if (const auto asked = given.find("size"); asked != given.end() && !model.sizes.empty()) {
    values_["size"] = asked->second;
    const auto size = std::ranges::find(model.sizes, asked->second, &SizeInfo::name);
    if (size == model.sizes.end()) fail("size", "one of " + names_of(model.sizes));
    for (const auto& [name, value] : size->parameters) values_[name] = value;
  }
  for (const auto& [name, value] : given) {
    if (!values_.contains(name))
      throw core::BadInput(fmt::format("model {}: unknown parameter '{}'; {}", model.name, name,
                                       core::did_you_mean(name, known)));
    values_[name] = value;
  }
}

graph::ProductFormat Parameters::products() const {
  const auto out = graph::product_format(
      word("products", {"stored", "fp8_delayed", "fp8_current", "fp8_block", "mxfp8", "nvfp4"}));
  if (out != graph::ProductFormat::stored && element_bytes() != 2)
    fail("products", "stored, as the numbers have four bytes");
  return out;
}

LoraForm Parameters::lora() const {
  LoraForm out;
  try {
    out = read_lora(text("lora"));
  } catch (const core::BadInput& fault) {
    fail("lora", fmt::format("off or settings ({})", fault.what()));
  }
  if (out.frozen != graph::FrozenFormat::stored && element_bytes() != 2)
    fail("lora", "of frozen=16, as the numbers have four bytes");
  if (out.frozen == graph::FrozenFormat::nf4 && products() != graph::ProductFormat::stored)
    fail("lora", "of frozen=16 or frozen=8, as layers multiply in 8 or 4 bits");
  return out;
}

const std::string& Parameters::text(std::string_view name) const {
  const auto found = values_.find(name);
  core::require(found != values_.end(), "a model reads only parameters it declares");
  return found->second;
}

std::int64_t Parameters::integer(std::string_view name, std::int64_t low, std::int64_t high) const {
  const std::string& value = text(name);
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, fault] = std::from_chars(value.data(), end, number);
  if (fault != std::errc() || stop != end || number < low || number > high)
    fail(name, fmt::format("an integer from {} to {}{}", low, high, without_suffix(value)));
  return number;
}

double Parameters::number(std::string_view name, double low, double high) const {
  const std::string& value = text(name);
  double number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, fault] = std::from_chars(value.data(), end, number);
  if (fault != std::errc() || stop != end || !(number >= low && number <= high))
    fail(name, fmt::format("a number from {} to {}", low, high));
  return number;
}

bool Parameters::states(std::string_view name) const {
  const auto found = std::ranges::find(model_.parameters, name, &ParameterInfo::name);
  return found != model_.parameters.end() && !found->computes;
}

std::string Parameters::word(std::string_view name, const std::vector<std::string>& choices) const {
  const std::string& value = text(name);
  if (std::find(choices.begin(), choices.end(), value) == choices.end())
    fail(name, fmt::format("one of {}", fmt::join(choices, ", ")));
  return value;
}

std::int64_t Parameters::heads(std::string_view name, std::int64_t hidden) const {
  const std::int64_t heads = integer(name, 1, kMostHeads);
  if (hidden % heads != 0) fail(name, fmt::format("a divisor of the hidden width {}", hidden));
  return heads;
}

void Parameters::fail(std::string_view name, const std::string& expected) const {
  throw core::BadInput(
      fmt::format("model {}: parameter {}: expected {}, not '{}'", model_.name, name, expected, text(name)));
}

}  // namespace penstock::models
