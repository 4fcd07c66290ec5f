#include "size_flags.hpp"

#include <fmt/format.h>

#include <charconv>

#include "penstock/cluster/short_form.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::cli {
namespace {

/// Parses a number and the text behind it; nothing without a number.
std::optional<std::pair<double, std::string_view>> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || !(value >= 0)) return {};
  return std::pair(value, std::string_view(rest, static_cast<std::size_t>(end - rest)));
}

/// "1M$", "$250K", "1000000".
std::optional<double> parse_dollars(std::string_view text) {
  if (text.starts_with('$')) text.remove_prefix(1);
  if (text.ends_with('$')) text.remove_suffix(1);
  return parse_count(text);
}

[[noreturn]] void fail_flag(const char* flag, const char* expected, const std::string& text) {
  throw core::Error(core::ExitCode::usage, fmt::format("{}: expected {}, not '{}'", flag, expected, text));
}

template <class Value>
Value needed_value(const std::optional<Value>& value, const char* flag, const char* expected,
                   const std::string& text) {
  if (!value || !(*value > Value{})) fail_flag(flag, expected, text);
  return *value;
}

/// "50000h": hours between failures.
std::optional<double> parse_hours(std::string_view text) {
  constexpr double kMost = 1e9;
  const auto number = number_of(text);
  if (!number || number->second != "h" || number->first > kMost) return {};
  return number->first;
}

/// Device type in the cluster file of "H100", "A100-80" or a type's own name.
std::string type_named(const std::string& name) {
  for (const cluster::RentedGpu& gpu : cluster::rented())
    if (core::lower_case(std::string(gpu.name)) == core::lower_case(name)) return std::string(gpu.type);
  return core::lower_case(name);
}

/// "H100=2.5,B200=4".
std::map<std::string, double> parse_prices(const std::string& text) {
  std::map<std::string, double> out;
  for (const std::string& each : CLI::detail::split(text, ',')) {
    const auto equals = each.find('=');
    const auto price =
        equals == each.npos ? std::nullopt : number_of(std::string_view(each).substr(equals + 1));
    if (equals == 0 || !price || !price->second.empty() || price->first <= 0 || price->first > 1e6)
      fail_flag("--price", "TYPE=DOLLARS for an hour of one device, such as H100=2.5", each);
    out[type_named(each.substr(0, equals))] = price->first;
  }
  return out;
}

}  // namespace

std::optional<double> parse_count(std::string_view text) {
  const auto number = number_of(text);
  if (!number) return {};
  const auto& [value, unit] = *number;
  double scale = 1;
  if (unit == "K")
    scale = 1e3;
  else if (unit == "M")
    scale = 1e6;
  else if (unit == "B")
    scale = 1e9;
  else if (unit == "T")
    scale = 1e12;
  else if (!unit.empty())
    return {};
  const double out = value * scale;
  return out >= 1 && out <= 1e18 ? std::optional(out) : std::nullopt;
}

void SizeGoalFlags::add(CLI::App& command) {
  command
      .add_option("--tokens", tokens_,
                  "tokens to train on: a number, with K, M, B or T for powers of 1,000, as 2T")
      ->required()
      ->type_name("N");
  command
      .add_option(
          "--days", days_,
          "most days of wall time, also if costs are off by the margin. Required unless --gpus has only exact "
          "clusters; then the days are the answer")
      ->type_name("DAYS")
      ->check([](const std::string& text) {
        const auto days = number_of(text);
        return days && days->second.empty() && days->first > 0 && days->first <= 1e5
                   ? std::string()
                   : "expected days above 0, at most 100000, not '" + text + "'";
      });
  command
      .add_option("--budget", budget_,
                  "most dollars for all devices and all of the time, as 1M$ or 250K, also with the margin")
      ->type_name("DOLLARS");
}

experiment::SizingGoal SizeGoalFlags::goal() const {
  experiment::SizingGoal out;
  out.tokens =
      needed_value(parse_count(tokens_), "--tokens", "a number of tokens such as 2T, 500B or 300M", tokens_);
  if (days_ > 0) out.days = days_;
  if (!budget_.empty())
    out.dollars = needed_value(parse_dollars(budget_), "--budget", "dollars such as 1M$ or 250K", budget_);
  return out;
}

void SizeMachineFlags::add(CLI::App& command) {
  command
      .add_option(
          "--mtbf-per-gpu", mtbf_,
          "hours of one device between failures that stop the job. Default: 50677h, as in Llama 3's training "
          "(419 interruptions of 16,384 H100 in 54 days)")
      ->type_name("HOURS");
  auto* checkpoint =
      command
          .add_option("--checkpoint", checkpoint_,
                      "time for which a checkpoint stops the job. Default: its bytes over --storage")
          ->type_name("TIME");
  command
      .add_option(
          "--storage", storage_,
          "storage bandwidth of each node for checkpoints. Default: 0.977GB/s, as in Llama 3's training (2 TB/s "
          "for 2,048 nodes)")
      ->excludes(checkpoint)
      ->type_name("RATE");
  command
      .add_option("--restart", restart_,
                  "time from a failure until the job computes again. Default: 10min, an assumption")
      ->type_name("TIME");
  command
      .add_option(
          "--margin", margin_,
          "share by which days and dollars may be off, as 10%. Default: the expected error of the costs; for "
          "devices without measured runs the largest of any device")
      ->type_name("PERCENT");
  command
      .add_option(
          "--node-overhead", overhead_,
          "power of the rest of a node as a share of its devices' power. Default: 82.1%, as a DGX H100 (10.2 kW)")
      ->type_name("PERCENT");
  command
      .add_option(
          "--price", prices_,
          "dollars for an hour of one device, as H100=2.5,B200=5. Default: from the cluster (penstock clusters)")
      ->type_name("TYPE=DOLLARS,...");
}

experiment::SizingMachine SizeMachineFlags::machine() const {
  experiment::SizingMachine out;
  if (!mtbf_.empty())
    out.mtbf_hours =
        needed_value(parse_hours(mtbf_), "--mtbf-per-gpu", "hours above 0 such as 50000h", mtbf_);
  if (!checkpoint_.empty())
    out.checkpoint = needed_value(core::parse_seconds(checkpoint_), "--checkpoint",
                                  "a time above 0 such as 60s", checkpoint_);
  if (!storage_.empty())
    out.storage =
        needed_value(core::parse_bandwidth(storage_), "--storage", "a rate above 0 such as 2GB/s", storage_);
  if (!restart_.empty()) {
    const auto restart = core::parse_seconds(restart_);
    if (!restart) fail_flag("--restart", "a time such as 5min", restart_);
    out.restart = *restart;
  }
  if (!margin_.empty()) {
    out.margin = core::parse_share(margin_);
    if (!out.margin || *out.margin >= 1) fail_flag("--margin", "a share from 0% to below 100%", margin_);
  }
  if (!overhead_.empty()) {
    const auto overhead = core::parse_share(overhead_);
    if (!overhead) fail_flag("--node-overhead", "a share such as 80%", overhead_);
    out.node_overhead = *overhead;
  }
  if (!prices_.empty()) out.prices = parse_prices(prices_);
  return out;
}

std::vector<std::string> SizeMachineFlags::stated() const {
  std::vector<std::string> out;
  if (!mtbf_.empty()) out.emplace_back("mtbf");
  if (!storage_.empty()) out.emplace_back("storage");
  if (!restart_.empty()) out.emplace_back("restart");
  if (!overhead_.empty()) out.emplace_back("node_overhead");
  return out;
}

}  // namespace penstock::cli
