#include "colour.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <vector>

namespace penstock::cli {
namespace {

constexpr std::string_view kBold = "\033[1m", kGreen = "\033[32m", kPlain = "\033[0m";

using Lines = std::vector<std::string>;

struct LineSpan {
  std::size_t begin = 0, end = 0;  ///< bytes of a line
};

/// Columns that have a best value, by their heads.
struct RankedColumn {
  std::string_view title;
  bool most = false;  ///< the largest is best
};
constexpr RankedColumn kContests[] = {{"samples/s", true}, {"tokens/s", true}, {"TFLOP/s/GPU", true},
                                      {"MFU", true},       {"iteration"},      {"simulated"},
                                      {"memory"},          {"bubble"},         {"gap"}};

/// Bytes, seconds or percent of a unit.
struct UnitScale {
  std::string_view name;
  double size;
};
constexpr UnitScale kUnits[] = {{"KiB", 1024.0},
                                {"MiB", 1048576.0},
                                {"GiB", 1073741824.0},
                                {"TiB", 1099511627776.0},
                                {"ms", 1e-3},
                                {"us", 1e-6},
                                {"ns", 1e-9},
                                {"ps", 1e-12},
                                {"s", 1.0},
                                {"B", 1.0},
                                {"%", 1.0}};

Lines lines_in(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool is_rule(const std::string& line) {
  return line.starts_with("--") && line.find_first_not_of("- ") == line.npos && line.find("   ") == line.npos;
}

std::vector<LineSpan> columns_of(const std::string& rule) {
  std::vector<LineSpan> out;
  for (std::size_t at = 0; at < rule.size();) {
    const auto end = std::min(rule.find(' ', at), rule.size());
    out.push_back({at, end});
    at = rule.find_first_not_of(' ', end);
  }
  return out;
}

std::string cell_of(const std::string& line, const LineSpan& span) {
  if (span.begin >= line.size()) return "";
  std::string out = line.substr(span.begin, span.end - span.begin);
  out.erase(out.find_last_not_of(' ') + 1);
  return out.substr(std::min(out.find_first_not_of(' '), out.size()));
}

/// "1.50 GiB" in bytes, "41.4%" in percent; nothing where the cell is no quantity.
std::optional<double> quantity_of(const std::string& cell) {
  double number = 0;
  const auto [rest, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (fault != std::errc()) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(cell.data() + cell.size() - rest));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (unit.empty()) return number;
  const auto found = std::ranges::find(kUnits, unit, &UnitScale::name);
  return found == std::end(kUnits) ? std::nullopt : std::optional(number * found->size);
}

/// The rows [first, last) of the table that have the best value of a column; none where all have the same.
std::vector<std::size_t> best_rows(const Lines& lines, std::size_t first, std::size_t last,
                                   const LineSpan& column, bool most) {
  std::vector<std::pair<double, std::size_t>> values;
  for (std::size_t l = first; l < last; ++l)
    if (const auto value = quantity_of(cell_of(lines[l], column)))
      values.emplace_back(most ? -*value : *value, l);
  if (values.empty()) return {};
  const auto [least, largest] = std::ranges::minmax(values, {}, &std::pair<double, std::size_t>::first);
  std::vector<std::size_t> out;
  if (least.first < largest.first)
    for (const auto& [value, line] : values)
      if (value == least.first) out.push_back(line);
  return out;
}

/// Cells to be green: [line] spans, from the left.
using GreenCells = std::vector<std::vector<LineSpan>>;

void mark_best(const Lines& lines, std::size_t rule, GreenCells& green) {
  const auto columns = columns_of(lines[rule]);
  std::size_t end = rule + 1;
  while (end < lines.size() && !lines[end].empty()) ++end;
  const auto has = [&](std::string_view title) {
    return std::ranges::any_of(columns,
                               [&](const LineSpan& c) { return cell_of(lines[rule - 1], c) == title; });
  };
  if (!has("planner") || has("model")) return;  // rows of one plan, or of several problems, do not compete
  for (const LineSpan& column : columns) {
    const auto contest = std::ranges::find(kContests, std::string_view(cell_of(lines[rule - 1], column)),
                                           &RankedColumn::title);
    if (contest == std::end(kContests)) continue;
    for (const std::size_t l : best_rows(lines, rule + 1, end, column, contest->most))
      green[l].push_back(column);
  }
}

std::string painted(const std::string& line, const std::vector<LineSpan>& green) {
  std::string out;
  std::size_t at = 0;
  for (const LineSpan& span : green) {
    const std::size_t end = std::min(span.end, line.size());
    out += line.substr(at, span.begin - at);
    out.append(kGreen).append(line.substr(span.begin, end - span.begin)).append(kPlain);
    at = end;
  }
  return out + line.substr(at);
}

/// Bytes are cells of the terminal.
bool is_plain(const std::string& line) {
  return std::ranges::all_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

bool colour_wanted() {
  const char *none = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) != 0 && !dumb && (none == nullptr || *none == '\0');
}

std::string coloured(std::string_view text) {
  const Lines lines = lines_in(text);
  GreenCells green(lines.size());
  std::vector<bool> bold(lines.size());
  for (std::size_t l = 1; l < lines.size(); ++l) {
    if (!is_rule(lines[l]) || lines[l - 1].empty()) continue;
    bold[l - 1] = true;
    mark_best(lines, l, green);
  }
  std::string out;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::string line = is_plain(lines[l]) ? painted(lines[l], green[l]) : lines[l];
    if (bold[l]) line = std::string(kBold) + line + std::string(kPlain);
    out += line + "\n";
  }
  if (!text.empty() && text.back() != '\n') out.pop_back();
  return out;
}

}  // namespace penstock::cli
