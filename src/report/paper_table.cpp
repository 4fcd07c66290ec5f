#include "penstock/report/paper_table.hpp"

#include <string_view>
#include <vector>

#include "shown.hpp"

namespace penstock::report {
namespace {

struct PaperColumn {
  std::string_view title;
  bool number;
};
constexpr std::string_view kSetting = "setting", kTokens = "tokens/s";  ///< those that only some tables have
constexpr PaperColumn kColumns[] = {
    {"model", false},    {"cluster", false},    {"devices", true},   {"mini-batch", true},
    {kSetting, false},   {"planner", false},    {"samples/s", true}, {kTokens, true},
    {"PP", true},        {"DP", true},          {"TP", true},        {"ZeRO", true},
    {"recompute", true}, {"micro-batch", true}, {"schedule", false}, {"TFLOP/s/GPU", true},
    {"MFU", true},       {"bubble", true},      {"gap", true},       {"peak memory", true}};

/// Whether a table of the rows has those.
struct PaperExtra {
  bool setting = false, tokens = false;
  explicit PaperExtra(std::span<const CellResult> rows)
      : setting(shown::any_setting(rows)), tokens(shown::any_tokens(rows)) {}
  bool lacks(std::string_view title) const {
    return (title == kSetting && !setting) || (title == kTokens && !tokens);
  }
};

std::vector<PaperColumn> shown_columns(const PaperExtra& extra) {
  std::vector<PaperColumn> out;
  for (const PaperColumn& column : kColumns)
    if (!extra.lacks(column.title)) out.push_back(column);
  return out;
}

std::vector<std::string> cells(const CellResult& row, const PaperExtra& extra) {
  std::vector<std::string> out = {row.model, row.cluster, std::to_string(row.devices),
                                  std::to_string(row.mini_batch)};
  if (extra.setting) out.push_back(row.setting);
  out.push_back(row.planner);
  out.push_back(row.samples_per_s ? shown::decimal(row.samples_per_s, 1) : shown::status(row));
  if (extra.tokens) out.push_back(shown::decimal(row.tokens_per_s, 0));
  for (std::string cell :
       {shown::number(row.pipeline_parallel), shown::extent(row.data_parallel),
        shown::extent(row.tensor_parallel), shown::extent(row.zero), shown::recompute(row),
        shown::extent(row.micro_batch), shown::text(row.schedule), shown::decimal(row.tflops_per_device, 2),
        shown::percent(row.mfu), shown::percent(row.bubble), shown::percent(row.gap),
        shown::bytes(row.peak_memory_bytes)})
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

std::vector<std::string> titles(const std::vector<PaperColumn>& columns) {
  std::vector<std::string> out;
  for (const PaperColumn& column : columns) out.emplace_back(column.title);
  return out;
}

}  // namespace

std::string to_markdown(std::span<const CellResult> rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return "| " + joined(cells, " | ", [](const auto& cell) { return markdown(cell); }) + " |\n";
  };
  const PaperExtra extra(rows);
  const auto wanted = shown_columns(extra);
  std::string out = line(titles(wanted)) + '|';
  for (const PaperColumn& column : wanted) out += column.number ? " ---: |" : " --- |";
  out += '\n';
  for (const CellResult& row : rows) out += line(cells(row, extra));
  return out;
}

std::string to_latex(std::span<const CellResult> rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return joined(cells, " & ", [](const auto& cell) { return latex(cell); }) + " \\\\\n";
  };
  const PaperExtra extra(rows);
  const auto wanted = shown_columns(extra);
  std::string out = "\\begin{tabular}{";
  for (const PaperColumn& column : wanted) out += column.number ? 'r' : 'l';
  out += "}\n\\toprule\n" + line(titles(wanted)) + "\\midrule\n";
  for (const CellResult& row : rows) out += line(cells(row, extra));
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace penstock::report
