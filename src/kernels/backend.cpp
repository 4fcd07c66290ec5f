#include "penstock/kernels/backend.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/kernels/collectives.hpp"

namespace penstock::kernels {

std::int64_t Slot::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::unique_ptr<Kernel> Backend::make_attention_core(const graph::Operator& op, std::int64_t, Precision) {
  throw core::BadInput(
      fmt::format("operator '{}': {} has no kernel for the core of attention", op.name, name()));
}

std::unique_ptr<Collectives> Backend::collectives(const std::vector<Backend*>&, const Invitation&) {
  return nullptr;
}

bool has_kernel(graph::OpKind kind) {
  using graph::OpKind;
  return kind != OpKind::input && kind != OpKind::reshape && kind != OpKind::profiled;
}

}  // namespace penstock::kernels
