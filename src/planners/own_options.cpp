#include "own_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "penstock/core/spelling.hpp"

namespace penstock::planners {
namespace {

using core::BadInput;

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, value);
  return fault == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

bool within(const PlannerOption& option, const std::string& value) {
  const auto count = whole_number(value);
  return count && *count >= option.low && *count <= option.high;
}

/// Splits a value such as "3-4-3-2".
std::vector<std::string> split(const std::string& value) {
  std::vector<std::string> out(1);
  for (const char c : value)
    if (c == '-')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

bool allows(const PlannerOption& option, const std::string& value) {
  if (!option.free.empty()) return true;
  if (std::find(option.values.begin(), option.values.end(), value) != option.values.end()) return true;
  if (option.joined)
    return std::ranges::all_of(split(value), [&](const std::string& one) { return within(option, one); });
  return option.values.empty() && within(option, value);
}

const PlannerOption* find(const std::vector<PlannerOption>& declared, std::string_view name) {
  const auto same = [&](const PlannerOption& option) { return option.name == name; };
  const auto found = std::find_if(declared.begin(), declared.end(), same);
  return found == declared.end() ? nullptr : &*found;
}

[[noreturn]] void unknown(std::string_view planner, const std::vector<PlannerOption>& declared,
                          const std::string& name) {
  if (declared.empty()) throw BadInput(fmt::format("{} has no options, not '{}' either", planner, name));
  std::vector<std::string> names;
  for (const PlannerOption& option : declared) names.push_back(option.name);
  throw BadInput(fmt::format("{}: unknown option '{}'; {}", planner, name, core::did_you_mean(name, names)));
}

void check(std::string_view planner, const std::vector<PlannerOption>& declared, const OwnOptions& given) {
  for (const auto& [name, value] : given) {
    const PlannerOption* option = find(declared, name);
    if (!option) unknown(planner, declared, name);
    if (!allows(*option, value))
      throw BadInput(fmt::format("{}: {}: expected {}, not '{}'", planner, name, allowed(*option), value));
  }
}

}  // namespace

std::string allowed(const PlannerOption& option) {
  if (!option.free.empty()) return option.free;
  if (option.joined)
    return fmt::format("{}, or numbers of {} to {} as in 3-4-3-2", fmt::join(option.values, ", "), option.low,
                       option.high);
  if (option.values.empty()) return fmt::format("{} to {}", option.low, option.high);
  return fmt::format("{}", fmt::join(option.values, ", "));
}

void check_options(const PlannerInfo& planner, const OwnOptions& given) {
  check(planner.name, planner.options, given);
}

std::string written(const PlannerChoice& choice) {
  std::string out = choice.name;
  for (const auto& [name, value] : choice.options) out += ":" + name + "=" + value;
  return out;
}

void set_option(PlannerChoice& choice, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw BadInput(fmt::format("{}: expected option=value, not '{}'", choice.name, text));
  const OwnOptions one = {{text.substr(0, equals), text.substr(equals + 1)}};
  check_options(planner(choice.name), one);
  if (!choice.options.insert(*one.begin()).second)
    throw BadInput(fmt::format("{}: {} is given twice", choice.name, one.begin()->first));
}

PlannerChoice planner_choice(const std::string& text) {
  std::size_t colon = text.find(':');
  PlannerChoice out{planner(text.substr(0, colon)).name, {}};
  while (colon != std::string::npos) {
    const std::size_t next = text.find(':', colon + 1);
    set_option(out, text.substr(colon + 1, next - colon - 1));
    colon = next;
  }
  return out;
}

PlannerOption words(std::string name, std::vector<std::string> values, std::string meaning) {
  std::string standard = values.front();
  return {std::move(name), std::move(meaning), std::move(standard), std::move(values)};
}

PlannerOption flag(std::string name, std::string meaning) {
  return words(std::move(name), {"false", "true"}, std::move(meaning));
}

PlannerOption number(std::string name, std::int64_t standard, std::int64_t low, std::int64_t high,
                     std::string meaning) {
  return {std::move(name), std::move(meaning), std::to_string(standard), {}, low, high};
}

PlannerOption numbers(std::string name, std::string word, std::int64_t low, std::int64_t high,
                      std::string meaning) {
  return {std::move(name), std::move(meaning), word, {word}, low, high, true};
}

OwnValues::OwnValues(const char* planner, const std::vector<PlannerOption>& declared, const OwnOptions& given)
    : declared_(declared), given_(given) {
  check(planner, declared, given);
}

const std::string& OwnValues::word(std::string_view option) const {
  const PlannerOption* declared = find(declared_, option);
  core::require(declared != nullptr, "a planner reads options it declares");
  const auto given = given_.find(declared->name);
  return given == given_.end() ? declared->standard : given->second;
}

std::int64_t OwnValues::number(std::string_view option) const {
  return *whole_number(word(option));
}

std::vector<std::int64_t> OwnValues::numbers(std::string_view option) const {
  const std::string& text = word(option);
  std::vector<std::int64_t> out;
  if (std::ranges::count(find(declared_, option)->values, text) > 0) return out;
  for (const std::string& one : split(text)) out.push_back(*whole_number(one));
  return out;
}

namespace {
constexpr const char* kMaxTensorParallel = "max_tensor_parallel";
}

PlannerOption tensor_parallel_limit() {
  return number(
      kMaxTensorParallel, 0, 0, std::int64_t{1} << 20,
      "most devices of a tensor-parallel group; 1: operators are not divided, 0: the planner's own limit");
}

SearchOptions limited(const SearchOptions& options, const OwnValues& own) {
  SearchOptions out = options;
  if (const auto most = own.number(kMaxTensorParallel); most > 0)
    out.max_tensor_parallel = static_cast<int>(most);
  return out;
}

}  // namespace penstock::planners
