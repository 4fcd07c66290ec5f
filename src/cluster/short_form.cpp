#include "penstock/cluster/short_form.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "penstock/core/error.hpp"
#include "penstock/core/letters.hpp"

namespace penstock::cluster {
namespace {

constexpr int kMostForm = 16384;

/// Removes and returns the number at the start of a text; nothing if it starts with none.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || number < 0) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool is_known(std::string_view name) {
  return std::ranges::any_of(
      rented(), [name](const RentedGpu& each) { return core::lower_case(std::string(each.name)) == name; });
}

/// Splits "h100x32" into "h100" and 32. Names may contain an x themselves, as mi300x and rtx4090 do.
int take_nodes(std::string_view& rest) {
  if (is_known(rest)) return 1;
  const std::size_t at = rest.rfind('x');
  if (at == rest.npos || at == 0) return 1;
  std::string_view tail = rest.substr(at + 1);
  const auto nodes = take_number(tail);
  if (!nodes || !tail.empty()) return 1;
  rest = rest.substr(0, at);
  return *nodes;
}

/// Only letters and digits, without the unit of a memory size: "a10080" of "A100-80GB".
std::string squeezed(std::string_view name) {
  std::string out;
  for (const char c : core::lower_case(std::string(name)))
    if (std::isalnum(static_cast<unsigned char>(c))) out += c;
  for (const std::string_view unit : {"gib", "gb", "g"})
    if (out.size() > unit.size() && out.ends_with(unit) &&
        std::isdigit(static_cast<unsigned char>(out[out.size() - unit.size() - 1])))
      out.resize(out.size() - unit.size());
  return out;
}

/// Suggests a GPU whose name differs only in dashes, a unit or a prefix such as RTX; or the right order.
std::string hint_at(std::string_view name) {
  if (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) && name.find('x') != name.npos)
    return "write the GPUs of a node first and the nodes last, as in 8xH100x2";
  const std::string given = squeezed(name);
  for (const RentedGpu& each : rented()) {
    const std::string known = squeezed(each.name);
    if (!given.empty() && (known == given || (given.size() > 3 && known.ends_with(given))))
      return fmt::format("did you mean {}?", each.name);
  }
  return "";
}

/// A GPU with a letter more or less is another GPU: the error suggests no such spelling, but names the sizes of
/// that GPU.
const RentedGpu& rented_named(std::string_view name, std::string_view text) {
  std::vector<std::string_view> known, sizes;
  for (const RentedGpu& each : rented()) {
    if (core::lower_case(std::string(each.name)) == name) return each;
    known.push_back(each.name);
    if (!name.empty() && core::lower_case(std::string(each.name)).starts_with(std::string(name) + "-"))
      sizes.push_back(each.name);
  }
  const std::string begins = fmt::format("cluster '{}': no GPU '{}' is known; ", text, name);
  if (const std::string hint = hint_at(name); sizes.empty() && !hint.empty())
    throw core::BadInput(begins + hint);
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

const std::vector<RentedGpu>& rented() {
  static const std::vector<RentedGpu> all = {
      {"V100-16", "v100",
       "{memory: 16GiB, memory_bandwidth: 900GB/s, multiprocessors: 80, launch_overhead: 5us, price: 3.06,\n"
       "         peak: {fp32: 15.7TFLOP/s, fp16: 125TFLOP/s}}",
       "{bandwidth: 150GB/s, latency: 0.5us}", 6'250, 8,
       "V100-SXM2-16GB on six NVLinks (the rate of rings over all), four 100 Gb/s adapters for eight",
       "NVIDIA Tesla V100 data sheet and DGX-1 user guide, 2017; price: an eighth of p3.16xlarge, AWS on "
       "demand"},
      {"V100-32", "v100",
       "{memory: 32GiB, memory_bandwidth: 900GB/s, multiprocessors: 80, launch_overhead: 5us, price: "
       "3.9015,\n"
       "         peak: {fp32: 15.7TFLOP/s, fp16: 125TFLOP/s}}",
       "{bandwidth: 150GB/s, latency: 0.5us}", 6'250, 8,
       "V100-SXM2-32GB on six NVLinks (the rate of rings over all), four 100 Gb/s adapters for eight",
       "NVIDIA Tesla V100 data sheet and DGX-1 user guide, 2018; price: an eighth of p3dn.24xlarge, AWS on "
       "demand"},
      {"A100-40", "a100",
       "{memory: 40GiB, memory_bandwidth: 1555GB/s, multiprocessors: 108, launch_overhead: 4us, price: "
       "1.844,\n"
       "         peak: {fp32: 19.5TFLOP/s, tf32: 156TFLOP/s, bf16: 312TFLOP/s, fp16: 312TFLOP/s}}",
       "{bandwidth: 300GB/s, latency: 0.5us}", 25'000, 8,
       "A100-SXM4-40GB on NVSwitch, a 200 Gb/s adapter each",
       "NVIDIA A100 data sheet and DGX A100 user guide, 2020; price: AWS EC2 Capacity Blocks, p4d.24xlarge, "
       "2024"},
      {"A100-80", "a100",
       "{memory: 80GiB, memory_bandwidth: 2039GB/s, multiprocessors: 108, launch_overhead: 4us,\n"
       "         peak: {fp32: 19.5TFLOP/s, tf32: 156TFLOP/s, bf16: 312TFLOP/s, fp16: 312TFLOP/s}}",
       "{bandwidth: 300GB/s, latency: 0.5us}", 25'000, 8,
       "A100-SXM4-80GB on NVSwitch, a 200 Gb/s adapter each",
       "NVIDIA A100 80GB data sheet and DGX A100 user guide, 2021"},
      {"H100", "h100",
       "{memory: 80GiB, memory_bandwidth: 3350GB/s, multiprocessors: 132, launch_overhead: 3us, price: "
       "4.916,\n"
       "         peak: {fp32: 67TFLOP/s, tf32: 494TFLOP/s, bf16: 989TFLOP/s, fp16: 989TFLOP/s,\n"
       "                fp8: 1979TFLOP/s}}",
       "{bandwidth: 450GB/s, latency: 0.5us}", 50'000, 8,
       "H100-SXM5-80GB on NVSwitch, a 400 Gb/s adapter each",
       "NVIDIA H100 and DGX H100 data sheets, 2023; price: AWS EC2 Capacity Blocks, p5.48xlarge, 2024"},
      {"H200", "h200",
       "{memory: 141GB, memory_bandwidth: 4800GB/s, multiprocessors: 132, launch_overhead: 3us, price: "
       "5.408,\n"
       "         peak: {fp32: 67TFLOP/s, tf32: 494TFLOP/s, bf16: 989TFLOP/s, fp16: 989TFLOP/s,\n"
       "                fp8: 1979TFLOP/s}}",
       "{bandwidth: 450GB/s, latency: 0.5us}", 50'000, 8,
       "H200-SXM5-141GB on NVSwitch, a 400 Gb/s adapter each",
       "NVIDIA H200 and DGX H200 data sheets, 2024; price: AWS EC2 Capacity Blocks, eight H200, 2024"},
      {"B200", "b200",
       "{memory: 180GB, memory_bandwidth: 7700GB/s, multiprocessors: 148, launch_overhead: 3us,\n"
       "         peak: {fp32: 75TFLOP/s, tf32: 1100TFLOP/s, bf16: 2250TFLOP/s, fp16: 2250TFLOP/s,\n"
       "                fp8: 4500TFLOP/s, fp4: 9000TFLOP/s}}",
       "{bandwidth: 900GB/s, latency: 0.5us}", 50'000, 8,
       "B200-SXM-180GB on NVSwitch, a 400 Gb/s adapter each",
       "NVIDIA HGX B200 and DGX B200 data sheets, 2024"},
      {"GB200", "gb200",
       "{memory: 186GB, memory_bandwidth: 8000GB/s, multiprocessors: 148, launch_overhead: 3us,\n"
       "         peak: {fp32: 80TFLOP/s, tf32: 1250TFLOP/s, bf16: 2500TFLOP/s, fp16: 2500TFLOP/s,\n"
       "                fp8: 5000TFLOP/s, fp4: 10000TFLOP/s}}",
       "{bandwidth: 900GB/s, latency: 0.5us}", 50'000, 72,
       "GB200 NVL72, of which a node here is one domain of NVLink; a 400 Gb/s adapter each",
       "NVIDIA GB200 NVL72 and DGX GB200 data sheets, 2024, a 72nd of each number; SMs as B200"},
      {"MI300X", "mi300x",
       "{memory: 192GB, memory_bandwidth: 5300GB/s, multiprocessors: 304, launch_overhead: 3us,\n"
       "         peak: {fp32: 163.4TFLOP/s, tf32: 653.7TFLOP/s, bf16: 1307.4TFLOP/s, fp16: 1307.4TFLOP/s,\n"
       "                fp8: 2614.9TFLOP/s}}",
       "{bandwidth: 448GB/s, latency: 0.5us}", 50'000, 8,
       "MI300X fully connected by Infinity Fabric (a collective's rate), a 400 Gb/s adapter each",
       "AMD Instinct MI300X data sheet, 2023"},
      {"L40S", "l40s",
       "{memory: 48GB, memory_bandwidth: 864GB/s, multiprocessors: 142, launch_overhead: 3us,\n"
       "         peak: {fp32: 91.6TFLOP/s, tf32: 183TFLOP/s, bf16: 362TFLOP/s, fp16: 362TFLOP/s,\n"
       "                fp8: 733TFLOP/s}}",
       "{bandwidth: 32GB/s, latency: 1us}", 12'500, 8, "L40S on PCIe 4 x16, a 200 Gb/s adapter for two",
       "NVIDIA L40S data sheet, 2023"},
      {"A800", "a800",
       "{memory: 80GiB, memory_bandwidth: 2039GB/s, multiprocessors: 108, launch_overhead: 3us,\n"
       "         peak: {fp32: 19.5TFLOP/s, tf32: 156TFLOP/s, bf16: 312TFLOP/s, fp16: 312TFLOP/s}}",
       "{bandwidth: 200GB/s, latency: 0.5us}", 25'000, 8,
       "A800-SXM4-80GB, an A100 with 400 instead of 600 GB/s of NVLink; a 200 Gb/s adapter each",
       "NVIDIA A100 data sheet; links as TechPowerUp reported of the A800, 2023"},
      {"H800", "h800",
       "{memory: 80GiB, memory_bandwidth: 3350GB/s, multiprocessors: 132, launch_overhead: 3us,\n"
       "         peak: {fp32: 67TFLOP/s, tf32: 494TFLOP/s, bf16: 989TFLOP/s, fp16: 989TFLOP/s,\n"
       "                fp8: 1979TFLOP/s}}",
       "{bandwidth: 200GB/s, latency: 0.5us}", 50'000, 8,
       "H800-SXM5-80GB, an H100 with 400 instead of 900 GB/s of NVLink; a 400 Gb/s adapter each",
       "NVIDIA H100 data sheet; links by secondary sources (Philisun, H800 vs H100)"},
      {"H20", "h20",
       "{memory: 96GB, memory_bandwidth: 4000GB/s, multiprocessors: 78, launch_overhead: 3us,\n"
       "         peak: {fp32: 44TFLOP/s, tf32: 74TFLOP/s, bf16: 148TFLOP/s, fp16: 148TFLOP/s,\n"
       "                fp8: 296TFLOP/s}}",
       "{bandwidth: 450GB/s, latency: 0.5us}", 50'000, 8,
       "H20-SXM5-96GB on NVSwitch, a 400 Gb/s adapter each",
       "NVIDIA H20 data sheet, 2023, by secondary sources; fp32, tf32 and SMs recalled, not checked"},
      {"B300", "b300",
       "{memory: 270GB, memory_bandwidth: 8000GB/s, multiprocessors: 160, launch_overhead: 3us,\n"
       "         peak: {fp32: 75TFLOP/s, tf32: 1125TFLOP/s, bf16: 2250TFLOP/s, fp16: 2250TFLOP/s,\n"
       "                fp8: 4500TFLOP/s, fp4: 13500TFLOP/s}}",
       "{bandwidth: 900GB/s, latency: 0.5us}", 100'000, 8,
       "B300-SXM-270GB on NVSwitch, an 800 Gb/s adapter each",
       "NVIDIA HGX B300 data sheet, 2025, an eighth of each number"},
      {"GB300", "gb300",
       "{memory: 279GB, memory_bandwidth: 8000GB/s, multiprocessors: 160, launch_overhead: 3us,\n"
       "         peak: {fp32: 80TFLOP/s, tf32: 1250TFLOP/s, bf16: 2500TFLOP/s, fp16: 2500TFLOP/s,\n"
       "                fp8: 5000TFLOP/s, fp4: 15000TFLOP/s}}",
       "{bandwidth: 900GB/s, latency: 0.5us}", 100'000, 72,
       "GB300 NVL72, of which a node here is one domain of NVLink; an 800 Gb/s adapter each",
       "NVIDIA GB300 NVL72 data sheet, 2025, a 72nd of each number"},
      {"MI325X", "mi325x",
       "{memory: 256GB, memory_bandwidth: 6000GB/s, multiprocessors: 304, launch_overhead: 3us,\n"
       "         peak: {fp32: 163.4TFLOP/s, tf32: 653.7TFLOP/s, bf16: 1307.4TFLOP/s, fp16: 1307.4TFLOP/s,\n"
       "                fp8: 2614.9TFLOP/s}}",
       "{bandwidth: 448GB/s, latency: 0.5us}", 50'000, 8,
       "MI325X fully connected by Infinity Fabric (a collective's rate), a 400 Gb/s adapter each",
       "AMD GPU specifications (ROCm 7 documentation) and Vultr's, 2026; fp32 and tf32 as MI300X, the same "
       "chip"},
      {"MI355X", "mi355x",
       "{memory: 288GB, memory_bandwidth: 8000GB/s, multiprocessors: 256, launch_overhead: 3us,\n"
       "         peak: {fp32: 157.3TFLOP/s, bf16: 2516.6TFLOP/s, fp16: 2516.6TFLOP/s,\n"
       "                fp8: 5033TFLOP/s, fp4: 10066TFLOP/s}}",
       "{bandwidth: 537GB/s, latency: 0.5us}", 50'000, 8,
       "MI355X fully connected by Infinity Fabric (a collective's rate), a 400 Gb/s adapter each",
       "AMD GPU specifications (ROCm 7 documentation); ISSCC 2026 reports of 5 PFLOP/s in FP8, of which bf16 "
       "is "
       "half; fp32 and links recalled, not checked"},
      {"A10G", "a10g",
       "{memory: 24GB, memory_bandwidth: 600GB/s, multiprocessors: 80, launch_overhead: 3us,\n"
       "         peak: {fp32: 35TFLOP/s, tf32: 35TFLOP/s, bf16: 70TFLOP/s, fp16: 70TFLOP/s}}",
       "{bandwidth: 32GB/s, latency: 1us}", 1'560, 8,
       "A10G on PCIe 4 x16 without peer-to-peer links, a 100 Gb/s adapter for eight",
       "NVIDIA A10G data sheet, 2021, and Amazon EC2 G5 instances, recalled: not checked"},
      {"RTX3090", "rtx_3090",
       "{memory: 24GiB, memory_bandwidth: 936GB/s, multiprocessors: 82, launch_overhead: 3us,\n"
       "         peak: {fp32: 35.6TFLOP/s, tf32: 35.6TFLOP/s, bf16: 71TFLOP/s, fp16: 71TFLOP/s}}",
       "{bandwidth: 32GB/s, latency: 5us}", 3'125, 8,
       "GeForce RTX 3090 on PCIe 4 x16, a 200 Gb/s adapter for eight",
       "NVIDIA Ampere GA102 whitepaper, 2020; 16-bit products with fp32 sums"},
      {"RTX4090", "rtx_4090",
       "{memory: 24GiB, memory_bandwidth: 1008GB/s, multiprocessors: 128, launch_overhead: 3us,\n"
       "         peak: {fp32: 82.6TFLOP/s, tf32: 82.6TFLOP/s, bf16: 165.2TFLOP/s, fp16: 165.2TFLOP/s}}",
       "{bandwidth: 32GB/s, latency: 5us}", 3'125, 8,
       "GeForce RTX 4090 on PCIe 4 x16, a 200 Gb/s adapter for eight",
       "NVIDIA Ada GPU architecture whitepaper, 2022, recalled: not checked; 16-bit products with fp32 sums"},
      {"TPU-v5e", "tpu_v5e",
       "{memory: 16GB, memory_bandwidth: 819GB/s, multiprocessors: 4, launch_overhead: 3us,\n"
       "         peak: {fp32: 49TFLOP/s, bf16: 197TFLOP/s, fp16: 197TFLOP/s}}",
       "{bandwidth: 200GB/s, latency: 1us}", 3'125, 8,
       "TPU v5e, whose 2D torus counts as a switch here: 400 GB/s per chip, both directions",
       "Google Cloud TPU v5e documentation, 2025; fp32 at a quarter of bf16 assumed"},
      {"TPU-v5p", "tpu_v5p",
       "{memory: 95GB, memory_bandwidth: 2765GB/s, multiprocessors: 8, launch_overhead: 3us,\n"
       "         peak: {fp32: 115TFLOP/s, bf16: 459TFLOP/s, fp16: 459TFLOP/s}}",
       "{bandwidth: 600GB/s, latency: 1us}", 6'250, 4,
       "TPU v5p, whose 3D torus counts as a switch here: 1200 GB/s per chip, both directions",
       "Google Cloud TPU v5p documentation, 2026; fp32 at a quarter of bf16 assumed"},
      {"TPU-v6e", "tpu_v6e",
       "{memory: 32GB, memory_bandwidth: 1638GB/s, multiprocessors: 2, launch_overhead: 3us,\n"
       "         peak: {fp32: 230TFLOP/s, bf16: 918TFLOP/s, fp16: 918TFLOP/s}}",
       "{bandwidth: 400GB/s, latency: 1us}", 6'250, 8,
       "TPU v6e, whose 2D torus counts as a switch here: 800 GB/s per chip, both directions",
       "Google Cloud TPU v6e documentation, 2025; fp32 at a quarter of bf16 assumed"},
      {"Ascend-910B", "ascend_910b",
       "{memory: 64GB, memory_bandwidth: 1600GB/s, multiprocessors: 20, launch_overhead: 3us,\n"
       "         peak: {fp32: 78TFLOP/s, bf16: 313TFLOP/s, fp16: 313TFLOP/s}}",
       "{bandwidth: 196GB/s, latency: 1us}", 25'000, 8,
       "Ascend 910B3 fully connected by HCCS (392 GB/s both directions), a 200 Gb/s adapter each",
       "recalled of the 910B3: not checked; public sources disagree (fp16 256 to 320 TFLOP/s), the vendor "
       "has no data sheet"},
      {"Gaudi3", "gaudi3",
       "{memory: 128GB, memory_bandwidth: 3670GB/s, multiprocessors: 64, launch_overhead: 3us,\n"
       "         peak: {fp32: 459TFLOP/s, bf16: 1835TFLOP/s, fp16: 1835TFLOP/s}}",
       "{bandwidth: 525GB/s, latency: 1us}", 75'000, 8,
       "Gaudi 3 HL-325L, 21 ports of 200 Gb/s within a node and three out of it",
       "Intel, Gaudi 3 at Hot Chips 2024; fp32 at a quarter of bf16 assumed"},
  };
  return all;
}

std::optional<ShortForm> parse_short_form(std::string_view text) {
  constexpr std::string_view kRails = "-rails";
  const std::string lower = core::lower_case(std::string(text));
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
  const RentedGpu& of = *form.type;
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
