// A fault for the driver's own test: a certain number ends the process.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("9223372036854775807") != std::string_view::npos) std::abort();
  return 0;
}
