#include "penstock/cluster/power.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/letters.hpp"

namespace penstock::cluster {
namespace {

constexpr DevicePower kPowers[] = {
    {"v100", 300, "NVIDIA Tesla V100 data sheet, SXM2"},
    {"a100", 400, "NVIDIA A100 data sheet, SXM"},
    {"a800", 400, "NVIDIA A100 data sheet, SXM"},
    {"h100", 700, "NVIDIA H100 data sheet, SXM"},
    {"h800", 700, "NVIDIA H100 data sheet, SXM"},
    {"h200", 700, "NVIDIA H200 data sheet, SXM"},
    {"b200", 1000, "NVIDIA HGX B200 data sheet"},
    {"gb200", 1200, "NVIDIA GB200 NVL72 data sheet"},
    {"mi300x", 750, "AMD Instinct MI300X data sheet"},
    {"mi325x", 1000, "AMD Instinct MI325X data sheet"},
    {"mi355x", 1400, "AMD Instinct MI355X data sheet"},
    {"l40s", 350, "NVIDIA L40S data sheet"},
    {"rtx_3090", 350, "NVIDIA Ampere GA102 whitepaper"},
    {"rtx_4090", 450, "NVIDIA Ada GPU architecture whitepaper"},
    {"gaudi3", 900, "Intel Gaudi 3 white paper, HL-325L with air"},
};

}  // namespace

std::optional<DevicePower> data_sheet_power(std::string_view type) {
  const std::string name = core::lower_case(std::string(type));
  const auto found = std::ranges::find(kPowers, name, &DevicePower::type);
  return found == std::end(kPowers) ? std::nullopt : std::optional(*found);
}

}  // namespace penstock::cluster
