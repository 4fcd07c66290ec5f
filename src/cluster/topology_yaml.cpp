#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "penstock/cluster/machine_topology.hpp"
#include "penstock/core/error.hpp"

namespace penstock::cluster {
namespace {

/// Links of a GPU's generation, B/s in each direction.
struct GpuLinks {
  std::string_view type;
  int capability;  ///< compute capability times ten
  int nvlinks;     ///< of one GPU
  double nvlink;   ///< one NVLink
  double pcie;     ///< 16 lanes of PCIe 3, 4 or 5, with 128 bits in 130
};

/// NVLinks by NVIDIA's data sheets: 300 GB/s of a V100, 600 of an A100, 900 of an H100 and 1800 of a B200 in
/// both directions together. B300 as B200.
constexpr GpuLinks kGpuLinks[] = {
    {"v100", 70, 6, 25e9, 15.75e9}, {"a100", 80, 12, 25e9, 31.5e9},         {"a800", 80, 8, 25e9, 31.5e9},
    {"h100", 90, 18, 25e9, 63e9},   {"h200", 90, 18, 25e9, 63e9},           {"h800", 90, 8, 25e9, 63e9},
    {"h20", 90, 18, 25e9, 63e9},    {"b200", 100, 18, 50e9, 63e9},          {"gb200", 100, 18, 50e9, 63e9},
    {"b300", 103, 18, 50e9, 63e9},  {"gb300", 103, 18, 50e9, 63e9},         {"l40s", 89, 0, 0, 31.5e9},
    {"a10g", 86, 0, 0, 31.5e9},     {"rtx_3090", 86, 4, 14.0625e9, 31.5e9}, {"rtx_4090", 89, 0, 0, 31.5e9}};

/// Between two CPUs; files of topologies do not state it. NCCL's search assumes 6 to 22 GB/s by CPU, and 16 of
/// AMD's.
constexpr double kBetweenCpus = 16e9;

const GpuLinks& links_of(const RentedGpu& device, const std::string& file) {
  const auto found = std::ranges::find(kGpuLinks, device.type, &GpuLinks::type);
  if (found == std::end(kGpuLinks))
    throw core::BadInput({file, 0, ""}, fmt::format("{} is no NVIDIA GPU, as this topology's devices are; "
                                                    "choose another --device",
                                                    device.name));
  return *found;
}

std::string in_gigabytes(double bytes_per_second) {
  return fmt::format("{:.6g}GB/s", bytes_per_second / 1e9);
}

/// Writes a cluster's machines, one after the other.
class TopologyWriter {
 public:
  TopologyWriter(const ListedCluster& cluster, MachineTopology machine)
      : cluster_(cluster), machine_(std::move(machine)), links_(links_of(*cluster.device, machine_.file)) {
    check_capability();
    move_to_switches();
  }

  std::string yaml() const { return all_on_switches() ? as_nodes() : as_links(); }

  /// True if the file has links between CPUs.
  bool joins_cpus() const {
    return !all_on_switches() && uses_pcie() && distinct(first_within(PciPath::same_cpu)).size() > 1;
  }

 private:
  std::size_t size() const { return machine_.gpus.size(); }
  bool uses_pcie() const { return machines() > 1 || !nvlinks_join_all(); }
  [[noreturn]] void fail(std::size_t gpu, const std::string& message) const {
    throw core::BadInput({machine_.file, machine_.gpus[gpu].line, fmt::format("GPU {}", gpu)}, message);
  }

  void check_capability() const {
    for (std::size_t g = 0; g < size(); ++g)
      if (const int stated = machine_.gpus[g].capability; stated > 0 && stated != links_.capability)
        fail(g, fmt::format("it has compute capability {:.1f}, and {} has {:.1f}: choose another --device",
                            stated / 10.0, cluster_.device->name, links_.capability / 10.0));
  }

  int direct(std::size_t gpu) const {
    return std::accumulate(machine_.nvlinks[gpu].begin(), machine_.nvlinks[gpu].end(), 0);
  }

  /// NVLinks of a GPU through NVSwitches, as nvidia-smi counts them: equally many to every other one. Zero if
  /// it has no more links than its type, which then are direct.
  int through_switches(std::size_t gpu) const {
    const int all = direct(gpu) + machine_.gpus[gpu].switch_links;
    if (all <= links_.nvlinks) return 0;
    const auto& row = machine_.nvlinks[gpu];
    const int each = *std::ranges::max_element(row);
    const auto others = static_cast<std::ptrdiff_t>(size()) - 1;
    if (machine_.gpus[gpu].switch_links > 0 || each > links_.nvlinks ||
        std::ranges::count(row, each) != others)
      fail(gpu,
           fmt::format("it has {} NVLinks, and {} has {}: expected no more, or on NVSwitches equally many to "
                       "every GPU",
                       all, cluster_.device->name, links_.nvlinks));
    return each;
  }

  void move_to_switches() {
    std::vector<int> through;
    for (std::size_t g = 0; g < size(); ++g) through.push_back(through_switches(g));
    for (std::size_t g = 0; g < size(); ++g) {
      if (through[g] == 0) continue;
      machine_.gpus[g].switch_links = through[g];
      for (std::size_t peer = 0; peer < size(); ++peer)
        machine_.nvlinks[g][peer] = machine_.nvlinks[peer][g] = 0;
    }
  }

  bool all_on_switches() const {
    for (std::size_t g = 0; g < size(); ++g)
      if (machine_.gpus[g].switch_links == 0 || direct(g) > 0 ||
          machine_.gpus[g].switch_links != machine_.gpus[0].switch_links)
        return false;
    return true;
  }

  std::size_t machines() const { return std::max<std::size_t>(1, cluster_.hosts.size()); }
  /// B/s of a machine's adapters: stated, or those of its type's usual servers.
  double network() const {
    return machine_.network > 0 ? machine_.network
                                : cluster_.device->adapter * 1e6 * static_cast<double>(size());
  }

  std::string as_nodes() const {
    return fmt::format(
        "nodes:\n  - {{count: {}, device: {}, devices: {},\n     link: {{bandwidth: {}, latency: 0.5us}},\n"
        "     uplink: {{bandwidth: {}, latency: 1us}}}}\n",
        machines(), cluster_.device->type, size(),
        in_gigabytes(machine_.gpus[0].switch_links * links_.nvlink), in_gigabytes(network()));
  }

  /// Links and switches in the order in which routes of equal length prefer them.
  struct LinkList {
    std::string machines, links;
    std::vector<std::string> switches;
    void join(const std::string& a, const std::string& b, double bandwidth, const char* latency) {
      links += fmt::format("  - {{from: {}, to: {}, bandwidth: {}, latency: {}}}\n", a, b,
                           in_gigabytes(bandwidth), latency);
    }
    void add_switch(const std::string& name) {
      if (std::ranges::find(switches, name) == switches.end()) switches.push_back(name);
    }
  };

  std::string as_links() const {
    LinkList out;
    for (std::size_t m = 0; m < machines(); ++m) {
      const std::string prefix = cluster_.hosts.empty() ? "" : cluster_.hosts[m].name + ".";
      for (std::size_t g = 0; g < size(); ++g)
        out.machines +=
            fmt::format("  - {{name: {}gpu{}, device: {}, node: {}}}\n", prefix, g, cluster_.device->type, m);
      add_nvlinks(prefix, out);
      if (uses_pcie()) add_pcie(prefix, out);
    }
    return fmt::format(
        "machines:\n{}{}links:\n{}", out.machines,
        out.switches.empty() ? "" : fmt::format("switches: [{}]\n", fmt::join(out.switches, ", ")),
        out.links);
  }

  void add_nvlinks(const std::string& prefix, LinkList& out) const {
    for (std::size_t a = 0; a < size(); ++a)
      for (std::size_t b = a + 1; b < size(); ++b)
        if (const int count = machine_.nvlinks[a][b]; count > 0)
          out.join(gpu_name(prefix, a), gpu_name(prefix, b), count * links_.nvlink, "1us");
    for (std::size_t g = 0; g < size(); ++g) {
      if (machine_.gpus[g].switch_links == 0) continue;
      out.add_switch(prefix + "nvswitch");
      out.join(gpu_name(prefix, g), prefix + "nvswitch", machine_.gpus[g].switch_links * links_.nvlink,
               "0.5us");
    }
  }
  static std::string gpu_name(const std::string& prefix, std::size_t gpu) {
    return fmt::format("{}gpu{}", prefix, gpu);
  }

  /// [gpu] first GPU that is as close, or closer, over PCIe.
  std::vector<std::size_t> first_within(PciPath path) const {
    std::vector<std::size_t> out(size());
    for (std::size_t g = 0; g < size(); ++g) {
      out[g] = g;
      for (std::size_t before = g; before-- > 0;)
        if (machine_.paths[g][before] <= path) out[g] = std::min(out[g], out[before]);
    }
    return out;
  }

  bool nvlinks_join_all() const {
    std::vector<bool> reached(size());
    std::vector<std::size_t> order{0};
    reached[0] = true;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t g = 0; g < size(); ++g)
        if (!reached[g] && (machine_.nvlinks[order[i]][g] > 0 ||
                            (machine_.gpus[order[i]].switch_links > 0 && machine_.gpus[g].switch_links > 0)))
          reached[g] = true, order.push_back(g);
    return order.size() == size();
  }

  double pcie(std::size_t gpu) const {
    return machine_.gpus[gpu].pcie > 0 ? machine_.gpus[gpu].pcie : links_.pcie;
  }

  /// GPUs on PCIe switches, these on CPUs, and CPUs joined with each other. Adapters are where GPUs are: on PCIe
  /// switches, or on the CPU of a GPU that shares none.
  void add_pcie(const std::string& prefix, LinkList& out) const {
    const auto hub = first_within(PciPath::same_switch), cpu = first_within(PciPath::same_cpu);
    const auto cpus = distinct(cpu), hubs = distinct(hub);
    const auto cpu_name = [&](std::size_t gpu) { return numbered(prefix + "cpu", cpus, cpu[gpu]); };
    std::map<std::string, int> below;  // GPUs by the switch above them
    for (std::size_t g = 0; g < size(); ++g) {
      const bool alone = std::ranges::count(hub, hub[g]) == 1;
      const std::string above = alone ? cpu_name(g) : numbered(prefix + "pcie", hubs, hub[g]);
      out.add_switch(cpu_name(g));
      if (!alone && hub[g] == g) out.add_switch(above), out.join(above, cpu_name(g), pcie(g), "1us");
      out.join(gpu_name(prefix, g), above, pcie(g), "1us");
      ++below[above];
    }
    for (std::size_t a = 0; a < cpus.size(); ++a)
      for (std::size_t b = a + 1; b < cpus.size(); ++b)
        out.join(cpu_name(cpus[a]), cpu_name(cpus[b]), kBetweenCpus, "1us");
    if (machines() > 1) add_adapters(below, out);
  }

  /// Every switch with GPUs has its share of the adapters. A point of their own keeps routes within a machine off
  /// the network.
  void add_adapters(const std::map<std::string, int>& below, LinkList& out) const {
    out.add_switch("network");
    for (const auto& [above, gpus] : below) {
      const double share = network() * gpus / static_cast<double>(size());
      out.add_switch(above + ".adapters");
      out.join(above, above + ".adapters", share, "1us");
      out.join(above + ".adapters", "network", share, "0us");
    }
  }
  static std::vector<std::size_t> distinct(std::vector<std::size_t> values) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }
  static std::string numbered(const std::string& name, const std::vector<std::size_t>& all, std::size_t one) {
    return fmt::format("{}{}", name, std::ranges::find(all, one) - all.begin());
  }

  const ListedCluster& cluster_;
  MachineTopology machine_;
  const GpuLinks& links_;
};

/// Hosts without a topology: runs of equal hosts, as in the short form.
std::string as_usual_nodes(const ListedCluster& cluster) {
  const RentedGpu& device = *cluster.device;
  std::string out = "nodes:\n";
  for (std::size_t first = 0; first < cluster.hosts.size();) {
    std::size_t end = first;
    while (end < cluster.hosts.size() && cluster.hosts[end].slots == cluster.hosts[first].slots) ++end;
    const int slots = *cluster.hosts[first].slots;
    if (slots > device.most)
      throw core::BadInput({"", 0, ""},
                           fmt::format("host {}: expected 1 to {} {} per node; found {}",
                                       cluster.hosts[first].name, device.most, device.name, slots));
    out += fmt::format(
        "  - {{count: {}, device: {}, devices: {},{}\n     link: {},\n     uplink: {{bandwidth: "
        "{}MB/s, latency: 1us}}}}\n",
        end - first, device.type, slots, cluster.rails ? " rails: true," : "", device.link,
        cluster.rails ? device.adapter : device.adapter * slots);
    first = end;
  }
  return out;
}

std::string comment_of(const ListedCluster& cluster, bool assumes) {
  std::string out = fmt::format("# {}.\n# {}.\n", cluster.device->summary, cluster.device->source);
  if (assumes)
    out += fmt::format("# No file states the bandwidth between CPUs: {} is assumed.\n",
                       in_gigabytes(kBetweenCpus));
  if (!cluster.hosts.empty())
    out += fmt::format("# {} hosts, from {} to {} in the order of their list.\n", cluster.hosts.size(),
                       cluster.hosts.front().name, cluster.hosts.back().name);
  return out;
}

}  // namespace

std::string to_yaml(const ListedCluster& cluster) {
  const bool assumes = cluster.machine && TopologyWriter(cluster, *cluster.machine).joins_cpus();
  const std::string shape =
      cluster.machine ? TopologyWriter(cluster, *cluster.machine).yaml() : as_usual_nodes(cluster);
  return fmt::format("{}name: {}\ndevice_types:\n  {}: {}\n{}", comment_of(cluster, assumes), cluster.name,
                     cluster.device->type, cluster.device->sheet, shape);
}

}  // namespace penstock::cluster
