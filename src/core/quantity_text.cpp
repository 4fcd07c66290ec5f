#include "penstock/core/quantity_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace penstock::core {
namespace {

struct UnitScale {
  std::string_view name;
  double scale;
};

constexpr UnitScale kTimeUnits[] = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                    {"s", 1},      {"min", 60},  {"h", 3600}};
constexpr UnitScale kByteUnits[] = {{"B", 1},           {"kB", 1e3},           {"MB", 1e6},
                                    {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
                                    {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
constexpr UnitScale kBandwidthUnits[] = {
    {"B/s", 1},        {"kB/s", 1e3},        {"MB/s", 1e6},           {"GB/s", 1e9},     {"TB/s", 1e12},
    {"KiB/s", 1024.0}, {"MiB/s", 1048576.0}, {"GiB/s", 1073741824.0}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}};
constexpr UnitScale kFlopUnits[] = {
    {"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};

constexpr UnitScale kShareUnits[] = {{"%", 0.01}};

/// Parses a number from 0 with its unit; at most `most` in the base unit.
template <std::size_t N>
std::optional<double> parse(std::string_view text, const UnitScale (&units)[N], double most) {
  double number = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view name(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  for (const UnitScale& unit : units) {
    const double value = number * unit.scale;
    if (unit.name == name && value <= most) return value;
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
  const auto value = parse(text, kTimeUnits, kLongest);
  return value ? std::optional(Seconds(*value)) : std::nullopt;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  constexpr double kMost = 1152921504606846976.0;  // 2^60
  const auto value = parse(text, kByteUnits, kMost);
  return value ? std::optional(Bytes(std::llround(*value))) : std::nullopt;
}

/// Bytes or floating-point operations per second: hundreds of times the rate of a device of today.
constexpr double kFastest = 1e18;

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto value = parse(text, kBandwidthUnits, kFastest);
  return value ? std::optional(Bandwidth(*value)) : std::nullopt;
}

std::optional<FlopRate> parse_flop_rate(std::string_view text) {
  const auto value = parse(text, kFlopUnits, kFastest);
  return value ? std::optional(FlopRate(*value)) : std::nullopt;
}

std::optional<double> parse_share(std::string_view text) {
  constexpr double kMost = 1e6;
  return parse(text, kShareUnits, kMost);
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

std::string show_share(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

}  // namespace penstock::core
