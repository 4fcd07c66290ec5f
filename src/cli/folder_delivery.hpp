#pragma once
// Files of a results folder that appear together.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/files.hpp"

namespace penstock::cli {

/// Files on their way into a folder: `commit` moves them there together; without it none is left.
class FolderDelivery {
 public:
  /// `record`: a JSON file among them, whose provenance names the command that wrote the others.
  FolderDelivery(const std::string& folder, std::string record);

  /// Throws where another command's files of these names are in the folder, unless `force`.
  static void check(const std::filesystem::path& folder, const std::vector<std::string>& names,
                    const std::string& record, std::string_view command, bool force);

  std::string path(const std::string& name) const { return waiting_.path() + "/" + name; }
  void commit() const;

 private:
  std::filesystem::path folder_;
  std::string record_;
  core::TemporaryFolder waiting_;
};

}  // namespace penstock::cli
