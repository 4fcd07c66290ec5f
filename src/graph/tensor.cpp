#include "penstock/graph/tensor.hpp"

#include <array>

namespace penstock::graph {
namespace {

constexpr std::array<std::string_view, 6> kRoleNames = {"rows",  "features", "height",
                                                        "width", "matrices", "elements"};
constexpr std::int64_t kIndexBytes = 8;

}  // namespace

std::string_view name(AxisRole role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

std::int64_t Tensor::count() const {
  std::int64_t count = 1;
  for (const TensorAxis& axis : axes) count *= axis.extent;
  return count;
}

core::Bytes Tensor::bytes(int element_bytes) const {
  return core::Bytes(count() * (dtype == DType::number  ? element_bytes
                                : dtype == DType::index ? kIndexBytes
                                                        : 1));
}

}  // namespace penstock::graph
