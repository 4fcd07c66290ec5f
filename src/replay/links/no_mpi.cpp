// Replacement in a build without MPI.
#include "links/process_links.hpp"
#include "penstock/core/error.hpp"

namespace penstock::replay {

MpiProcesses::MpiProcesses(int, std::size_t) {
  throw core::BadInput(
      "several processes were started, but this build has no MPI: configure with -Dmpi=enabled");
}
MpiProcesses::~MpiProcesses() = default;

std::unique_ptr<ProcessLinks> connect(const MpiProcesses&, Monitor&, ThreadLinks&,
                                      std::vector<DeviceTransfer>, core::Seconds,
                                      std::function<std::string(std::size_t)>, std::function<void(Blob)>) {
  core::require(false, "without MPI there is one process");
  return nullptr;
}

}  // namespace penstock::replay
