#include "penstock/report/paper_table.hpp"

#include <string_view>
#include <vector>

#include "penstock/report/column_choice.hpp"

namespace penstock::report {
namespace {

std::string blanks_for_controls(char c) {
  return std::string(1, static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
}

/// Escapes only characters that would end a cell, open a tag or start a style.
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

/// Titles and rows of the columns.
struct PaperCells {
  std::vector<ChosenColumn> columns;
  std::vector<std::string> titles() const {
    std::vector<std::string> out;
    for (const ChosenColumn& column : columns) out.push_back(column.title);
    return out;
  }
  std::vector<std::string> row(std::size_t r) const {
    std::vector<std::string> out;
    for (const ChosenColumn& column : columns) out.push_back(column.cells[r]);
    return out;
  }
};

/// Chosen columns; by default those of a paper.
std::vector<std::string> names_or_usual(std::span<const CellResult> rows,
                                        const std::vector<std::string>& names) {
  return names.empty() ? paper_columns(rows) : names;
}

}  // namespace

std::string to_markdown(std::span<const CellResult> rows, const std::vector<std::string>& names) {
  const auto line = [](const std::vector<std::string>& cells) {
    return "| " + joined(cells, " | ", [](const auto& cell) { return markdown(cell); }) + " |\n";
  };
  const auto wanted = names_or_usual(rows, names);
  const PaperCells cells{chosen_columns(rows, wanted)};
  std::string out = line(cells.titles()) + '|';
  for (const ChosenColumn& column : cells.columns) out += column.number ? " ---: |" : " --- |";
  out += '\n';
  for (std::size_t r = 0; r < rows.size(); ++r) out += line(cells.row(r));
  const std::string same = same_in_all(rows, wanted);
  return same.empty() ? out : out + "\nThe same in all rows: " + markdown(same) + ".\n";
}

std::string to_latex(std::span<const CellResult> rows, const std::vector<std::string>& names) {
  const auto line = [](const std::vector<std::string>& cells) {
    return joined(cells, " & ", [](const auto& cell) { return latex(cell); }) + " \\\\\n";
  };
  const auto wanted = names_or_usual(rows, names);
  const PaperCells cells{chosen_columns(rows, wanted)};
  const std::string same = same_in_all(rows, wanted);
  std::string out = same.empty() ? "" : "% The same in all rows: " + latex(same) + ".\n";
  out += "\\begin{tabular}{";
  for (const ChosenColumn& column : cells.columns) out += column.number ? 'r' : 'l';
  out += "}\n\\toprule\n" + line(cells.titles()) + "\\midrule\n";
  for (std::size_t r = 0; r < rows.size(); ++r) out += line(cells.row(r));
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace penstock::report
