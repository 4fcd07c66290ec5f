// penstock import topo: what tools print about machines and their links becomes a cluster file.
#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "import_command.hpp"
#include "penstock/cluster/cluster.hpp"
#include "penstock/cluster/machine_topology.hpp"
#include "penstock/collective/disjoint_rings.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/plain_text.hpp"

namespace penstock::cli {
namespace {

struct ImportTopoFlags {
  std::vector<std::string> files;
  std::string device, output;
  int per_node = 0;
};

[[noreturn]] void refuse(const std::string& file, int line, const std::string& message) {
  throw core::BadInput({file, line, ""}, message);
}

/// Content of all files: at most one topology and one list of hosts.
struct TopologyFiles {
  std::optional<cluster::MachineTopology> machine;
  std::vector<cluster::ListedHost> hosts;
  std::string hosts_file;

  void read(const std::string& file) {
    const std::string text = core::read_file(file);
    core::check_plain_text(text, file);
    const cluster::TopologyFormat format = cluster::topology_format(text);
    if (format == cluster::TopologyFormat::host_list) {
      if (!hosts.empty()) refuse(file, 0, fmt::format("a second list of hosts beside {}", hosts_file));
      hosts = cluster::parse_host_list(text, file);
      hosts_file = file;
      return;
    }
    if (machine) refuse(file, 0, fmt::format("a second topology beside {}", machine->file));
    machine = format == cluster::TopologyFormat::nccl_xml ? cluster::parse_nccl_topology(text, file)
                                                          : cluster::parse_smi_matrix(text, file);
  }
};

/// The device's type by name, or by the short form of a machine, which also states how many it has.
cluster::ShortForm machine_form(const std::string& device) {
  const auto machine = cluster::parse_short_form(device);
  cluster::ShortForm form = machine ? *machine : *cluster::parse_short_form("1x" + device);
  if (form.nodes > 1)
    throw core::BadInput(
        fmt::format("--device {}: expected one machine, as in 8x{}; a list of hosts states how "
                    "many there are",
                    device, form.type->name));
  if (!machine) form.devices = 0;
  return form;
}

/// Gives every host its number of devices: its slots, those of the topology, or of the command line.
void fill_slots(TopologyFiles& files, int per_node) {
  if (files.machine) {
    const int gpus = static_cast<int>(files.machine->gpus.size());
    if (per_node > 0 && per_node != gpus)
      refuse(files.machine->file, 0,
             fmt::format("it has {} GPUs, and the command line states {}", gpus, per_node));
    per_node = gpus;
  }
  for (cluster::ListedHost& host : files.hosts) {
    if (!host.slots && per_node == 0)
      refuse(files.hosts_file, host.line,
             fmt::format("{} states no slots: add --gpus-per-node N", host.name));
    if (host.slots && per_node > 0 && *host.slots != per_node)
      refuse(files.hosts_file, host.line,
             fmt::format("{} has {} slots; expected {}, as every machine", host.name, *host.slots, per_node));
    if (!host.slots) host.slots = per_node;
  }
}

/// One line about the first machine's direct cables.
std::string rings_line(const cluster::Cluster& cluster) {
  std::vector<core::DeviceId> group;
  for (std::size_t d = 0;
       d < cluster.size() && cluster.node(core::DeviceId(d)) == cluster.node(core::DeviceId(0)); ++d)
    group.emplace_back(d);
  const auto found = collective::disjoint_rings(cluster, group);
  if (found.rings.empty()) return "";
  return fmt::format(
      "{} rings over direct cables of a machine, {:.4g} GB/s together; the smallest cut has {:.4g}\n",
      found.rings.size(), found.bandwidth() * 1e-9, found.cut * 1e-9);
}

/// Stem of a file's name, with an underscore for what YAML may read as more than a name.
std::string cluster_name(const std::string& file) {
  std::string out = std::filesystem::path(file).stem().string();
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
  return out;
}

core::ExitCode run(const ImportTopoFlags& flags) {
  TopologyFiles files;
  for (const std::string& file : flags.files) files.read(file);
  const cluster::ShortForm form = machine_form(flags.device);
  if (form.devices > 0 && flags.per_node > 0 && form.devices != flags.per_node)
    throw core::BadInput(
        fmt::format("--device {} and --gpus-per-node {} differ", flags.device, flags.per_node));
  if (form.rails && files.machine)
    refuse(files.machine->file, 0,
           fmt::format("--device {}: rails are for machines without a topology", flags.device));
  fill_slots(files, std::max(form.devices, flags.per_node));
  const std::string named = flags.output.empty() ? flags.files.front() : flags.output;
  const std::string text = cluster::to_yaml(
      {cluster_name(named), form.type, form.rails, std::move(files.machine), std::move(files.hosts)});
  const cluster::Cluster read = cluster::parse_cluster(text, named);
  if (flags.output.empty()) {
    print(text);
    return core::ExitCode::done;
  }
  core::write_file(flags.output, text);
  const int nodes = read.node(core::DeviceId(read.size() - 1)) + 1;
  print(fmt::format("{}: {} {} in {} {}\n{}", flags.output, read.size(), form.type->name, nodes,
                    nodes == 1 ? "machine" : "machines", rings_line(read)));
  return core::ExitCode::done;
}

}  // namespace

void add_import_topo(CLI::App& import, Action& action) {
  auto* command =
      import.add_subcommand("topo", "Read the links of a machine and lists of hosts into a cluster file.");
  command->footer(
      "Reads what `nvidia-smi topo -m` prints, the XML that NCCL writes to NCCL_TOPO_DUMP_FILE, hostfiles of MPI "
      "and DeepSpeed (host slots=8), and lists of one host per line, as scontrol show hostnames prints them. A "
      "topology and a list of hosts together are a cluster of such machines. Words that are not known are refused "
      "by file and line.\n\n"
      "Examples:\n"
      "  nvidia-smi topo -m > topo.txt\n"
      "  penstock import topo topo.txt --device V100-32 -o dgx1.yaml\n"
      "  scontrol show hostnames $SLURM_JOB_NODELIST > hosts.txt\n"
      "  penstock import topo topo.txt hosts.txt --device V100-32 -o cluster.yaml\n"
      "  penstock import topo hosts.txt --device 8xH100 -o cluster.yaml\n"
      "  penstock plan --model llama3-8b --cluster cluster.yaml");
  auto flags = std::make_shared<ImportTopoFlags>();
  command->add_option("TOPOLOGY", flags->files, "a topology, a list of hosts, or both")
      ->required()
      ->expected(1, 2)
      ->type_name("FILE");
  command
      ->add_option(
          "--device", flags->device,
          "type of the GPUs, which the files do not state (penstock clusters): V100-32; or a machine in "
          "short form: 8xH100")
      ->required()
      ->type_name("NAME|NxNAME");
  command->add_option("--gpus-per-node", flags->per_node, "GPUs of each host, for lists without slots")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N");
  command->add_option("-o,--output", flags->output, "the cluster file (.yaml); default: print")
      ->type_name("FILE");
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
