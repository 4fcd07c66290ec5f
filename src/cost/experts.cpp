#include "experts.hpp"

#include <algorithm>

namespace penstock::cost {
namespace {

constexpr int kPlainKernels = 4;

/// By expert, and of all; numbers read and written, in rows of the output.
struct ExpertBiases {
  int each, all;
  double rows;
};
constexpr std::array<ExpertBiases, 2> kBiases = {{{2, 1, 6}, {4, 1, 8}}};  // forward, backward

/// Numbers read and written, in rows of what is clamped.
struct ExpertClamps {
  int kernels;
  double rows;
};
constexpr std::array<ExpertClamps, 2> kClamps = {{{3, 4}, {3, 5}}};

}  // namespace

std::array<int, 2> expert_kernels(const graph::Experts& e) {
  std::array<int, 2> out{kPlainKernels, kPlainKernels};
  for (std::size_t pass = 0; pass < out.size(); ++pass) {
    if (e.bias) out[pass] += kBiases[pass].each * static_cast<int>(e.experts) + kBiases[pass].all;
    if (e.clamped) out[pass] += kClamps[pass].kernels;
  }
  return out;
}

ExpertWork expert_work(const graph::Experts& e, double samples, const OpShard& part) {
  // By tokens or samples a device has its part of the rows, else its part of every expert's width.
  const bool by_rows =
      part.partition == plan::Partition::sequence || part.partition == plan::Partition::batch;
  const double rows = static_cast<double>(e.rows) * samples * (by_rows ? part.part : 1),
               copies = rows * static_cast<double>(e.chosen), hidden = static_cast<double>(e.hidden),
               inner = static_cast<double>(e.inner) * (by_rows ? 1 : part.part),
               first = inner * static_cast<double>(e.matrices() - 1);
  ExpertWork out;
  out.experts = std::max(1.0, std::min(static_cast<double>(e.experts), copies));
  out.rows = copies / out.experts;
  out.layers = {{{hidden, first}, {inner, hidden}}};
  const double there_and_back = 2 * (rows + copies) * hidden;
  out.moved = {there_and_back + copies * (first + inner), there_and_back + copies * 2 * (first + inner), 0};
  for (std::size_t pass = 0; pass < kBiases.size(); ++pass) {
    if (e.bias) out.moved[pass] += copies * kBiases[pass].rows * hidden;
    if (e.clamped) out.moved[pass] += copies * kClamps[pass].rows * first;
  }
  return out;
}

}  // namespace penstock::cost
