#pragma once
// A folder of a test's own, gone when the test ends.

#include <unistd.h>

#include <filesystem>
#include <string>

namespace penstock::support {

class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() /
                ("penstock_" + name + "_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(folder_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path(const std::string& file) const { return (folder_ / file).string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace penstock::support
