#include "penstock/cluster/short_form.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "penstock/core/error.hpp"

namespace penstock::cluster {
namespace {

constexpr int kMostForm = 16384;

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// The number that a text begins with, taken off it; nothing where it begins with none.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || number < 0) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "h100x32" is "h100" and 32; a name may itself end in an x.
int take_nodes(std::string_view& rest) {
  const std::size_t at = rest.rfind('x');
  if (at == rest.npos || at == 0) return 1;
  std::string_view tail = rest.substr(at + 1);
  const auto nodes = take_number(tail);
  if (!nodes || !tail.empty()) return 1;
  rest = rest.substr(0, at);
  return *nodes;
}

/// A GPU with a letter more or less is another GPU: no spelling is guessed, but the sizes of one are named.
const Rented& rented_named(std::string_view name, std::string_view text) {
  std::vector<std::string_view> known, sizes;
  for (const Rented& each : rented()) {
    if (small(each.name) == name) return each;
    known.push_back(each.name);
    if (!name.empty() && small(each.name).starts_with(std::string(name) + "-")) sizes.push_back(each.name);
  }
  const std::string begins = fmt::format("cluster '{}': no GPU '{}' is known; ", text, name);
  if (sizes.empty())
    throw core::BadInput(fmt::format("{}expected one of {}", begins, fmt::join(known, ", ")));
  throw core::BadInput(fmt::format("{}expected {}, by its memory", begins, fmt::join(sizes, " or ")));
}

void check(const ShortForm& form, std::string_view text) {
  const auto demand = [&](bool holds, const std::string& what) {
    if (!holds) throw core::BadInput(fmt::format("cluster '{}': expected {}", text, what));
  };
  demand(form.devices >= 1 && form.devices <= form.type->most,
         fmt::format("1 to {} {} per node, as in {}x{}x2", form.type->most, form.type->name, form.type->most,
                     form.type->name));
  demand(form.nodes >= 1 && form.nodes <= kMostForm / form.devices,
         fmt::format("1 to {} nodes, {} devices together", kMostForm / form.devices, kMostForm));
}

}  // namespace

const std::vector<Rented>& rented() {
  static const std::vector<Rented> all = {
      {"V100-16", "v100",
       "{memory: 16GiB, memory_bandwidth: 900GB/s, multiprocessors: 80, launch_overhead: 5us,\n"
       "         peak: {fp32: 15.7TFLOP/s, fp16: 125TFLOP/s}}",
       "{bandwidth: 150GB/s, latency: 0.5us}", 6'250, 8,
       "V100-SXM2-16GB on six NVLinks (the rate of rings over all), four 100 Gb/s adapters for eight",
       "NVIDIA Tesla V100 data sheet and DGX-1 user guide, 2017"},
      {"V100-32", "v100",
       "{memory: 32GiB, memory_bandwidth: 900GB/s, multiprocessors: 80, launch_overhead: 5us,\n"
       "         peak: {fp32: 15.7TFLOP/s, fp16: 125TFLOP/s}}",
       "{bandwidth: 150GB/s, latency: 0.5us}", 6'250, 8,
       "V100-SXM2-32GB on six NVLinks (the rate of rings over all), four 100 Gb/s adapters for eight",
       "NVIDIA Tesla V100 data sheet and DGX-1 user guide, 2018"},
      {"A100-40", "a100",
       "{memory: 40GiB, memory_bandwidth: 1555GB/s, multiprocessors: 108, launch_overhead: 4us,\n"
       "         peak: {fp32: 19.5TFLOP/s, tf32: 156TFLOP/s, bf16: 312TFLOP/s, fp16: 312TFLOP/s}}",
       "{bandwidth: 300GB/s, latency: 0.5us}", 25'000, 8,
       "A100-SXM4-40GB on NVSwitch, a 200 Gb/s adapter each",
       "NVIDIA A100 data sheet and DGX A100 user guide, 2020"},
      {"A100-80", "a100",
       "{memory: 80GiB, memory_bandwidth: 2039GB/s, multiprocessors: 108, launch_overhead: 4us,\n"
       "         peak: {fp32: 19.5TFLOP/s, tf32: 156TFLOP/s, bf16: 312TFLOP/s, fp16: 312TFLOP/s}}",
       "{bandwidth: 300GB/s, latency: 0.5us}", 25'000, 8,
       "A100-SXM4-80GB on NVSwitch, a 200 Gb/s adapter each",
       "NVIDIA A100 80GB data sheet and DGX A100 user guide, 2021"},
      {"H100", "h100",
       "{memory: 80GiB, memory_bandwidth: 3350GB/s, multiprocessors: 132, launch_overhead: 3us,\n"
       "         peak: {fp32: 67TFLOP/s, tf32: 494TFLOP/s, bf16: 989TFLOP/s, fp16: 989TFLOP/s}}",
       "{bandwidth: 450GB/s, latency: 0.5us}", 50'000, 8,
       "H100-SXM5-80GB on NVSwitch, a 400 Gb/s adapter each", "NVIDIA H100 and DGX H100 data sheets, 2023"},
      {"H200", "h200",
       "{memory: 141GB, memory_bandwidth: 4800GB/s, multiprocessors: 132, launch_overhead: 3us,\n"
       "         peak: {fp32: 67TFLOP/s, tf32: 494TFLOP/s, bf16: 989TFLOP/s, fp16: 989TFLOP/s}}",
       "{bandwidth: 450GB/s, latency: 0.5us}", 50'000, 8,
       "H200-SXM5-141GB on NVSwitch, a 400 Gb/s adapter each", "NVIDIA H200 and DGX H200 data sheets, 2024"},
      {"B200", "b200",
       "{memory: 180GB, memory_bandwidth: 7700GB/s, multiprocessors: 148, launch_overhead: 3us,\n"
       "         peak: {fp32: 75TFLOP/s, tf32: 1100TFLOP/s, bf16: 2250TFLOP/s, fp16: 2250TFLOP/s}}",
       "{bandwidth: 900GB/s, latency: 0.5us}", 50'000, 8,
       "B200-SXM-180GB on NVSwitch, a 400 Gb/s adapter each",
       "NVIDIA HGX B200 and DGX B200 data sheets, 2024"},
      {"GB200", "gb200",
       "{memory: 186GB, memory_bandwidth: 8000GB/s, multiprocessors: 148, launch_overhead: 3us,\n"
       "         peak: {fp32: 80TFLOP/s, tf32: 1250TFLOP/s, bf16: 2500TFLOP/s, fp16: 2500TFLOP/s}}",
       "{bandwidth: 900GB/s, latency: 0.5us}", 50'000, 72,
       "GB200 NVL72, of which a node here is one domain of NVLink; a 400 Gb/s adapter each",
       "NVIDIA GB200 NVL72 and DGX GB200 data sheets, 2024, a 72nd of each number; SMs as B200"},
      {"MI300X", "mi300x",
       "{memory: 192GB, memory_bandwidth: 5300GB/s, multiprocessors: 304, launch_overhead: 3us,\n"
       "         peak: {fp32: 163.4TFLOP/s, tf32: 653.7TFLOP/s, bf16: 1307.4TFLOP/s, fp16: 1307.4TFLOP/s}}",
       "{bandwidth: 448GB/s, latency: 0.5us}", 50'000, 8,
       "MI300X fully connected by Infinity Fabric (a collective's rate), a 400 Gb/s adapter each",
       "AMD Instinct MI300X data sheet, 2023"},
      {"L40S", "l40s",
       "{memory: 48GB, memory_bandwidth: 864GB/s, multiprocessors: 142, launch_overhead: 3us,\n"
       "         peak: {fp32: 91.6TFLOP/s, tf32: 183TFLOP/s, bf16: 362TFLOP/s, fp16: 362TFLOP/s}}",
       "{bandwidth: 32GB/s, latency: 1us}", 12'500, 8, "L40S on PCIe 4 x16, a 200 Gb/s adapter for two",
       "NVIDIA L40S data sheet, 2023"},
  };
  return all;
}

std::optional<ShortForm> parse_short_form(std::string_view text) {
  constexpr std::string_view kRails = "-rails";
  const std::string lower = small(text);
  std::string_view rest = lower;
  const auto devices = take_number(rest);
  if (!devices || !rest.starts_with('x')) return {};
  rest.remove_prefix(1);
  ShortForm out{*devices};
  if (rest.ends_with(kRails)) {
    out.rails = true;
    rest.remove_suffix(kRails.size());
  }
  out.nodes = take_nodes(rest);
  out.type = &rented_named(rest, text);
  check(out, text);
  return out;
}

std::string to_yaml(const ShortForm& form, std::string_view name) {
  const Rented& of = *form.type;
  const int uplink = form.rails ? of.adapter : of.adapter * form.devices;
  return fmt::format(
      "# {} x {} x {}. {}.\n# {}.\nname: {}\ndevice_types:\n  {}: {}\nnodes:\n"
      "  - {{count: {}, device: {}, devices: {},{}\n     link: {},\n     uplink: {{bandwidth: {}MB/s, "
      "latency: 1us}}}}\n",
      form.nodes, form.devices, of.summary,
      form.rails ? "Rail-optimised: adapters of one number share a switch"
                 : "All adapters of a node are one uplink",
      of.source, name, of.type, of.sheet, form.nodes, of.type, form.devices,
      form.rails ? " rails: true," : "", of.link, uplink);
}

}  // namespace penstock::cluster
