#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "penstock/cluster/machine_topology.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/core/spelling.hpp"
#include "text_lines.hpp"
#include "xml_elements.hpp"

namespace penstock::cluster {
namespace {

/// Attributes that NCCL writes, by element; those of identity change nothing here.
const std::map<std::string, std::vector<std::string>>& nccl_attributes() {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"system", {"version"}},
      {"cpu", {"numaid", "affinity", "arch", "vendor", "familyid", "modelid", "host_hash"}},
      {"pci",
       {"busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed",
        "link_width"}},
      {"gpu", {"dev", "sm", "rank", "gdr"}},
      {"nvlink", {"target", "count", "tclass"}},
      {"nic", {}},
      {"net",
       {"name", "dev", "speed", "port", "latency", "guid", "maxconn", "gdr", "coll", "net", "gin", "keep"}}};
  return all;
}

/// Place of a GPU in the tree of PCIe.
struct PciPlace {
  int number = 0;   ///< attribute dev
  std::string bus;  ///< bus id, lower case
  std::size_t cpu = 0;
  std::vector<int> bridges;  ///< lines of the PCIe bridges above
  MachineTopology::GpuNode gpu;
  std::vector<const XmlElement*> nvlinks;
};

class NcclReader {
 public:
  NcclReader(const XmlElement& root, const std::string& file) : file_(file) {
    if (root.name != "system") fail(root, "", fmt::format("expected <system>; found <{}>", root.name));
    check(root);
    visit(root);
    if (gpus_.empty())
      fail(root, "", "there is no <gpu>: expected what NCCL writes to NCCL_TOPO_DUMP_FILE while it runs");
    std::ranges::stable_sort(gpus_, {}, &PciPlace::number);
  }

  MachineTopology topology() const {
    const std::size_t n = gpus_.size();
    MachineTopology out(file_, n);
    out.network = network_;
    for (std::size_t a = 0; a < n; ++a) {
      out.gpus[a] = gpus_[a].gpu;
      for (std::size_t b = 0; b < n; ++b)
        if (a != b) out.paths[a][b] = path(gpus_[a], gpus_[b]);
      for (const XmlElement* link : gpus_[a].nvlinks) add_nvlink(*link, a, out);
    }
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (out.nvlinks[a][b] != out.nvlinks[b][a])
          throw core::BadInput({file_, gpus_[a].gpu.line, "nvlink"},
                               fmt::format("GPUs {} and {} count different NVLinks to each other",
                                           gpus_[a].number, gpus_[b].number));
    return out;
  }

 private:
  [[noreturn]] void fail(const XmlElement& at, const std::string& key, const std::string& message) const {
    throw core::BadInput({file_, at.line, key}, message);
  }
  const std::string* find(const XmlElement& of, std::string_view key) const {
    for (const auto& [name, value] : of.attributes)
      if (name == key) return &value;
    return nullptr;
  }
  const std::string& text(const XmlElement& of, const std::string& key) const {
    const std::string* value = find(of, key);
    if (value == nullptr) fail(of, key, fmt::format("<{}> needs it", of.name));
    return *value;
  }
  int number(const XmlElement& of, const std::string& key, int most) const {
    const auto value = whole_number(text(of, key));
    if (!value || *value > most)
      fail(of, key, fmt::format("expected 0 to {}; found '{}'", most, text(of, key)));
    return *value;
  }

  void check(const XmlElement& element) const {
    const auto known = nccl_attributes().find(element.name);
    if (known == nccl_attributes().end())
      fail(element, "",
           fmt::format("unknown element <{}>: expected system, cpu, pci, gpu, nvlink, nic or net",
                       element.name));
    for (const auto& attribute : element.attributes)
      if (std::ranges::find(known->second, attribute.first) == known->second.end())
        fail(element, attribute.first,
             fmt::format("unknown attribute of <{}>; {}", element.name,
                         core::did_you_mean(attribute.first, known->second)));
  }

  /// Visits an element's children with the CPU and the PCIe devices above them.
  void visit(const XmlElement& element) {
    for (const XmlElement& child : element.children) {
      check(child);
      if (child.name == "cpu") ++cpu_;
      if (child.name == "gpu") add_gpu(child);
      if (child.name == "net") add_net(child);
      if (child.name == "pci") pci_.push_back(&child);
      visit(child);
      if (child.name == "pci") pci_.pop_back();
    }
  }

  void add_gpu(const XmlElement& gpu) {
    if (pci_.empty()) fail(gpu, "", "expected <gpu> within <pci>");
    PciPlace place{number(gpu, "dev", 1023), core::lower_case(text(*pci_.back(), "busid")), cpu_, {}, {}, {}};
    if (std::ranges::find(gpus_, place.number, &PciPlace::number) != gpus_.end())
      fail(gpu, "dev", fmt::format("GPU {} is there twice: expected one machine", place.number));
    place.gpu.line = gpu.line;
    if (find(gpu, "sm")) place.gpu.capability = number(gpu, "sm", 999);
    place.gpu.pcie = pcie_rate(*pci_.back());
    for (const XmlElement* bridge : pci_)
      if (bridge != pci_.back()) place.bridges.push_back(bridge->line);
    for (const XmlElement& child : gpu.children)
      if (child.name == "nvlink") place.nvlinks.push_back(&child);
    gpus_.push_back(std::move(place));
  }

  /// B/s of link_speed="16.0 GT/s PCIe" and link_width="16", with 128 bits in 130 from 8 GT/s on. Virtual
  /// machines state no speed.
  double pcie_rate(const XmlElement& pci) const {
    const std::string *speed = find(pci, "link_speed"), *width = find(pci, "link_width");
    if (speed == nullptr || width == nullptr || speed->empty() || speed->starts_with("Unknown")) return 0;
    const auto words = words_of(*speed);
    double transfers = 0;
    const auto [end, fault] = std::from_chars(words[0].data(), words[0].data() + words[0].size(), transfers);
    if (fault != std::errc() || *end != 0 || words.size() < 2 || words[1] != "GT/s" ||
        !(transfers > 0 && transfers < 1000))
      fail(pci, "link_speed", fmt::format("expected GT/s; found '{}'", *speed));
    return transfers * 1e9 / 8 * (transfers < 8 ? 0.8 : 128.0 / 130) * number(pci, "link_width", 64);
  }

  /// Adapters have megabits per second. Two ports of one adapter count as two.
  void add_net(const XmlElement& net) {
    constexpr int kMostMegabits = 100'000'000;
    const std::string* port = find(net, "port");
    if (adapters_.emplace(text(net, "name"), port ? *port : "").second)
      network_ += number(net, "speed", kMostMegabits) * 1e6 / 8;
  }

  static PciPath path(const PciPlace& a, const PciPlace& b) {
    if (a.cpu != b.cpu) return PciPath::across_cpus;
    const bool shared = std::ranges::find_first_of(a.bridges, b.bridges) != a.bridges.end();
    return shared ? PciPath::same_switch : PciPath::same_cpu;
  }

  /// PCI classes of targets: 0x03 a GPU, 0x068000 an NVSwitch.
  void add_nvlink(const XmlElement& link, std::size_t from, MachineTopology& out) const {
    const int count = number(link, "count", 64);
    const std::string target = core::lower_case(text(link, "target"));
    const auto gpu = std::ranges::find(gpus_, target, &PciPlace::bus);
    const std::string kind = find(link, "tclass") ? text(link, "tclass") : "0x03";
    if (gpu != gpus_.end())
      out.nvlinks[from][static_cast<std::size_t>(gpu - gpus_.begin())] += count;
    else if (kind == "0x068000")
      out.gpus[from].switch_links += count;
    else
      fail(link, "target",
           fmt::format("'{}' is neither a GPU of the file nor an NVSwitch (tclass 0x068000)", target));
  }

  const std::string& file_;
  std::vector<PciPlace> gpus_;
  std::vector<const XmlElement*> pci_;  ///< from the CPU down
  std::size_t cpu_ = 0;                 ///< number of CPUs so far
  double network_ = 0;
  std::set<std::pair<std::string, std::string>> adapters_;  ///< {name, port}
};

}  // namespace

MachineTopology parse_nccl_topology(std::string_view text, const std::string& file) {
  return NcclReader(parse_xml(text, file), file).topology();
}

}  // namespace penstock::cluster
