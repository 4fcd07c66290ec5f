#include "file_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "penstock/core/files.hpp"
#include "penstock/experiment/run.hpp"

namespace penstock::cli {
namespace {

/// True if a program's command line, "penstock replay plan.yaml", runs this command.
bool runs(std::string_view line, std::string_view command) {
  return line.starts_with(command) && (line.size() == command.size() || line[command.size()] == ' ');
}

bool written_by(std::string_view command, const std::string& record) {
  if (!std::filesystem::exists(record)) return false;
  const auto json = nlohmann::json::parse(core::read_file(record), nullptr, false);
  const nlohmann::json::json_pointer who("/provenance/command");
  return json.is_object() && json.contains(who) && json[who].is_string() &&
         runs(json[who].get_ref<const std::string&>(), command);
}

}  // namespace

void check_replaceable(const std::vector<std::string>& files, const std::string& record,
                       std::string_view command, bool force) {
  if (force) return;
  const auto there = std::ranges::find_if(files, [](const std::string& file) {
    return std::filesystem::exists(std::filesystem::symlink_status(file));
  });
  if (there == files.end() || written_by(command, record)) return;
  throw core::Error(experiment::kOccupied,
                    fmt::format("{} is there, and {} does not say that {} wrote it: it stays; choose another "
                                "name (-o), move it away, or --force",
                                *there, record, command));
}

}  // namespace penstock::cli
