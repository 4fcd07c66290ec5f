#include "penstock/core/files.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace fs = std::filesystem;

void write_file(const std::string& path, std::string_view content) {
  static std::atomic<unsigned> count{0};  // distinct temporary names for concurrent writers
  std::error_code fault;
  const fs::path target(path);
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), fault);
  const fs::path temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
  std::ofstream out(temporary, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (out) fs::rename(temporary, target, fault);
  if (out && !fault) return;
  fs::remove(temporary, fault);
  throw BadInput("cannot write file '" + path + "'");
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in && !in.eof()) throw BadInput("cannot read file '" + path + "'");
  return text;
}

}  // namespace penstock::core
