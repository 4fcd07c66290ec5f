#include "penstock/experiment/load_results.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"

namespace penstock::experiment {
namespace {

/// What validate writes has rows of another kind, and its provenance in the same file.
report::Results provenance_of_validation(const std::string& file) {
  try {
    return {
        {},
        report::parse_provenance(nlohmann::json::parse(core::read_file(file)).at("provenance").dump(), file)};
  } catch (const nlohmann::json::exception& e) {
    throw core::BadInput({file, 0, "provenance"}, e.what());
  }
}

/// Rows about schedules alone have neither planner nor plan.
void refuse_schedules(const std::string& text, const std::string& file) {
  const nlohmann::json::json_pointer pipeline("/results/0/pipeline");
  if (nlohmann::json::parse(text, nullptr, false).contains(pipeline))
    throw core::BadInput({file, 0, ""},
                         "is about schedules alone; its table is in table.txt and results.csv");
}

}  // namespace

report::Results load_results(const std::string& folder) {
  const std::string validation = folder + "/validation.json";
  if (!std::filesystem::exists(folder + "/results.json") && std::filesystem::exists(validation))
    return provenance_of_validation(validation);
  const std::string results = folder + "/results.json", timings = folder + "/timings.csv",
                    provenance = folder + "/provenance.json";
  const std::string text = core::read_file(results);
  refuse_schedules(text, results);
  report::Results out = report::parse_results(text, results);
  if (std::filesystem::exists(timings)) report::add_columns(out.rows, core::read_file(timings), timings);
  if (out.provenance.version.empty())
    out.provenance = report::parse_provenance(core::read_file(provenance), provenance);
  return out;
}

}  // namespace penstock::experiment
