// Machines as nvidia-smi and NCCL print them, and lists of hosts, as clusters.

#include "penstock/cluster/machine_topology.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "support/cables.hpp"
#include "support/near.hpp"

using namespace penstock;
using cluster::Cluster;
using cluster::ListedHost;
using cluster::MachineTopology;
using cluster::PciPath;
using core::DeviceId;

namespace {

const cluster::RentedGpu& device(const std::string& name) {
  return *std::ranges::find(cluster::rented(), name, &cluster::RentedGpu::name);
}

Cluster built(const std::string& type, std::optional<MachineTopology> machine,
              std::vector<ListedHost> hosts = {}) {
  return cluster::parse_cluster(
      cluster::to_yaml({"built", &device(type), false, std::move(machine), std::move(hosts)}), "built.yaml");
}
Cluster of_matrix(const std::string& type, const std::string& text, std::vector<ListedHost> hosts = {}) {
  return built(type, cluster::parse_smi_matrix(text, "topo.txt"), std::move(hosts));
}

/// GB/s of the route between two devices.
double speed(const Cluster& cluster, std::size_t from, std::size_t to) {
  return cluster.route(DeviceId(from), DeviceId(to)).bandwidth.value() / 1e9;
}
std::size_t links(const Cluster& cluster, std::size_t from, std::size_t to) {
  return cluster.route(DeviceId(from), DeviceId(to)).links.size();
}

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "read";
}
std::string matrix_refusal(const std::string& text, const std::string& type = "V100-32") {
  return refusal([&] { of_matrix(type, text); });
}
std::string xml_refusal(const std::string& text, const std::string& type = "A100-80") {
  return refusal([&] { built(type, cluster::parse_nccl_topology(text, "topo.xml")); });
}
std::string hosts_refusal(const std::string& text) {
  return refusal([&] { cluster::parse_host_list(text, "hosts"); });
}

constexpr const char* kPairs =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV12\tSYS\tSYS\t0-23\t0\n"
    "GPU1\tNV12\t X \tSYS\tSYS\t0-23\t0\n"
    "GPU2\tSYS\tSYS\t X \tNV12\t24-47\t1\n"
    "GPU3\tSYS\tSYS\tNV12\t X \t24-47\t1\n";

/// A matrix of equal entries between so many GPUs.
std::string equal_matrix(std::size_t gpus, const std::string& entry) {
  std::string header, rows;
  for (std::size_t a = 0; a < gpus; ++a) {
    header += "\tGPU" + std::to_string(a);
    rows += "GPU" + std::to_string(a);
    for (std::size_t b = 0; b < gpus; ++b) rows += "\t" + (a == b ? "X" : entry);
    rows += "\n";
  }
  return header + "\n" + rows;
}

/// Two GPUs under one PCIe switch of the first CPU, and one under the second. `links`: elements of each GPU.
std::string three_gpus(const std::array<std::string, 3>& links) {
  const auto gpu = [&](std::size_t g) {
    return "<pci busid=\"0000:0" + std::to_string(g + 1) +
           ":00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n<gpu dev=\"" +
           std::to_string(g) + "\" sm=\"80\" rank=\"" + std::to_string(g) + "\" gdr=\"1\">" + links[g] +
           "</gpu></pci>\n";
  };
  return "<?xml version=\"1.0\"?>\n<!-- a dump -->\n<system version=\"1\">\n<cpu numaid=\"0\">\n"
         "<pci busid=\"0000:00:00.0\" class=\"0x060400\">\n" +
         gpu(0) + gpu(1) +
         "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\" port=\"1\"/></nic>\n</pci>\n</cpu>\n"
         "<cpu numaid=\"1\">\n" +
         gpu(2) +
         "<nic><net name=\"mlx5_1\" dev=\"1\" speed=\"200000\" port=\"1\"/></nic>\n</cpu>\n</system>\n";
}

}  // namespace

TEST_CASE("the matrix of a DGX-1 is its mesh of NVLinks") {
  const auto mesh = support::hybrid_cube_mesh(1);
  std::string text = "\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tCPU Affinity\x1b[0m\n";
  for (std::size_t a = 0; a < 8; ++a) {
    text += "GPU" + std::to_string(a);
    for (std::size_t b = 0; b < 8; ++b) {
      const auto cable = std::ranges::find_if(mesh, [&](const support::CableEnds& each) {
        return each.a == std::min(a, b) && each.b == std::max(a, b);
      });
      text += a == b ? "\t X " : cable == mesh.end() ? "\tSYS" : cable->bandwidth == 1 ? "\tNV1" : "\tNV2";
    }
    text += a < 2 ? "\tPIX\t0-19,40-59\n" : "\tSYS\t0-19,40-59\n";
  }
  text +=
      "mlx5_0\tPIX\tPIX\tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\t X \n\nLegend:\n\n  X    = Self\n"
      "  SYS  = Connection traversing PCIe\n  NV#  = Connection traversing a bonded set of # NVLinks\n\n"
      "NIC Legend:\n\n  NIC0: mlx5_0\n";
  const Cluster read = of_matrix("V100-32", text);
  const Cluster expected = support::cabled_cluster(8, support::hybrid_cube_mesh(25e9));
  REQUIRE(read.size() == 8);
  CHECK(read.links().size() == expected.links().size());
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t b = 0; b < 8; ++b)
      if (a != b) {
        CHECK(links(read, a, b) == links(expected, a, b));
        CHECK(speed(read, a, b) == support::near(speed(expected, a, b)));
      }
}

TEST_CASE("NVLinks are direct as far as a GPU has them, else through NVSwitches") {
  // 3 x 4 of an A100's 12 links are cables. 3 x 12 are a switch, at 300 GB/s from each GPU.
  const Cluster cables = of_matrix("A100-80", equal_matrix(4, "NV4"));
  CHECK(links(cables, 0, 3) == 1);
  CHECK(speed(cables, 0, 3) == support::near(100));
  const Cluster on_switch = of_matrix("A100-80", equal_matrix(4, "NV12"));
  CHECK(links(on_switch, 0, 3) == 2);
  CHECK(speed(on_switch, 0, 3) == support::near(300));
  CHECK(speed(of_matrix("H100", equal_matrix(8, "NV18")), 0, 7) == support::near(450));
  CHECK(speed(of_matrix("B200", equal_matrix(8, "NV18")), 0, 7) == support::near(900));
  CHECK(speed(of_matrix("RTX3090", equal_matrix(2, "NV4")), 0, 1) == support::near(56.25));
  CHECK(
      matrix_refusal(equal_matrix(4, "NV7")) ==
      "topo.txt:2: GPU 0: it has 21 NVLinks, and V100-32 has 6: expected no more, or on NVSwitches equally many "
      "to every GPU");
  CHECK(matrix_refusal(equal_matrix(2, "NV1"), "L40S").find("L40S has 0") != std::string::npos);
  CHECK(matrix_refusal(equal_matrix(2, "PIX"), "MI300X").find("MI300X is no NVIDIA GPU") !=
        std::string::npos);
}

TEST_CASE("pairs with NVLink reach each other over PCIe and their CPUs") {
  const Cluster read = of_matrix("A100-80", kPairs);
  CHECK(links(read, 0, 1) == 1);
  CHECK(speed(read, 0, 1) == support::near(300));
  CHECK(links(read, 1, 2) == 3);  // GPU, CPU, CPU, GPU
  CHECK(speed(read, 1, 2) == support::near(16));
}

TEST_CASE("an adapter or the CPUs near two GPUs state the path that NVLink hides") {
  const auto read = cluster::parse_smi_matrix(
      "     GPU0 GPU1 GPU2 NIC0 CPU Affinity\n"
      "GPU0 X    NV4  NV4  PIX  0-15\n"
      "GPU1 NV4  X    NV4  PXB  16-31\n"
      "GPU2 NV4  NV4  X    SYS  16-31\n"
      "NIC0 PIX  PXB  SYS  X\n",
      "topo.txt");
  CHECK(read.paths[0][1] == PciPath::same_switch);
  CHECK(read.paths[1][2] == PciPath::same_cpu);
  CHECK(read.paths[0][2] == PciPath::across_cpus);
}

TEST_CASE("GPUs without NVLink hang on PCIe switches and CPUs") {
  const Cluster read = of_matrix("L40S",
                                 "     GPU0 GPU1 GPU2 GPU3 GPU4 CPU Affinity NUMA Affinity GPU NUMA ID\n"
                                 "GPU0 X    PIX  NODE NODE SYS  0-15 0 N/A\n"
                                 "GPU1 PIX  X    NODE NODE SYS  0-15 0 N/A\n"
                                 "GPU2 NODE NODE X    PHB  SYS  0-15 0 N/A\n"
                                 "GPU3 NODE NODE PHB  X    SYS  0-15 0 N/A\n"
                                 "GPU4 SYS  SYS  SYS  SYS  X    16-31 1 N/A\n");
  CHECK(links(read, 0, 1) == 2);
  CHECK(speed(read, 0, 1) == support::near(31.5));
  CHECK(links(read, 2, 3) == 2);
  CHECK(links(read, 0, 2) == 3);
  CHECK(links(read, 2, 4) == 3);
  CHECK(speed(read, 2, 4) == support::near(16));
  CHECK(links(read, 0, 4) == 4);
}

TEST_CASE("other words of a matrix are refused with their line") {
  CHECK(matrix_refusal("") == "topo.txt:1: expected the header of a matrix, as nvidia-smi topo -m prints it");
  CHECK(matrix_refusal("$ nvidia-smi topo -m\n" + equal_matrix(2, "PIX"))
            .find("topo.txt:1: expected the columns") == 0);
  CHECK(matrix_refusal(equal_matrix(2, "XGMI")).find("topo.txt:2: unknown connection 'XGMI'") == 0);
  CHECK(matrix_refusal(equal_matrix(2, "NVX")).find("topo.txt:2: unknown connection 'NVX'") == 0);
  CHECK(matrix_refusal(equal_matrix(2, "X")).find("topo.txt:2: expected X on the diagonal only") == 0);
  CHECK(matrix_refusal("GPU0 GPU1\nGPU0 X PIX\n") == "topo.txt:3: expected the row of GPU1");
  CHECK(matrix_refusal("GPU0 GPU1\nGPU0 X\nGPU1 PIX X\n").find("topo.txt:2: expected 2 entries") == 0);
  CHECK(matrix_refusal("GPU0 GPU1\nGPU0 X PIX\nGPU1 SYS X\n") ==
        "topo.txt:3: GPU0 and GPU1 are connected differently in their two rows");
  CHECK(matrix_refusal("GPU0 GPU1\nGPU0 X NV1\nGPU1 NV2 X\n").find("topo.txt:3:") == 0);
  CHECK(matrix_refusal(equal_matrix(2, "PIX") + "root@host:~#\n") ==
        "topo.txt:4: 'root@host:~#' is neither a row of the matrix nor of its legend");
  CHECK(matrix_refusal("GPU0 CPU Binding\nGPU0 X 0-3\n").find("found 'CPU Binding'") != std::string::npos);
}

TEST_CASE("NCCL's XML gives NVLinks, PCIe and adapters") {
  const std::string none;
  const auto plain = cluster::parse_nccl_topology(three_gpus({none, none, none}), "topo.xml");
  CHECK(plain.paths[0][1] == PciPath::same_switch);
  CHECK(plain.paths[1][2] == PciPath::across_cpus);
  CHECK(plain.gpus[2].pcie == support::near(16e9 / 8 * 16 * 128 / 130));
  CHECK(plain.network == support::near(50e9));
  // A pair by each other's bus ids, and switches that have several of a GPU's links.
  const auto to = [](const std::string& target, int count, const std::string& kind) {
    return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" + kind +
           "\"/>";
  };
  const Cluster pair =
      built("A100-80", cluster::parse_nccl_topology(three_gpus({to("0000:02:00.0", 12, "0x030200"),
                                                                to("0000:01:00.0", 12, "0x030200"), none}),
                                                    "topo.xml"));
  CHECK(links(pair, 0, 1) == 1);
  CHECK(speed(pair, 0, 1) == support::near(300));
  CHECK(speed(pair, 0, 2) == support::near(16));
  const std::string both = to("0000:c4:00.0", 5, "0x068000") + to("0000:c5:00.0", 7, "0x068000");
  const Cluster switched =
      built("A100-80", cluster::parse_nccl_topology(three_gpus({both, both, both}), "topo.xml"));
  CHECK(links(switched, 0, 2) == 2);
  CHECK(speed(switched, 0, 2) == support::near(300));
  CHECK(switched.links().back().bandwidth.value() == support::near(50e9));  // of both adapters
}

TEST_CASE("other words of NCCL's XML are refused with their line") {
  const std::string plain = three_gpus({"", "", ""});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = plain;
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(xml_refusal(plain) == "read");
  CHECK(xml_refusal(plain, "H100") ==
        "topo.xml:7: GPU 0: it has compute capability 8.0, and H100 has 9.0: choose another --device");
  CHECK(xml_refusal(with("<nic>", "<xgmi/><nic>")).find("topo.xml:10: unknown element <xgmi>") == 0);
  CHECK(xml_refusal(with("numaid", "numa")).find("topo.xml:4: numa: unknown attribute of <cpu>") == 0);
  CHECK(xml_refusal(with("dev=\"1\" sm", "dev=\"0\" sm")).find("topo.xml:9: dev: GPU 0 is there twice") == 0);
  CHECK(xml_refusal(with("16.0 GT/s", "fast")).find("topo.xml:6: link_speed: expected GT/s") == 0);
  CHECK(xml_refusal(with("speed=\"200000\"", "speed=\"-1\"")).find("topo.xml:10: speed: expected 0 to") == 0);
  CHECK(xml_refusal(with("</cpu>", "</cpus>")) == "topo.xml:12: </cpus> closes <cpu> of line 4");
  CHECK(xml_refusal(with("<nic>", "text<nic>")) == "topo.xml:10: expected an element");
  CHECK(xml_refusal(with("</system>", "")).find("expected an element") != std::string::npos);
  CHECK(xml_refusal("<graphs/>") == "topo.xml:1: expected <system>; found <graphs>");
  CHECK(xml_refusal("<system version=\"1\"/>").find("topo.xml:1: there is no <gpu>") == 0);
  CHECK(xml_refusal(three_gpus({"<nvlink target=\"0000:02:00.0\" count=\"4\"/>", "", ""}))
            .find("count different NVLinks") != std::string::npos);
  CHECK(xml_refusal(three_gpus({"<nvlink target=\"0004:04:00.0\" count=\"4\" tclass=\"0x068001\"/>", "", ""}))
            .find("topo.xml:7: target: '0004:04:00.0' is neither a GPU") == 0);
  std::string deep = "<system>";
  for (int i = 0; i < 80; ++i) deep += "<cpu>";
  CHECK(xml_refusal(deep).find("nested more than 64 deep") != std::string::npos);
}

TEST_CASE("lists of hosts of Open MPI, DeepSpeed, MPICH and Slurm are read") {
  const auto hosts = cluster::parse_host_list(
      "# workers\nnode-1 slots=8\nnode-2.cluster slots=4 max_slots=16  # half\n10.0.0.3:2\n\nlast\n",
      "hosts");
  REQUIRE(hosts.size() == 4);
  CHECK(hosts[0].name == "node-1");
  CHECK(hosts[0].slots == 8);
  CHECK(hosts[1].slots == 4);
  CHECK(hosts[2].name == "10.0.0.3");
  CHECK(hosts[2].slots == 2);
  CHECK(!hosts[3].slots);
  CHECK(hosts[3].line == 6);
  CHECK(hosts_refusal("\n# none\n") == "hosts: expected a host in a line; the list is empty");
  CHECK(hosts_refusal("a slots=8\nb cpus=4\n") ==
        "hosts:2: unknown word 'cpus=4'; expected slots=N or max_slots=N behind a host");
  CHECK(hosts_refusal("a slots=0\n") == "hosts:1: expected 1 to 1024 slots; found '0'");
  CHECK(hosts_refusal("a:8 slots=4\n") == "hosts:1: a has two numbers of slots");
  CHECK(hosts_refusal("a\nb\na\n") == "hosts:3: host a is listed twice, first in line 1");
  CHECK(hosts_refusal("n[1-4]\n") ==
        "hosts:1: 'n[1-4]' is a compressed list: expand it with scontrol show hostnames");
  CHECK(hosts_refusal("a,b\n") == "hosts:1: 'a,b' is not a host's name");
}

TEST_CASE("hosts without a topology are usual nodes, also of several sizes") {
  const Cluster read = built("H100", {}, {{"a", 8, 1}, {"b", 8, 2}, {"c", 4, 3}});
  CHECK(read.size() == 20);
  CHECK(read.node(DeviceId(19)) == 2);
  const Cluster usual = cluster::load_cluster("8xH100x2");
  CHECK(read.route(DeviceId(0), DeviceId(8)).bandwidth == usual.route(DeviceId(0), DeviceId(8)).bandwidth);
  CHECK(refusal([] {
          built("H100", {}, {{"a", 9, 1}});
        }) == "host a: expected 1 to 8 H100 per node; found 9");
}

TEST_CASE("hosts with a topology are machines with its links, on one network") {
  const Cluster read = of_matrix("A100-80", kPairs, {{"a", 4, 1}, {"b", 4, 2}});
  REQUIRE(read.size() == 8);
  CHECK(read.points()[4] == "b.gpu0");
  CHECK(read.node(DeviceId(4)) == 1);
  CHECK(speed(read, 4, 5) == support::near(300));
  CHECK(speed(read, 4, 6) == support::near(16));  // within the machine, not over the network
  CHECK(links(read, 4, 6) == 3);
  CHECK(links(read, 0, 4) == 6);
  CHECK(speed(read, 0, 4) == support::near(31.5));  // PCIe, before adapters of 50 GB/s for two GPUs
  const Cluster nodes = of_matrix("A100-80", equal_matrix(4, "NV12"), {{"a", 4, 1}, {"b", 4, 2}});
  CHECK(nodes.size() == 8);
  CHECK(speed(nodes, 0, 4) == support::near(100));  // four adapters of 25 GB/s
}

TEST_CASE("formats differ in their first words") {
  CHECK(cluster::topology_format("\n <system/>") == cluster::TopologyFormat::nccl_xml);
  CHECK(cluster::topology_format(equal_matrix(2, "PIX")) == cluster::TopologyFormat::smi_matrix);
  CHECK(cluster::topology_format("GPU-node1\nnode2\n") == cluster::TopologyFormat::host_list);
}
