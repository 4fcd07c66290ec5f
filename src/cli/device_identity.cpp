#include "device_identity.hpp"

#include <cstdlib>
#include <fstream>

#include "penstock/core/quantity_text.hpp"

namespace penstock::cli {
namespace {

constexpr double kMemoryShare = 0.5;

double kibibytes(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  std::string name;
  double value = 0;
  for (std::string rest; in >> name >> value; std::getline(in, rest))
    if (name == key + ":") return value;
  return 0;
}

core::Bytes memory(const std::string& key) {
  return core::Bytes(static_cast<std::int64_t>(kibibytes(key) * 1024));
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace

cost::MeasurementIdentity identity(const kernels::Backend& backend, const calibrate::DeviceClock& clock,
                                   const CommandContext& session) {
  const report::Provenance made = provenance(session);
  cost::MeasurementIdentity out;
  out.backend = backend.name();
  out.memory = memory("MemTotal");
  out.load = load_average();
  out.date = made.date;
  out.commit = made.commit + (made.dirty ? "-dirty" : "");
  out.command = made.command;
  for (const auto& [key, value] : backend.identity()) {
    if (key == "device")
      out.device = value;
    else if (key == "threads")
      out.threads = std::stoi(value);
    else if (key == "memory")
      out.memory = core::parse_bytes(value).value_or(out.memory);
    else
      out.details.emplace_back(key, value);
  }
  out.details.emplace_back("clock watched by", clock.method());
  return out;
}

core::Bytes usable_memory(const cost::MeasurementIdentity& id) {
  const core::Bytes whole = id.backend == "host" ? memory("MemAvailable") : id.memory;
  return core::Bytes(static_cast<std::int64_t>(static_cast<double>(whole.value()) * kMemoryShare));
}

}  // namespace penstock::cli
