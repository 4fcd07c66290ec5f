#include "owner.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "penstock/core/files.hpp"
#include "penstock/experiment/run.hpp"

namespace penstock::experiment {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Name of the owner; empty if no file states it.
std::string owner(const std::string& folder) {
  for (const char* name : {"/experiment.json", "/claims.json"}) {
    const std::string file = folder + name;
    if (!std::filesystem::exists(file)) continue;
    const OrderedJson json = OrderedJson::parse(core::read_file(file), nullptr, false);
    if (json.is_object() && json.contains("experiment") && json["experiment"].is_string())
      return json["experiment"].get<std::string>();
  }
  return "";
}

}  // namespace

void check_owner(const std::string& folder, const std::string& experiment) {
  const std::string other = owner(folder);
  if (other.empty() || other == experiment) return;
  throw core::Error(kOccupied,
                    fmt::format("{}/ holds the results of the experiment '{}', and those of '{}' would "
                                "go over them; choose another folder (-o), or delete this one",
                                folder, other, experiment));
}

void own(const std::string& folder, const std::string& experiment, const std::string& summary) {
  check_owner(folder, experiment);
  const OrderedJson json = {{"experiment", experiment}, {"summary", summary}};
  core::write_file(folder + "/experiment.json",
                   json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

}  // namespace penstock::experiment
