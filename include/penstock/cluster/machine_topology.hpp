#pragma once
// Interconnect of one machine's GPUs, and lists of machines, as other tools print them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/cluster/short_form.hpp"

namespace penstock::cluster {

/// How two GPUs of a machine reach each other over PCIe, the closest first.
enum class PciPath : std::uint8_t { same_switch, same_cpu, across_cpus };

/// Interconnect of one machine's GPUs.
struct MachineTopology {
  struct GpuNode {
    int line = 0;          ///< line of the file
    int switch_links = 0;  ///< NVLinks to NVSwitches
    int capability = 0;    ///< compute capability times ten, such as 90; 0: not stated
    double pcie = 0;       ///< B/s in each direction; 0: not stated
  };
  /// GPUs without links, all on one PCIe switch.
  MachineTopology(std::string file_name, std::size_t count)
      : file(std::move(file_name)),
        gpus(count),
        nvlinks(count, std::vector<int>(count)),
        paths(count, std::vector<PciPath>(count, PciPath::same_switch)) {}

  std::string file;
  std::vector<GpuNode> gpus;
  /// [gpu][gpu] NVLinks between two GPUs, symmetric. nvidia-smi counts links through NVSwitches too.
  std::vector<std::vector<int>> nvlinks;
  std::vector<std::vector<PciPath>> paths;  ///< [gpu][gpu] symmetric
  double network = 0;                       ///< B/s of all network adapters; 0: not stated
};

/// One machine of a list.
struct ListedHost {
  std::string name;
  std::optional<int> slots;  ///< devices; none: not stated
  int line = 0;
};

enum class TopologyFormat : std::uint8_t { smi_matrix, nccl_xml, host_list };
/// Format of a file: XML, a matrix with a row GPU0, or else a list of hosts.
TopologyFormat topology_format(std::string_view text);

/// Reads the matrix that `nvidia-smi topo -m` prints, and its legend. Throws BadInput with the line of any
/// other word, and of a matrix that is not symmetric.
MachineTopology parse_smi_matrix(std::string_view text, const std::string& file);
/// Reads the XML that NCCL writes to NCCL_TOPO_DUMP_FILE. Throws BadInput with the line of unknown elements and
/// attributes.
MachineTopology parse_nccl_topology(std::string_view text, const std::string& file);
/// Reads one host per line: a bare name (`scontrol show hostnames`), `name slots=8` (Open MPI, DeepSpeed) or
/// `name:8` (MPICH). Throws BadInput with the line of any other word, and of a host listed twice.
std::vector<ListedHost> parse_host_list(std::string_view text, const std::string& file);

/// A cluster of equal machines.
struct ListedCluster {
  std::string name;
  const RentedGpu* device = nullptr;
  bool rails = false;  ///< of machines without a topology, as in ShortForm
  std::optional<MachineTopology> machine{};
  std::vector<ListedHost> hosts{};  ///< all with slots; empty: one machine
};

/// Returns the cluster file. NVLinks and PCIe have the rates of the device's generation; NVSwitches, PCIe
/// switches and CPUs are switches. Machines with NVSwitches only, or without a topology, become `nodes`.
/// Throws BadInput if the topology cannot be of such devices.
std::string to_yaml(const ListedCluster& cluster);

}  // namespace penstock::cluster
