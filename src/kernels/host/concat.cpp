// Joins rows side by side, and splits them.

#include <cstring>

#include "geometry.hpp"
#include "host/kernel.hpp"
#include "host/threads.hpp"

namespace penstock::kernels::host {
namespace {

/// A column block of a matrix of rows `whole` bytes long.
struct ColumnBlock {
  std::int64_t rows, whole, offset, width;  ///< bytes, except `rows`
};

/// Copies `part` (dense) into its block of the matrix, or back.
void copy_block(const ColumnBlock& b, char* matrix, char* part, bool into) {
  parallel_each(b.rows, b.width, [&](std::int64_t row) {
    char* inside = matrix + row * b.whole + b.offset;
    char* outside = part + row * b.width;
    std::memcpy(into ? inside : outside, into ? outside : inside, static_cast<std::size_t>(b.width));
  });
}

}  // namespace

void build_concat(KernelDraft& draft) {
  const Concat c = concat(draft.op);
  const std::int64_t bytes = size(draft.element), whole = draft.slots.output.shape.back() * bytes;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < c.widths.size(); ++i) {
    const ColumnBlock block{draft.samples * c.rows, whole, offset, c.widths[i] * bytes};
    const auto step = [=](TensorLocation matrix, TensorLocation part, bool into) {
      return [=](const KernelProgram::Find& at) {
        copy_block(block, static_cast<char*>(at(matrix)), static_cast<char*>(at(part)), into);
      };
    };
    draft.forward.call("copy", step(kOutput, input(i), true));
    draft.input_gradient.call("copy", step(kOutputGradient, input_gradient(i), false));
    offset += block.width;
  }
}

}  // namespace penstock::kernels::host
