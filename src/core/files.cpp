#include "penstock/core/files.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace fs = std::filesystem;

FileWriter::FileWriter(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> count{0};  // distinct temporary names for concurrent writers
  std::error_code fault;
  const fs::path target(path_);
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), fault);
  temporary_ = path_ + "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
  out_.open(temporary_, std::ios::binary);
  if (!out_) fail();
}

FileWriter::~FileWriter() {
  std::error_code fault;
  out_.close();
  fs::remove(temporary_, fault);  // nothing is there after a commit
}

void FileWriter::write(std::string_view piece) {
  out_.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  if (!out_) fail();
}

void FileWriter::commit() {
  std::error_code fault;
  out_.close();
  if (out_) fs::rename(temporary_, path_, fault);
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
