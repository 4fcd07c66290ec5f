#include "penstock/experiment/memory_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::experiment {

MemoryVerdict memory_verdict(const cluster::Cluster& cluster, const trace::Summary& summary) {
  double fullest = 0;
  for (std::size_t d = 0; d < summary.devices.size(); ++d)
    fullest = std::max(fullest, static_cast<double>(summary.devices[d].peak.value()) /
                                    static_cast<double>(cluster.type(core::DeviceId(d)).memory.value()));
  if (fullest > 1) return MemoryVerdict::full;
  return fullest * (1 + kMemoryError) > 1 ? MemoryVerdict::close : MemoryVerdict::fits;
}

std::string in_words(MemoryVerdict verdict) {
  switch (verdict) {
    case MemoryVerdict::close:
      return "too close to say";
    case MemoryVerdict::full:
      return "does not fit";
    default:
      return "fits";
  }
}

std::string verdict_note(MemoryVerdict verdict) {
  if (verdict == MemoryVerdict::fits) return "";
  if (verdict == MemoryVerdict::full) return " (does not fit)";
  return fmt::format(" (too close to say whether it fits: measured peaks differ by {:.0f} %)",
                     kMemoryError * 100);
}

}  // namespace penstock::experiment
