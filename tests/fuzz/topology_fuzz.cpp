// A topology or a list of hosts of any bytes is read or refused. An accepted one is a cluster of A100, or
// cannot be one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/cluster/cluster.hpp"
#include "penstock/cluster/machine_topology.hpp"
#include "penstock/core/error.hpp"

using namespace penstock;

namespace {

cluster::ListedCluster listed(const std::string& text) {
  cluster::ListedCluster out;
  out.name = "fuzz";
  out.device = &*std::ranges::find(cluster::rented(), "A100-80", &cluster::RentedGpu::name);
  switch (cluster::topology_format(text)) {
    case cluster::TopologyFormat::smi_matrix:
      out.machine = cluster::parse_smi_matrix(text, "fuzz");
      break;
    case cluster::TopologyFormat::nccl_xml:
      out.machine = cluster::parse_nccl_topology(text, "fuzz");
      break;
    case cluster::TopologyFormat::host_list:
      out.hosts = cluster::parse_host_list(text, "fuzz");
      for (cluster::ListedHost& host : out.hosts) host.slots = host.slots.value_or(4);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string yaml;
  try {
    yaml = cluster::to_yaml(listed(std::string(reinterpret_cast<const char*>(data), size)));
  } catch (const core::BadInput&) {
    return 0;
  }
  core::require(cluster::parse_cluster(yaml, "fuzz").size() >= 1, "what is written can be read");
  return 0;
}
