#include "peak_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <sstream>
#include <string>

namespace penstock::cli {

PeakMemory::PeakMemory() {
  malloc_trim(0);  // what earlier work has freed is not held against this one
  std::ofstream out("/proc/self/clear_refs");
  reset_ = static_cast<bool>(out << 5 << std::flush);
}

std::optional<std::int64_t> PeakMemory::bytes() const {
  if (!reset_) return std::nullopt;
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    std::int64_t kib = 0;
    if (line.starts_with("VmHWM:") && std::istringstream(line.substr(6)) >> kib) return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace penstock::cli
