#include "device_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "penstock/core/error.hpp"

namespace penstock::kernels {
namespace {

constexpr std::string_view kPrefix = "cuda:";
constexpr int kMostPartitions = 256;

std::optional<int> whole_number(std::string_view digits) {
  int value = -1;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  return error == std::errc() && end == last && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

CudaName cuda_name(const std::string& device) {
  core::require(device.starts_with(kPrefix), "the name of a CUDA device");
  const std::string_view rest = std::string_view(device).substr(kPrefix.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const auto which = whole_number(rest.substr(0, slash));
  if (!which) throw core::BadInput("'cuda:' is followed by a number from 0");
  if (slash == rest.size()) return {*which, 0};
  const auto partitions = whole_number(rest.substr(slash + 1));
  if (!partitions || *partitions < 1 || *partitions > kMostPartitions)
    throw core::BadInput(fmt::format(
        "'/' is followed by how many equal partitions the device is cut into, 1 to {}", kMostPartitions));
  return {*which, *partitions};
}

std::string to_string(const CudaName& name) {
  return name.partitions == 0 ? fmt::format("{}{}", kPrefix, name.device)
                              : fmt::format("{}{}/{}", kPrefix, name.device, name.partitions);
}

CudaName spread(std::size_t index, const MachineShare& share, std::size_t gpus) {
  if (share.all <= gpus) return {static_cast<int>(share.before + index), 0};
  gpus = std::max<std::size_t>(1, gpus);
  const std::size_t each = (share.own + gpus - 1) / gpus;
  if (each <= 1) return {static_cast<int>(index), 0};
  return {static_cast<int>(index / each), static_cast<int>(each)};
}

std::vector<CudaName> peers(const CudaName& name, std::size_t gpus) {
  if (name.partitions > 0) return std::vector<CudaName>(static_cast<std::size_t>(name.partitions), name);
  std::vector<CudaName> out = {name};
  for (std::size_t i = 0; i < gpus; ++i)
    if (static_cast<int>(i) != name.device) out.push_back({static_cast<int>(i), 0});
  return out;
}

}  // namespace penstock::kernels
