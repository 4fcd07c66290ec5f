#include "json_reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "penstock/core/error.hpp"

namespace penstock::graph {

void JsonReader::fail(const std::string& message) const {
  throw core::BadInput({file_, 0, key_}, message);
}

JsonReader JsonReader::at(const std::string& key) const {
  if (!json_.is_object()) fail("expected an object");
  const auto found = json_.find(key);
  if (found == json_.end()) fail("the key '" + key + "' is missing");
  return {*found, file_, key_.empty() ? key : key_ + "." + key};
}

std::vector<JsonReader> JsonReader::items(std::size_t most) const {
  if (!json_.is_array() || json_.empty()) fail("expected a list that is not empty");
  if (json_.size() > most) fail(fmt::format("expected at most {} entries, found {}", most, json_.size()));
  std::vector<JsonReader> out;
  for (std::size_t i = 0; i < json_.size(); ++i)
    out.emplace_back(json_[i], file_, fmt::format("{}[{}]", key_, i));
  return out;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::entries(std::size_t most) const {
  if (!json_.is_object()) fail("expected an object");
  if (json_.size() > most) fail(fmt::format("expected at most {} entries, found {}", most, json_.size()));
  std::vector<std::pair<std::string, JsonReader>> out;
  for (const auto& [key, value] : json_.items())
    out.emplace_back(key, JsonReader(value, file_, key_ + "." + key));
  return out;
}

std::string JsonReader::text() const {
  if (!json_.is_string()) fail("expected text");
  return json_.get<std::string>();
}

double JsonReader::number(double most) const {
  if (!json_.is_number()) fail("expected a number");
  const double value = json_.get<double>();
  if (!(value >= 0 && value <= most))
    fail(fmt::format("expected a number from 0 to {:g}, found {:g}", most, value));
  return value;
}

std::int64_t JsonReader::integer(std::int64_t low, std::int64_t high) const {
  const double value = json_.is_number() ? json_.get<double>() : std::nan("");
  if (!(value >= static_cast<double>(low) && value <= static_cast<double>(high)) ||
      value != std::floor(value))
    fail(fmt::format("expected a whole number from {} to {}", low, high));
  return static_cast<std::int64_t>(value);
}

std::int64_t JsonReader::whole_key(const std::string& key, std::int64_t low, std::int64_t high) const {
  std::int64_t number = 0;
  const auto [rest, fault] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (fault != std::errc() || rest != key.data() + key.size() || number < low || number > high)
    fail(fmt::format("expected a whole number from {} to {} as key", low, high));
  return number;
}

}  // namespace penstock::graph
