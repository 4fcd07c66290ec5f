#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/experiment/what_if.hpp"

namespace penstock::experiment {
namespace {

struct KeyForm {
  std::string_view name;
  std::string_view example;  ///< example of a value that is no factor; empty: only factors are allowed
  std::optional<double> (*parse)(std::string_view);
};

std::optional<double> whole(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = fault == std::errc() && end == text.data() + text.size();
  return all && value >= 1 && value <= kMost ? std::optional(static_cast<double>(value)) : std::nullopt;
}
template <class Quantity>
std::optional<double> number(std::optional<Quantity> value) {
  if (!value || !(static_cast<double>(value->value()) >= 1)) return std::nullopt;
  return static_cast<double>(value->value());
}
std::optional<double> bandwidth(std::string_view text) {
  return number(core::parse_bandwidth(text));
}
std::optional<double> bytes(std::string_view text) {
  return number(core::parse_bytes(text));
}
std::optional<double> flop_rate(std::string_view text) {
  return number(core::parse_flop_rate(text));
}
std::optional<double> none(std::string_view) {
  return std::nullopt;
}

constexpr std::array<KeyForm, 9> kKeys = {{{"devices", "48", whole},
                                           {"network", "200Gb/s", bandwidth},
                                           {"node_links", "450GB/s", bandwidth},
                                           {"memory", "80GiB", bytes},
                                           {"memory_bandwidth", "3TB/s", bandwidth},
                                           {"flops", "1000TFLOP/s", flop_rate},
                                           {"speed", "", none},
                                           {"micro_batch", "4", whole},
                                           {"mini_batch", "1024", whole}}};

/// Parses "2x" or "0.5x": above 0, and small enough to compute with.
std::optional<double> factor(std::string_view text) {
  constexpr double kMost = 1e6;
  if (!text.ends_with('x')) return std::nullopt;
  text.remove_suffix(1);
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = fault == std::errc() && end == text.data() + text.size();
  return all && value >= 1 / kMost && value <= kMost ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

WhatIfChange change(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == text.npos)
    throw core::BadInput(fmt::format("'{}' is no change: expected KEY=VALUE, as in network=2x", text));
  std::array<std::string_view, kKeys.size()> names;
  for (std::size_t k = 0; k < kKeys.size(); ++k) names[k] = kKeys[k].name;
  const std::size_t k = core::index_of(trimmed(text.substr(0, equals)), names, "what-if key");
  const std::string_view given = trimmed(text.substr(equals + 1));
  if (const auto times = factor(given))
    return {static_cast<ChangedKey>(k), fmt::format("{}={}", names[k], given), *times, true};
  if (const auto value = kKeys[k].parse(given))
    return {static_cast<ChangedKey>(k), fmt::format("{}={}", names[k], given), *value, false};
  const bool factors = kKeys[k].example.empty();
  throw core::BadInput(fmt::format("{}: expected a factor such as 2x{}, not '{}'", names[k],
                                   factors ? "" : fmt::format(", or a value such as {}", kKeys[k].example),
                                   given));
}

}  // namespace

std::vector<WhatIfChange> what_if_changes(std::string_view text) {
  std::vector<WhatIfChange> out;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != text.npos;
    WhatIfChange next = change(trimmed(text.substr(0, comma)));
    for (const WhatIfChange& earlier : out)
      if (earlier.key == next.key)
        throw core::BadInput(fmt::format("{} and {}: a key may be given once", earlier.text, next.text));
    out.push_back(std::move(next));
    text.remove_prefix(more ? comma + 1 : text.size());
  }
  return out;
}

}  // namespace penstock::experiment
