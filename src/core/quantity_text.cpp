#include "penstock/core/quantity_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace penstock::core {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};

constexpr Unit kTimeUnits[] = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                               {"s", 1},      {"min", 60},  {"h", 3600}};
constexpr Unit kByteUnits[] = {{"B", 1},           {"kB", 1e3},           {"MB", 1e6},
                               {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
                               {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
constexpr Unit kBandwidthUnits[] = {
    {"B/s", 1},        {"kB/s", 1e3},        {"MB/s", 1e6},           {"GB/s", 1e9},     {"TB/s", 1e12},
    {"KiB/s", 1024.0}, {"MiB/s", 1048576.0}, {"GiB/s", 1073741824.0}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}};
constexpr Unit kFlopUnits[] = {
    {"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};

constexpr Unit kShareUnits[] = {{"%", 0.01}};

template <std::size_t N>
std::optional<double> parse(std::string_view text, const Unit (&units)[N]) {
  double number = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view name(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const Unit& unit : units) {
    const double value = number * unit.scale;
    if (unit.name == name && std::isfinite(value)) return value;
  }
  return std::nullopt;
}

std::string scaled(double value, std::initializer_list<std::pair<double, const char*>> steps) {
  for (const auto& [scale, name] : steps) {
    const double shown = value / scale;
    if (shown >= 1 || scale == std::prev(steps.end())->first)
      return fmt::format("{:.{}f} {}", shown, shown < 10 ? 2 : shown < 100 ? 1 : 0, name);
  }
  return {};
}

}  // namespace

std::optional<Seconds> parse_seconds(std::string_view text) {
  constexpr double kLongest = 1e7;  // a third of a year
  const auto value = parse(text, kTimeUnits);
  return value && *value <= kLongest ? std::optional(Seconds(*value)) : std::nullopt;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto value = parse(text, kByteUnits);
  if (!value || *value > 9e18) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(std::llround(*value)));
}

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto value = parse(text, kBandwidthUnits);
  return value ? std::optional(Bandwidth(*value)) : std::nullopt;
}

std::optional<FlopRate> parse_flop_rate(std::string_view text) {
  const auto value = parse(text, kFlopUnits);
  return value ? std::optional(FlopRate(*value)) : std::nullopt;
}

std::optional<double> parse_share(std::string_view text) {
  return parse(text, kShareUnits);
}

std::string show(Bytes bytes) {
  if (bytes.value() < 0) return "-" + show(Bytes(-bytes.value()));
  return scaled(
      static_cast<double>(bytes.value()),
      {{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}});
}

std::string show(Seconds time) {
  return scaled(time.value(), {{60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}

}  // namespace penstock::core
