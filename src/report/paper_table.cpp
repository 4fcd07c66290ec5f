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
constexpr Column kColumns[] = {{"model", false},     {"cluster", false},    {"devices", true},
                               {"mini-batch", true}, {"planner", false},    {"samples/s", true},
                               {"stages", true},     {"micro-batch", true}, {"bubble", true},
                               {"gap", true},        {"peak memory", true}};

std::vector<std::string> cells(const CellResult& row) {
  return {row.model,
          row.cluster,
          std::to_string(row.devices),
          std::to_string(row.mini_batch),
          row.planner,
          row.samples_per_s ? shown::decimal(row.samples_per_s, 1) : shown::status(row),
          shown::number(row.stages),
          shown::number(row.micro_batch),
          shown::percent(row.bubble),
          shown::percent(row.gap),
          shown::bytes(row.peak_memory_bytes)};
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

std::vector<std::string> titles() {
  std::vector<std::string> out;
  for (const Column& column : kColumns) out.emplace_back(column.title);
  return out;
}

}  // namespace

std::string to_markdown(std::span<const CellResult> rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return "| " + joined(cells, " | ", [](const auto& cell) { return markdown(cell); }) + " |\n";
  };
  std::string out = line(titles()) + '|';
  for (const Column& column : kColumns) out += column.number ? " ---: |" : " --- |";
  out += '\n';
  for (const CellResult& row : rows) out += line(cells(row));
  return out;
}

std::string to_latex(std::span<const CellResult> rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return joined(cells, " & ", [](const auto& cell) { return latex(cell); }) + " \\\\\n";
  };
  std::string out = "\\begin{tabular}{";
  for (const Column& column : kColumns) out += column.number ? 'r' : 'l';
  out += "}\n\\toprule\n" + line(titles()) + "\\midrule\n";
  for (const CellResult& row : rows) out += line(cells(row));
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace penstock::report
