#include "folder_delivery.hpp"

#include <utility>

#include "file_set.hpp"

namespace penstock::cli {

namespace fs = std::filesystem;

FolderDelivery::FolderDelivery(const std::string& folder, std::string record)
    : folder_((fs::path(folder) / "").parent_path()),
      record_(std::move(record)),
      waiting_(folder_.string()) {}

void FolderDelivery::check(const fs::path& folder, const std::vector<std::string>& names,
                           const std::string& record, std::string_view command, bool force) {
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back((folder / name).string());
  check_replaceable(files, (folder / record).string(), command, force);
}

/// The record goes first: it names who wrote the others.
void FolderDelivery::commit() const {
  fs::create_directories(folder_);
  fs::rename(path(record_), folder_ / record_);
  for (const auto& entry : fs::directory_iterator(waiting_.path()))
    fs::rename(entry.path(), folder_ / entry.path().filename());
}

}  // namespace penstock::cli
