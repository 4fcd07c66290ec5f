#include "penstock/schedule/schedule_csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "action_names.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "waits.hpp"

namespace penstock::schedule {
namespace {

constexpr std::size_t kMostDigits = 6;
constexpr int kMostStages = 65536;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::optional<std::int32_t> number(std::string_view digits) {
  std::int32_t value = 0;
  if (digits.empty() || digits.size() > kMostDigits) return {};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) return {};
  return value;
}

std::optional<Action> parse_simple(std::string_view text) {
  if (text == action_name(ActionKind::barrier)) return Action{ActionKind::barrier};
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t begin = std::min(text.find_first_not_of(kDigits), text.size());
  const std::size_t end = text.find_last_not_of(kDigits) + 1;  // one past the letters; 0 if there are none
  if (end <= begin) return {};
  const auto stage = number(text.substr(0, begin));
  const auto name = std::find_if(kActionNames.begin(), kActionNames.end(), [&](const auto& known) {
    return known.first == text.substr(begin, end - begin);
  });
  if (!stage || *stage >= kMostStages || name == kActionNames.end()) return {};
  if (name->second == ActionKind::barrier) return {};
  if (!has_micro_batch(name->second))
    return end == text.size() ? std::optional(Action{name->second, *stage}) : std::nullopt;
  const auto micro_batch = number(text.substr(end));
  return micro_batch ? std::optional(Action{name->second, *stage, *micro_batch}) : std::nullopt;
}

std::optional<Action> parse_pair(std::string_view text) {
  constexpr std::string_view kEnd = ")OVERLAP_F_B";
  if (!text.starts_with('(') || !text.ends_with(kEnd)) return {};
  const auto halves = split(text.substr(1, text.size() - 1 - kEnd.size()), ';');
  if (halves.size() != 2) return {};
  const auto f = parse_simple(halves[0]), b = parse_simple(halves[1]);
  if (!f || !b || f->kind != ActionKind::forward || b->kind != ActionKind::backward) return {};
  return overlapped(*f, *b);
}

Action parse_cell(std::string_view text, const core::InputPlace& place) {
  if (text.empty()) return {};
  const auto action = text.starts_with('(') ? parse_pair(text) : parse_simple(text);
  if (!action)
    throw core::BadInput(
        place,
        fmt::format("expected an action such as 0F0, 1I2, 3W1, 2B5, 0R3, 3SEND_F1, 1UNSHARD, BARRIER or "
                    "(0F7;7B3)OVERLAP_F_B, found '{}'",
                    text.substr(0, 40)));
  return *action;
}

void place_stages(Schedule& schedule) {
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    for (const Action& cell : schedule.ranks[r])
      for (const Action& part : parts(cell)) {
        if (part.stage < 0) continue;
        const auto s = static_cast<std::size_t>(part.stage);
        if (s >= schedule.rank_of_stage.size()) schedule.rank_of_stage.resize(s + 1, -1);
        if (schedule.rank_of_stage[s] < 0) schedule.rank_of_stage[s] = static_cast<std::int32_t>(r);
      }
}

}  // namespace

Schedule parse_schedule(std::string_view text, const std::string& file) {
  Schedule schedule;
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  for (const std::string_view line : split(text, '\n')) {
    RankOrder& row = schedule.ranks.emplace_back();
    WaitReader waits;
    int number = 0;
    for (const std::string_view cell : split(line, ',')) {
      const core::InputPlace place{file, static_cast<int>(schedule.ranks.size()),
                                   fmt::format("cell {}", number++)};
      if (const auto wait = waits.read(trimmed(cell))) {
        if (!wait->empty()) throw core::BadInput(place, *wait);
        continue;
      }
      row.push_back(parse_cell(trimmed(cell), place));
      waits.pass(row.back());
    }
  }
  place_stages(schedule);
  if (schedule.rank_of_stage.empty()) throw core::BadInput({file, 0, ""}, "the schedule has no actions");
  return schedule;
}

Schedule load_schedule(const std::string& file) {
  return parse_schedule(core::read_file(file), file);
}

std::string to_csv(const Schedule& schedule) {
  if (schedule.halves > 0)
    throw core::BadInput("a schedule file has whole micro-batches, and this schedule cuts some into halves");
  std::string out;
  for (const RankOrder& row : schedule.ranks) {
    out += fmt::format("{}\n", fmt::join(cells_with_waits(row), ","));
  }
  return out;
}

}  // namespace penstock::schedule
