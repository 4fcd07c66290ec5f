#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "penstock/cluster/machine_topology.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"
#include "text_lines.hpp"

namespace penstock::cluster {
namespace {

using MatrixWords = std::vector<std::string>;

/// Entry between two GPUs.
struct SmiEntry {
  int nvlinks = 0;
  PciPath path = PciPath::across_cpus;
};

/// SOC is the word for SYS in drivers before 2017.
const std::map<std::string_view, PciPath>& smi_paths() {
  static const std::map<std::string_view, PciPath> all = {
      {"PIX", PciPath::same_switch}, {"PXB", PciPath::same_switch}, {"PHB", PciPath::same_cpu},
      {"NODE", PciPath::same_cpu},   {"SYS", PciPath::across_cpus}, {"SOC", PciPath::across_cpus}};
  return all;
}

class SmiMatrix {
 public:
  SmiMatrix(std::string_view text, const std::string& file) : lines_(lines_of_words(text)), file_(file) {}

  MachineTopology read() {
    read_header();
    for (const std::string& column : columns_) {
      if (next_ == lines_.size() || lines_[next_].empty() || lines_[next_].front() != column)
        fail(fmt::format("expected the row of {}", column));
      read_row(lines_[next_++]);
    }
    read_legend();
    return topology();
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::optional<int> line = {}) const {
    throw core::BadInput({file_, line.value_or(static_cast<int>(std::min(next_ + 1, lines_.size()))), ""},
                         message);
  }

  /// The first line that is not blank: devices, then columns of affinity.
  void read_header() {
    while (next_ < lines_.size() && lines_[next_].empty()) ++next_;
    if (next_ == lines_.size()) fail("expected the header of a matrix, as nvidia-smi topo -m prints it");
    std::string affinity;
    for (const std::string& word : lines_[next_]) {
      if (!affinity.empty() || word == "CPU")
        affinity += word + " ";
      else
        columns_.push_back(word);
      if (affinity.empty()) gpus_ += names_gpu(word);
    }
    constexpr std::array kAffinities = {"", "CPU Affinity ", "CPU Affinity NUMA Affinity ",
                                        "CPU Affinity NUMA Affinity GPU NUMA ID "};
    if (std::ranges::find(kAffinities, affinity) == kAffinities.end())
      fail(fmt::format("expected the columns CPU Affinity, NUMA Affinity and GPU NUMA ID; found '{}'",
                       affinity.substr(0, affinity.size() - 1)));
    if (gpus_ == 0 || !std::all_of(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(gpus_),
                                   [](const std::string& word) { return names_gpu(word); }))
      fail("expected the columns GPU0, GPU1, ... first");
    ++next_;
  }

  /// One entry per column; affinity may follow.
  void read_row(const MatrixWords& row) {
    const std::size_t device = rows_;
    if (row.size() < columns_.size() + 1)
      fail(fmt::format("expected {} entries in the row of {}; found {}", columns_.size(), row[0],
                       row.size() - 1),
           static_cast<int>(next_));
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const SmiEntry entry = entry_of(row[c + 1], device == c);
      if (device < gpus_) entries_.push_back(entry);
    }
    if (device < gpus_) {
      gpu_lines_.push_back(static_cast<int>(next_));
      affinities_.push_back(row.size() > columns_.size() + 1 ? row[columns_.size() + 1] : "");
    }
    ++rows_;
  }

  SmiEntry entry_of(const std::string& word, bool self) const {
    const int line = static_cast<int>(next_);
    if (self != (word == "X")) fail(fmt::format("expected X on the diagonal only; found '{}'", word), line);
    if (self) return {};
    if (word.starts_with("NV"))
      if (const auto links = whole_number(std::string_view(word).substr(2));
          links && *links >= 1 && *links <= 64)
        return {*links};
    const auto found = smi_paths().find(word);
    if (found == smi_paths().end())
      fail(fmt::format("unknown connection '{}'; expected X, SYS, NODE, PHB, PXB, PIX or NV with a number",
                       word),
           line);
    return {0, found->second};
  }

  /// Lines such as "PIX = Connection ..." below "Legend:", and "NIC0: mlx5_0" below "NIC Legend:".
  void read_legend() {
    for (; next_ < lines_.size(); ++next_) {
      const MatrixWords& words = lines_[next_];
      const bool title = words == MatrixWords{"Legend:"} || words == MatrixWords{"NIC", "Legend:"};
      const bool adapter = words.size() == 2 && words[0].ends_with(':');
      const bool meaning = words.size() > 2 && words[1] == "=" &&
                           (words[0] == "X" || words[0] == "NV#" || smi_paths().contains(words[0]));
      if (!words.empty() && !title && !adapter && !meaning)
        fail(fmt::format("'{}' is neither a row of the matrix nor of its legend", words[0]));
    }
  }

  const SmiEntry& entry(std::size_t gpu, std::size_t column) const {
    return entries_[gpu * columns_.size() + column];
  }

  /// The word NV hides the path over PCIe. An adapter on one PCIe switch with both GPUs, or CPUs that both have
  /// near, states it again.
  PciPath hidden_path(std::size_t a, std::size_t b) const {
    for (std::size_t c = gpus_; c < columns_.size(); ++c)
      if (std::max(entry(a, c).path, entry(b, c).path) == PciPath::same_switch) return PciPath::same_switch;
    return affinities_[a] == affinities_[b] ? PciPath::same_cpu : PciPath::across_cpus;
  }

  MachineTopology topology() const {
    MachineTopology out(file_, gpus_);
    for (std::size_t a = 0; a < gpus_; ++a) {
      out.gpus[a].line = gpu_lines_[a];
      for (std::size_t b = 0; b < gpus_; ++b) {
        const SmiEntry &there = entry(a, b), &back = entry(b, a);
        if (there.nvlinks != back.nvlinks || there.path != back.path)
          fail(fmt::format("{} and {} are connected differently in their two rows", columns_[a], columns_[b]),
               gpu_lines_[std::max(a, b)]);
        out.nvlinks[a][b] = there.nvlinks;
        if (a != b) out.paths[a][b] = there.nvlinks > 0 ? hidden_path(a, b) : there.path;
      }
    }
    return out;
  }

  std::vector<MatrixWords> lines_;
  const std::string& file_;
  std::size_t next_ = 0, rows_ = 0, gpus_ = 0;
  MatrixWords columns_;            ///< GPUs first, then network adapters
  std::vector<SmiEntry> entries_;  ///< [gpu * columns + column]
  MatrixWords affinities_;         ///< [gpu] CPUs near it
  std::vector<int> gpu_lines_;
};

}  // namespace

MachineTopology parse_smi_matrix(std::string_view text, const std::string& file) {
  return SmiMatrix(text, file).read();
}

TopologyFormat topology_format(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '<') return TopologyFormat::nccl_xml;
  const auto lines = lines_of_words(text);
  return std::ranges::any_of(lines, [](const auto& words) { return !words.empty() && names_gpu(words[0]); })
             ? TopologyFormat::smi_matrix
             : TopologyFormat::host_list;
}

}  // namespace penstock::cluster
