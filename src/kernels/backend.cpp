#include "penstock/kernels/backend.hpp"

#include <functional>
#include <numeric>

#include "penstock/kernels/collectives.hpp"

namespace penstock::kernels {

std::string_view name(Pass pass) {
  constexpr std::string_view names[] = {"forward", "input_gradient", "weight_gradient"};
  return names[static_cast<std::size_t>(pass)];
}

std::int64_t Slot::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::unique_ptr<Collectives> Backend::collectives(const std::vector<Backend*>&, const Invitation&) {
  return nullptr;
}

bool has_kernel(graph::OpKind kind) {
  using graph::OpKind;
  return kind != OpKind::input && kind != OpKind::reshape && kind != OpKind::profiled;
}

}  // namespace penstock::kernels
