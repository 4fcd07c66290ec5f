#include "penstock/report/paper_table.hpp"

#include <string_view>
#include <vector>

#include "shown.hpp"

namespace penstock::report {
namespace {

struct Column {
  std::string_view title;
  bool number;
};
constexpr std::string_view kSetting = "setting";  ///< the one that only some tables have
constexpr Column kColumns[] = {{"model", false},     {"cluster", false}, {"devices", true},
                               {"mini-batch", true}, {kSetting, false},  {"planner", false},
                               {"samples/s", true},  {"stages", true},   {"micro-batch", true},
                               {"bubble", true},     {"gap", true},      {"peak memory", true}};

std::vector<Column> columns(bool setting) {
  std::vector<Column> out;
  for (const Column& column : kColumns)
    if (setting || column.title != kSetting) out.push_back(column);
  return out;
}

std::vector<std::string> cells(const CellResult& row, bool setting) {
  std::vector<std::string> out = {row.model, row.cluster, std::to_string(row.devices),
                                  std::to_string(row.mini_batch)};
  if (setting) out.push_back(row.setting);
  for (std::string cell :
       {row.planner, row.samples_per_s ? shown::decimal(row.samples_per_s, 1) : shown::status(row),
        shown::number(row.stages), shown::number(row.micro_batch), shown::percent(row.bubble),
        shown::percent(row.gap), shown::bytes(row.peak_memory_bytes)})
    out.push_back(std::move(cell));
  return out;
}

std::string blanks_for_controls(char c) {
  return std::string(1, static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
}

/// Only what would end a cell, open a tag or start a style.
std::string markdown(std::string_view text) {
  constexpr std::string_view kSpecial = "\\|<>*_`[]";
  std::string out;
  for (const char c : text) out += (kSpecial.find(c) == kSpecial.npos ? "" : "\\") + blanks_for_controls(c);
  return out;
}

std::string latex(char c) {
  switch (c) {
    case '\\':
      return "\\textbackslash{}";
    case '~':
      return "\\textasciitilde{}";
    case '^':
      return "\\textasciicircum{}";
    case '<':
      return "\\textless{}";
    case '>':
      return "\\textgreater{}";
    case '&':
    case '%':
    case '$':
    case '#':
    case '_':
    case '{':
    case '}':
      return std::string("\\") + c;
    default:
      return blanks_for_controls(c);
  }
}
std::string latex(std::string_view text) {
  std::string out;
  for (const char c : text) out += latex(c);
  return out;
}

template <class Escape>
std::string joined(const std::vector<std::string>& cells, const char* between, Escape&& escape) {
  std::string out = escape(cells.front());
  for (std::size_t i = 1; i < cells.size(); ++i) out += between + escape(cells[i]);
  return out;
}

std::vector<std::string> titles(const std::vector<Column>& columns) {
  std::vector<std::string> out;
  for (const Column& column : columns) out.emplace_back(column.title);
  return out;
}

}  // namespace

std::string to_markdown(std::span<const CellResult> rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return "| " + joined(cells, " | ", [](const auto& cell) { return markdown(cell); }) + " |\n";
  };
  const bool setting = shown::any_setting(rows);
  const auto wanted = columns(setting);
  std::string out = line(titles(wanted)) + '|';
  for (const Column& column : wanted) out += column.number ? " ---: |" : " --- |";
  out += '\n';
  for (const CellResult& row : rows) out += line(cells(row, setting));
  return out;
}

std::string to_latex(std::span<const CellResult> rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return joined(cells, " & ", [](const auto& cell) { return latex(cell); }) + " \\\\\n";
  };
  const bool setting = shown::any_setting(rows);
  const auto wanted = columns(setting);
  std::string out = "\\begin{tabular}{";
  for (const Column& column : wanted) out += column.number ? 'r' : 'l';
  out += "}\n\\toprule\n" + line(titles(wanted)) + "\\midrule\n";
  for (const CellResult& row : rows) out += line(cells(row, setting));
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace penstock::report
