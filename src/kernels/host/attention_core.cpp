#include "host/attention_core.hpp"

#include <algorithm>
#include <cmath>

#include "host/formats.hpp"
#include "host/product.hpp"
#include "host/threads.hpp"

namespace penstock::kernels::host {
namespace {

using Find = KernelProgram::Find;

constexpr std::size_t kCoreShares = 0, kLogSums = 1;  ///< saved

/// Converts scores to shares, and stores the logarithm of the sum of each row's exponentials.
template <class Format>
void scores_to_shares(const Find& at, const AttentionHeads& heads) {
  auto* scores = write<Format>(at(saved(kCoreShares)));
  auto* log_sums = static_cast<float*>(at(saved(kLogSums)));
  const std::int64_t keys = heads.a.keys;
  parallel_each(heads.rows(), keys, [&](std::int64_t row) {
    auto* own = scores + row * keys;
    float most = Format::load(own[0]), sum = 0;
    for (std::int64_t k = 1; k < keys; ++k) most = std::max(most, Format::load(own[k]));
    for (std::int64_t k = 0; k < keys; ++k) sum += std::exp(Format::load(own[k]) - most);
    log_sums[row] = most + std::log(sum);
    for (std::int64_t k = 0; k < keys; ++k)
      own[k] = Format::store(std::exp(Format::load(own[k]) - log_sums[row]));
  });
}

/// Product of a row's output and its gradient: the mean of its shares' gradients.
template <class Format>
float mean_gradient(const Find& at, const AttentionHeads& heads, std::int64_t row) {
  const AttentionShape& a = heads.a;
  const std::int64_t query = row % a.queries, head = row / a.queries % a.heads,
                     sample = row / (a.queries * a.heads),
                     first = (sample * a.queries + query) * a.inner + head * a.head();
  const auto *output = read<Format>(at(kOutput)), *gradient = read<Format>(at(kOutputGradient));
  float sum = 0;
  for (std::int64_t i = first; i < first + a.head(); ++i)
    sum += Format::load(output[i]) * Format::load(gradient[i]);
  return sum;
}

/// Converts gradients of shares to those of scores.
template <class Format>
void to_score_gradients(const Find& at, const AttentionHeads& heads, TensorLocation gradients) {
  const auto* shares = read<Format>(at(saved(kCoreShares)));
  auto* out = write<Format>(at(gradients));
  const std::int64_t keys = heads.a.keys;
  parallel_each(heads.rows(), keys, [&](std::int64_t row) {
    const float mean = mean_gradient<Format>(at, heads, row);
    for (std::int64_t i = row * keys; i < (row + 1) * keys; ++i)
      out[i] = Format::store(Format::load(shares[i]) * (Format::load(out[i]) - mean));
  });
}

void core_forward(KernelProgram& program, const AttentionHeads& heads, Element element) {
  const PlacedTensor shares = heads.scores(saved(kCoreShares));
  multiply(program, heads.queries(input(kQuery)), transposed(heads.keys(input(kKey))), shares,
           heads.a.scale());
  program.call("softmax", [=](const Find& at) {
    with_format(element, [&](auto format) { scores_to_shares<decltype(format)>(at, heads); });
  });
  multiply(program, shares, heads.keys(input(kValue)), heads.queries(kOutput));
}

void core_backward(KernelProgram& program, const AttentionHeads& heads, Element element) {
  const PlacedTensor shares = heads.scores(saved(kCoreShares)),
                     gradient = heads.scores(program.scratch(heads.score_rows()).where);
  const float scale = heads.a.scale();
  multiply(program, transposed(shares), heads.queries(kOutputGradient), heads.keys(input_gradient(kValue)));
  multiply(program, heads.queries(kOutputGradient), transposed(heads.keys(input(kValue))), gradient);
  program.call("softmax gradient", [=, where = gradient.where](const Find& at) {
    with_format(element, [&](auto format) { to_score_gradients<decltype(format)>(at, heads, where); });
  });
  multiply(program, gradient, heads.keys(input(kKey)), heads.queries(input_gradient(kQuery)), scale);
  multiply(program, transposed(gradient), heads.queries(input(kQuery)), heads.keys(input_gradient(kKey)),
           scale);
}

}  // namespace

void build_attention_core(KernelDraft& draft) {
  const AttentionHeads heads{draft.samples, attention(draft.op), draft.type};
  const AttentionShape& a = heads.a;
  draft.slots.saved = {{"shares", {draft.samples, a.heads * a.queries, a.keys}, draft.element},
                       {"log_sums", {draft.samples, a.heads, a.queries}, Element::fp32}};
  core_forward(draft.forward, heads, draft.element);
  core_backward(draft.input_gradient, heads, draft.element);
}

}  // namespace penstock::kernels::host
