#include "penstock/report/page.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "columns.hpp"
#include "page_assets.hpp"
#include "page_table.hpp"
#include "penstock/core/error.hpp"
#include "shown.hpp"
#include "svg.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// JSON inside a script element ends at "</script" wherever that stands, so no "<" may.
std::string in_script(const std::string& json) {
  std::string out;
  for (const char c : json) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

/// The frame with each {{name}} replaced. What is put in is not looked at again.
std::string filled(std::string_view frame, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string out;
  for (std::size_t from = 0;;) {
    const std::size_t open = frame.find("{{", from);
    out += frame.substr(from, open - from);
    if (open == frame.npos) return out;
    const std::size_t close = frame.find("}}", open);
    const auto part = parts.find(frame.substr(open + 2, close - open - 2));
    core::require(part != parts.end(), "the page's frame names only parts that there are");
    out += part->second;
    from = close + 2;
  }
}

std::string provenance(const Provenance& p) {
  return escaped(fmt::format("Penstock {} ({}{}), {}. Command: {}. Hardware: {}. Compiler: {}.", p.version,
                             p.commit, p.dirty ? ", with changes" : "", p.date, p.command, p.hardware,
                             p.compiler));
}

/// Of a cell that another run than the page's may have searched.
std::string origin(const CellResult& row) {
  return row.date.empty() ? "" : fmt::format(" Searched {} on {}.", row.date, row.hardware);
}

/// What a section says before, and without, any drawing.
std::string figures(const CellResult& row) {
  if (!row.iteration_s) return row.status + "." + origin(row);
  return fmt::format(
      "{} samples/s, iteration {}, {} stages, depth {}, schedule {}, bubble {}, peak memory {}.{}{}",
      shown::decimal(row.samples_per_s, 1), shown::time(row.iteration_s), shown::number(row.stages),
      shown::number(row.depth), row.schedule.value_or("-"), shown::percent(row.bubble),
      shown::bytes(row.peak_memory_bytes), row.status == "ok" ? "" : " " + row.status + ".", origin(row));
}

std::string section(std::size_t i, const CellResult& row, const PageCell& cell) {
  std::string out = fmt::format("<details id=\"cell-{}\"><summary><h3>{}</h3></summary>\n<p>{}</p>\n", i,
                                escaped(heading(row)), escaped(figures(row)));
  if (!cell.note.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(cell.note));
  if (!cell.data.empty()) out += fmt::format("<script type=\"text/plain\">{}</script>\n", cell.data);
  return out + "</details>\n";
}

std::string sections(const Page& page) {
  std::string out;
  for (std::size_t i = 0; i < page.cells.size(); ++i) out += section(i, page.results.rows[i], page.cells[i]);
  return out;
}

std::string validation(const std::vector<ValidationRow>& rows) {
  Json out = Json::array();
  for (const ValidationRow& row : rows)
    out.push_back({{"plan", row.plan},
                   {"measured", row.measured_s},
                   {"low", row.measured_low_s},
                   {"high", row.measured_high_s},
                   {"simulated", row.simulated_s},
                   {"error", row.error}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string scripts() {
  std::string out = "'use strict';\n";
  for (const std::string_view script : assets::kScripts) out += script;
  return out;
}

}  // namespace

std::string to_html(const Page& page) {
  core::require(page.cells.size() == page.results.rows.size(), "a page has one cell for each row");
  const auto& [rows, from] = page.results;
  return filled(assets::kFrame, {{"title", escaped(page.title)},
                                 {"style", std::string(assets::kStyle)},
                                 {"provenance", provenance(from)},
                                 {"without rows", rows.empty() ? " hidden" : ""},
                                 {"table", table_content(rows)},
                                 {"cells", sections(page)},
                                 {"results", in_script(to_json(rows, from, kAll))},
                                 {"validation", in_script(validation(page.validation))},
                                 {"script", scripts()}});
}

}  // namespace penstock::report
