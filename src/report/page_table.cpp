#include "page_table.hpp"

#include <fmt/format.h>

#include "shown.hpp"
#include "svg.hpp"

namespace penstock::report {
namespace {

/// A head cell; `meaning` shows when pointed at.
struct Head {
  std::string_view title;
  const char* meaning;
  bool number = true;
};
/// The one column that only some tables have.
constexpr std::string_view kSetting = "Setting";
constexpr Head kHeads[] = {
    {"Model", "a link to the drawings of this cell", false},
    {"Cluster", "the cluster file", false},
    {"Devices", "how many of the cluster's devices take part"},
    {"Mini-batch", "samples per iteration"},
    {kSetting, "values of the experiment's further axes", false},
    {"Planner", "who made the plan", false},
    {"Samples/s", "throughput of the simulated iteration"},
    {"Iteration", "simulated time of one iteration"},
    {"Optimism", "time the planner expected, over the simulated one"},
    {"Gap", "how far the iteration is above a lower bound for any such plan"},
    {"Bubble", "share of time that devices do not compute"},
    {"Stages", "number of pipeline stages"},
    {"Depth", "stages on the longest path"},
    {"Micro-batch", "samples per micro-batch"},
    {"Memory", "peak memory of the fullest device"},
    {"Search", "wall time the planner took"},
    {"Status", "ok, or why there is no plan", false},
};

std::string head(bool setting) {
  std::string out = "<thead><tr>";
  for (const auto& [title, meaning, number] : kHeads)
    if (setting || title != kSetting)
      out += fmt::format(
          R"(<th scope="col" aria-sort="none"{}><button type="button" title="{}">{}</button></th>)",
          number ? " class=\"number\"" : "", meaning, title);
  return out + "</tr></thead>\n";
}

std::string text(const std::string& content) {
  return "<td>" + escaped(content) + "</td>";
}
template <class T>
std::string number(const std::optional<T>& value, const std::string& shown) {
  if (!value) return "<td class=\"number\">-</td>";
  return fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", *value, shown);
}
std::string number(const std::optional<std::int64_t>& value) {
  return number(value, shown::number(value));
}

std::string body_row(std::size_t i, const CellResult& row, bool setting) {
  return fmt::format("<tr><td><a href=\"#cell-{}\">{}</a></td>", i, escaped(row.model)) + text(row.cluster) +
         number(std::optional(row.devices)) + number(std::optional(row.mini_batch)) +
         (setting ? text(row.setting) : "") + text(row.planner) +
         number(row.samples_per_s, shown::decimal(row.samples_per_s, 1)) +
         number(row.iteration_s, shown::time(row.iteration_s)) +
         number(row.optimism, shown::decimal(row.optimism, 3)) + number(row.gap, shown::percent(row.gap)) +
         number(row.bubble, shown::percent(row.bubble)) + number(row.stages) + number(row.depth) +
         number(row.micro_batch) + number(row.peak_memory_bytes, shown::bytes(row.peak_memory_bytes)) +
         number(row.search_s, shown::time(row.search_s)) +
         fmt::format("<td title=\"{}\">{}</td></tr>\n", escaped(row.status), escaped(shown::status(row)));
}

}  // namespace

std::string table_content(const std::vector<CellResult>& rows) {
  const bool setting = shown::any_setting(rows);
  std::string out = head(setting) + "<tbody>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) out += body_row(i, rows[i], setting);
  return out + "</tbody>";
}

std::string heading(const CellResult& row) {
  return fmt::format("{} · {} devices of {} · mini-batch {}{} · {}", row.model, row.devices, row.cluster,
                     row.mini_batch, row.setting.empty() ? "" : " · " + row.setting, row.planner);
}

}  // namespace penstock::report
