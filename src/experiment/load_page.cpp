// Content of a results folder's page.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/json_text.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/load_results.hpp"
#include "penstock/experiment/page_cells.hpp"
#include "penstock/report/claims.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Formats an interval; open ends are null.
std::string interval(const Json& ends) {
  if (ends.is_null()) return "-";
  report::ClaimInterval out;
  if (!ends.at(0).is_null()) out.low = ends.at(0).get<double>();
  if (!ends.at(1).is_null()) out.high = ends.at(1).get<double>();
  return report::text(out);
}

/// Summary of the experiment, if the folder has one.
std::string summary_of(const std::string& folder) {
  for (const char* file : {"/provenance.json", "/claims.json"}) {
    const std::string path = folder + file;
    if (!fs::exists(path)) continue;
    const Json json = core::parse_json<Json>(core::read_file(path), path);
    if (json.is_object() && json.contains("summary") && json["summary"].is_string())
      return json["summary"].get<std::string>();
  }
  return "";
}

void add_claims(const std::string& folder, report::Page& page) {
  const std::string file = folder + "/claims.json";
  if (!fs::exists(file)) return;
  const Json json = core::parse_json<Json>(core::read_file(file), file);
  try {
    for (const Json& claim : json.at("claims")) {
      const auto text = [&](const char* key) { return claim.at(key).get<std::string>(); };
      page.claims.push_back({text("claim"), text("source"), interval(claim.at("paper")),
                             interval(claim.at("ours")), text("verdict"), text("reason")});
    }
  } catch (const Json::exception& e) {
    throw core::BadInput({file, 0, ""}, e.what());
  }
}

std::vector<report::ValidationRow> validation_of(const std::string& folder) {
  const std::string file = folder + "/validation.csv";
  if (!fs::exists(file)) return {};
  return report::parse_validation(core::read_file(file), file);
}

bool has_plans(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder + "/plans", none))
    if (entry.path().extension() == ".yaml") return true;
  return false;
}

/// Advice on drawings if the folder holds nothing to draw.
std::string advice(const std::string& folder, const report::Page& page) {
  if (!page.schedules.cells.empty())
    return "There are no drawings of schedules here: `penstock schedule NAME --ranks R --microbatches M "
           "--svg FILE` "
           "draws one.";
  if (page.results.rows.empty() || has_plans(folder)) return "";
  const std::string& command = page.results.provenance.command;
  return fmt::format(
      "There are no drawings: this folder has no plans. `{}` writes them into plans/ of its results folder, "
      "and "
      "`penstock report` on that folder draws them.",
      command.find(" run ") != command.npos ? command : "penstock run EXPERIMENT.yaml -o FOLDER");
}

}  // namespace

report::Page load_page(const std::string& folder, core::StopToken stop) {
  report::Page page;
  if (holds_schedules(folder)) {
    page.schedules = load_schedules(folder);
    page.results.provenance = load_provenance(folder);
  } else {
    page.results = load_results(folder);
    page.cells = page_cells(folder, page.results.rows, stop);
    page.warnings = doubts(page.results.rows);
  }
  page.summary = summary_of(folder);
  page.validation = validation_of(folder);
  add_claims(folder, page);
  page.advice = advice(folder, page);
  return page;
}

}  // namespace penstock::experiment
