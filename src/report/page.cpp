#include "penstock/report/page.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "packed.hpp"
#include "page_assets.hpp"
#include "page_columns.hpp"
#include "page_headline.hpp"
#include "penstock/core/error.hpp"
#include "svg.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the frame with each {{name}} replaced. Replacements are not scanned again.
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

std::string paragraph(std::string_view style, const std::string& text) {
  return text.empty() ? "" : fmt::format("<p class=\"{}\">{}</p>\n", style, escaped(text));
}

std::string headlines(const Page& page) {
  std::string out;
  for (const std::string& line : headline(page)) out += paragraph("headline", line);
  return out;
}

/// Data that page/cell.js unpacks when a plan is opened.
std::string drawings(const std::vector<PageCell>& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!cells[i].data.empty())
      out += fmt::format("<script type=\"text/plain\" id=\"data-{}\">{}</script>\n", i, cells[i].data);
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

std::string claims(const std::vector<PageClaim>& all) {
  Json out = Json::array();
  for (const PageClaim& claim : all)
    out.push_back({{"claim", claim.claim},
                   {"source", claim.source},
                   {"paper", claim.paper},
                   {"ours", claim.ours},
                   {"verdict", claim.verdict},
                   {"reason", claim.reason}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string warnings(const Page& page) {
  std::string out;
  for (const std::string& warning : page.warnings) out += paragraph("note", "warning: " + warning);
  return out;
}

std::string scripts() {
  std::string out = "'use strict';\n";
  for (const std::string_view script : assets::kScripts) out += script;
  return out;
}

/// Marker in src/report/page/frame.html.
constexpr std::string_view kGenerator = "<meta name=\"generator\" content=\"Penstock\">";

}  // namespace

bool is_page(std::string_view text) {
  const std::string_view frame(assets::kFrame);
  core::require(frame.find(kGenerator) != frame.npos, "a page says who wrote it");
  return text.starts_with("<!doctype html>") &&
         text.substr(0, text.find("<body>")).find(kGenerator) != text.npos;
}

std::string to_html(const Page& page) {
  core::require(page.cells.size() == page.results.rows.size(), "a page has one cell for each row");
  return filled(assets::kFrame, {{"title", escaped(page.title)},
                                 {"style", std::string(assets::kStyle)},
                                 {"summary", paragraph("summary", page.summary)},
                                 {"headline", headlines(page)},
                                 {"provenance", provenance(page.results.provenance)},
                                 {"advice", warnings(page) + paragraph("note", page.advice)},
                                 {"drawings", drawings(page.cells)},
                                 {"rows", packed(columns_json(page))},
                                 {"validation", packed(validation(page.validation))},
                                 {"claims", packed(claims(page.claims))},
                                 {"script", scripts()}});
}

}  // namespace penstock::report
