#include "packed.hpp"

#include <zlib.h>

#include "base64.hpp"
#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

std::string deflated(const std::string& text) {
  std::string out(compressBound(text.size()), '\0');
  uLongf size = out.size();
  const int fault =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                text.size(), Z_DEFAULT_COMPRESSION);
  core::require(fault == Z_OK, "a buffer of compressBound() bytes is large enough");
  out.resize(size);
  return out;
}

}  // namespace

std::string packed(const std::string& text) {
  return base64(deflated(text));
}

}  // namespace penstock::report
