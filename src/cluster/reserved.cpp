#include "penstock/cluster/reserved.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::cluster {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

}  // namespace

const std::vector<NamedReserve>& reserves() {
  static const std::vector<NamedReserve> all = {
      {"megatron", core::Bytes(2560 * kMiB),
       "Megatron-LM on GH200, fitted on runs that Sailor published (docs/published_runs.md)"},
      {"deepspeed", core::Bytes(8569 * kMiB),
       "Megatron-DeepSpeed on A100 of 80 GB, fitted on trials before BLOOM (docs/published_runs.md)"}};
  return all;
}

core::Bytes reserve_of(std::string_view framework) {
  for (const NamedReserve& each : reserves())
    if (each.name == framework) return each.bytes;
  return reserves().front().bytes;
}

core::Bytes reserve(std::string_view text) {
  if (text == "0") return {};
  if (const auto bytes = core::parse_bytes(text); bytes && bytes->value() >= 0) return *bytes;
  std::vector<std::string> known;
  for (const NamedReserve& each : reserves()) {
    if (each.name == text) return each.bytes;
    known.push_back(each.name);
  }
  throw core::BadInput(fmt::format("'{}': expected bytes such as 2.5GiB, 0, or a framework; {}", text,
                                   core::did_you_mean(std::string(text), known)));
}

bool takes_usual_reserve(const Cluster& cluster) {
  constexpr std::int64_t kLeast = 4;
  const std::int64_t usual = reserves().front().bytes.value();
  return std::ranges::all_of(cluster.types(), [&](const DeviceType& type) {
    return type.multiprocessors > 1 && type.reserved.value() == 0 && type.memory.value() >= kLeast * usual;
  });
}

}  // namespace penstock::cluster
