#include "penstock/experiment/load_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/json_text.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/report/comparison.hpp"

namespace penstock::experiment {
namespace {

/// Provenance of a validation, whose file has rows of another kind.
report::ResultSet provenance_of_validation(const std::string& file) {
  const auto json = core::parse_json<nlohmann::json>(core::read_file(file), file);
  const auto provenance = json.find("provenance");
  if (provenance == json.end()) throw core::BadInput({file, 0, "provenance"}, "is missing");
  return {{}, report::parse_provenance(provenance->dump(), file)};
}

/// True for a schedule study, recognised by the keys of the first row.
bool about_schedules(const std::string& text) {
  return text.substr(0, text.find('}')).find("\"pipeline\":") != text.npos;
}

/// Planner that ratios divide by, if the experiment's file names one.
std::string baseline_of(const std::string& folder) {
  const std::string file = folder + "/provenance.json";
  if (!std::filesystem::exists(file)) return "";
  const auto json = core::parse_json<nlohmann::json>(core::read_file(file), file);
  const auto found = json.find("baseline");
  if (found == json.end()) return "";
  if (!found->is_string()) throw core::BadInput({file, 0, "baseline"}, "expected the name of a planner");
  return found->get<std::string>();
}

/// Text of a value; empty for null.
std::string cell_text(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

report::ResultSet load_results(const std::string& folder) {
  const std::string validation = folder + "/validation.json";
  if (!std::filesystem::exists(folder + "/results.json") && std::filesystem::exists(validation))
    return provenance_of_validation(validation);
  if (!std::filesystem::exists(folder)) throw core::BadInput("there is no folder " + folder);
  if (!std::filesystem::is_directory(folder))
    throw core::BadInput(folder + " is a file: name the folder that `penstock run` wrote (-o)");
  if (std::filesystem::exists(folder + "/predictions.csv"))
    throw core::BadInput(
        folder +
        " holds predictions of `penstock validate --against`, of which there is no page: see its "
        "table.txt, errors.csv, predictions.csv and pictures");
  if (!std::filesystem::exists(folder + "/results.json"))
    throw core::BadInput(folder +
                         " is no results folder: it has no results.json, which `penstock run` writes");
  const std::string results = folder + "/results.json", timings = folder + "/timings.csv";
  const std::string text = core::read_file(results);
  if (about_schedules(text))
    throw core::BadInput({results, 0, ""},
                         "is about schedules alone; its table is in table.txt and results.csv, and "
                         "`penstock report` makes a page of it");
  report::ResultSet out = report::parse_results(text, results);
  if (std::filesystem::exists(timings)) report::add_columns(out.rows, core::read_file(timings), timings);
  if (out.provenance.version.empty()) out.provenance = load_provenance(folder);
  out.baseline = baseline_of(folder);
  report::add_ratios(out.rows, out.baseline);
  return out;
}

void set_baseline(report::ResultSet& results, const std::string& planner) {
  if (results.rows.empty()) throw core::BadInput("a baseline is a planner, and no row here has one");
  std::vector<std::string> known;
  for (const report::CellResult& row : results.rows)
    if (std::ranges::find(known, row.planner) == known.end()) known.push_back(row.planner);
  if (std::ranges::find(known, planner) == known.end())
    throw core::BadInput(
        fmt::format("no row is of the baseline '{}'; {}", planner, core::did_you_mean(planner, known)));
  results.baseline = planner;
  report::add_ratios(results.rows, planner);
}

report::Provenance load_provenance(const std::string& folder) {
  const std::string file = folder + "/provenance.json";
  return report::parse_provenance(core::read_file(file), file);
}

bool holds_schedules(const std::string& folder) {
  const std::string file = folder + "/results.json";
  return std::filesystem::exists(file) && about_schedules(core::read_file(file));
}

report::TextRows load_schedules(const std::string& folder) {
  using Json = nlohmann::ordered_json;
  const std::string file = folder + "/results.json";
  report::TextRows out{{}, {"schedule", "pipeline", "ranks", "micro_batches"}, {}};
  const Json json = core::parse_json<Json>(core::read_file(file), file);
  try {
    for (const auto& [name, value] : json.at("results").at(0).items()) out.columns.push_back(name);
    for (const Json& row : json.at("results")) {
      auto& cells = out.cells.emplace_back();
      for (const std::string& name : out.columns) cells.push_back(cell_text(row.at(name)));
    }
  } catch (const Json::exception& e) {
    throw core::BadInput({file, 0, "results"}, e.what());
  }
  return out;
}

}  // namespace penstock::experiment
