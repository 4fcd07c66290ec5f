#include "penstock/kernels/backend.hpp"

#include <functional>
#include <numeric>

#include "penstock/kernels/collectives.hpp"

namespace penstock::kernels {

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
