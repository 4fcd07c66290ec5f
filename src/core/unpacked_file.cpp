#include "penstock/core/unpacked_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "penstock/core/error.hpp"

namespace penstock::core {

UnpackedFile::UnpackedFile(std::string path) : path_(std::move(path)) {
  errno = 0;
  file_ = gzopen(path_.c_str(), "rb");
  if (file_ == nullptr)
    throw BadInput({path_, 0, ""}, fmt::format("cannot be read: {}", std::strerror(errno ? errno : ENOMEM)));
}

UnpackedFile::~UnpackedFile() {
  gzclose(file_);
}

std::size_t UnpackedFile::read(std::span<char> out) {
  const int count = gzread(file_, out.data(), static_cast<unsigned>(out.size()));
  int fault = Z_OK;
  const char* why = gzerror(file_, &fault);
  if (fault == Z_ERRNO)
    throw BadInput({path_, 0, ""}, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (fault == Z_BUF_ERROR)  // zlib's word for packed data without an end
    throw BadInput({path_, 0, ""}, "the packed file ends early");
  if (count < 0 || fault != Z_OK)
    throw BadInput({path_, 0, ""}, fmt::format("the packed file is damaged: {}", why));
  return static_cast<std::size_t>(count);
}

}  // namespace penstock::core
