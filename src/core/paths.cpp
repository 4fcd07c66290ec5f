#include "penstock/core/paths.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace penstock::core {
namespace {

namespace fs = std::filesystem;

bool there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

/// Returns a path below the working folder relative to it.
std::string shortened(const fs::path& path) {
  std::error_code none;
  const fs::path near = path.lexically_relative(fs::current_path(none));
  return near.empty() || *near.begin() == ".." ? path.string() : near.string();
}

}  // namespace

bool names_file(const std::string& name) {
  constexpr std::array<std::string_view, 4> kEndings = {".yaml", ".yml", ".json", ".csv"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) { return name.ends_with(ending); });
}

std::string path_from(const std::string& file, const std::string& name) {
  const fs::path path(name), beside = fs::path(file).parent_path() / path;
  if (path.is_absolute() || there(beside)) return beside.lexically_normal().string();
  std::error_code none;
  fs::path folder = fs::absolute(fs::path(file), none).lexically_normal().parent_path();
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (there(folder / path)) return shortened((folder / path).lexically_normal());
  }
  return beside.lexically_normal().string();
}

std::string path_for(const std::string& file, const std::string& name) {
  std::error_code none;
  if (fs::path(name).is_absolute() || !there(name)) return name;
  const std::string found = path_from(file, name);
  if (there(found) && fs::equivalent(found, name, none)) return name;
  return fs::absolute(name, none).lexically_normal().string();
}

}  // namespace penstock::core
