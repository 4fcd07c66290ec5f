#include "penstock/core/files.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace fs = std::filesystem;

namespace {

/// A device or a pipe, such as /dev/stdout.
bool is_special(const fs::path& path) {
  std::error_code fault;
  const fs::file_status status = fs::status(path, fault);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// The file that a link leads to; the path itself where there is none.
std::string behind_links(const std::string& path) {
  std::error_code fault;
  if (!fs::is_symlink(path, fault)) return path;
  const fs::path target = fs::canonical(path, fault);
  return fault ? path : target.string();
}

}  // namespace

FileWriter::FileWriter(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> count{0};  // distinct temporary names for concurrent writers
  std::error_code fault;
  target_ = behind_links(path_);
  const fs::path folder = fs::path(target_).parent_path();
  if (!folder.empty()) fs::create_directories(folder, fault);
  if (!is_special(path_))
    temporary_ = target_ + "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
  out_.open(temporary_.empty() ? path_ : temporary_, std::ios::binary);
  if (!out_) fail();
}

FileWriter::~FileWriter() {
  std::error_code fault;
  out_.close();
  if (!temporary_.empty()) fs::remove(temporary_, fault);  // nothing is there after a commit
}

void FileWriter::write(std::string_view piece) {
  out_.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  if (!out_) fail();
}

void FileWriter::commit() {
  std::error_code fault;
  out_.close();
  if (out_ && !temporary_.empty()) fs::rename(temporary_, target_, fault);
  if (!out_ || fault) fail();
}

void FileWriter::fail() const {
  throw BadInput("cannot write file '" + path_ + "'");
}

void write_file(const std::string& path, std::string_view content) {
  FileWriter file(path);
  file.write(content);
  file.commit();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::error_code fault;
  if (fs::is_directory(path, fault)) throw BadInput("cannot read file '" + path + "': it is a folder");
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in && !in.eof()) throw BadInput("cannot read file '" + path + "'");
  return text;
}

}  // namespace penstock::core
