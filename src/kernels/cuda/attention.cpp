// Multi-head attention in steps: four projections, two batched products, one softmax. Projected tensors are
// stored head by head, so that a product is one batch over samples and heads. The gradient goes the same way
// backwards; gradients of the projected query, key and value are passed to the weight gradient.
//
// Vaswani et al., "Attention Is All You Need", NIPS 2017, section 3.2.2. Differs: keys and values may have
// other widths than the queries.

#include "cuda/block.hpp"
#include "cuda/dense.hpp"
#include "cuda/product.hpp"
#include "cuda/softmax.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

enum ProjectionIndex : std::size_t {
  kQuery,
  kKey,
  kValue,
  kResult
};                                                ///< order of inputs, weights and biases
constexpr std::size_t kShares = 3, kContext = 4;  ///< saved in addition to query, key and value by head

struct AttentionSizes {
  std::int64_t samples;
  AttentionShape a;

  std::int64_t tokens(std::size_t which) const {
    return which == kKey || which == kValue ? a.keys : a.queries;
  }
  DenseShape projection(std::size_t which) const {
    if (which == kResult) return {samples * a.queries, a.inner, a.hidden, a.last_bias};
    const std::int64_t in[] = {a.hidden, a.key_width, a.value_width};
    return {samples * tokens(which), in[which], a.inner, a.bias};
  }
  HeadShape heads(std::size_t which) const { return {samples, tokens(which), a.heads, a.head()}; }
  std::int64_t batch() const { return samples * a.heads; }
  std::int64_t shares() const { return batch() * a.queries * a.keys; }
  std::int64_t share_rows() const { return batch() * a.queries; }
  std::int64_t elements() const { return samples * std::max(a.queries, a.keys) * a.inner; }
};

TensorLocation weights(std::size_t which) {
  return parameter(which);
}
TensorLocation bias(std::size_t which) {
  return parameter(4 + which);
}

void add_slots(KernelDraft& draft, const AttentionShape& a) {
  const auto slot = [&](const char* name, std::int64_t rows, std::int64_t width) {
    return Slot{name, {draft.samples, rows, width}, draft.element};
  };
  draft.slots.saved = {slot("query", a.queries, a.inner), slot("key", a.keys, a.inner),
                       slot("value", a.keys, a.inner), slot("shares", a.heads * a.queries, a.keys),
                       slot("context", a.queries, a.inner)};
  draft.slots.handed = {slot("query_gradient", a.queries, a.inner), slot("key_gradient", a.keys, a.inner),
                        slot("value_gradient", a.keys, a.inner)};
}

/// One product per sample and head.
void multiply(KernelProgram& program, const KernelDraft& draft, const AttentionSizes& s, std::int64_t rows,
              std::int64_t inner, std::int64_t columns, ProductFactor a, ProductFactor b, TensorLocation c,
              float factor = 1) {
  multiply(program, draft.libraries, draft.precision,
           {.rows = rows, .inner = inner, .columns = columns, .batch = s.batch(), .factor = factor}, a, b, c);
}

void forward(KernelDraft& draft, const AttentionSizes& s) {
  KernelProgram& program = draft.forward;
  const AttentionShape& a = s.a;
  const TensorLocation plain = program.scratch(s.elements() * size(draft.element));
  for (const std::size_t i : {kQuery, kKey, kValue}) {
    dense_forward(program, draft, s.projection(i), input(i), weights(i), bias(i), plain);
    tokens_to_heads(program, draft.element, s.heads(i), plain, saved(i));
  }
  multiply(program, draft, s, a.queries, a.head(), a.keys, {saved(kQuery)}, {saved(kKey), true},
           saved(kShares), a.scale());
  softmax_forward(program, draft.element, s.share_rows(), a.keys, saved(kShares), saved(kShares));
  multiply(program, draft, s, a.queries, a.keys, a.head(), {saved(kShares)}, {saved(kValue)}, plain);
  heads_to_tokens(program, draft.element, s.heads(kResult), plain, saved(kContext));
  dense_forward(program, draft, s.projection(kResult), saved(kContext), weights(kResult), bias(kResult),
                kOutput);
}

/// Leaves the gradient of the scores in `scores`; `one` and `other` are scratch.
void score_and_value_gradients(KernelDraft& draft, const AttentionSizes& s, TensorLocation one,
                               TensorLocation other, TensorLocation scores) {
  KernelProgram& program = draft.input_gradient;
  const AttentionShape& a = s.a;
  dense_input_gradient(program, draft, s.projection(kResult), kOutputGradient, weights(kResult), one);
  tokens_to_heads(program, draft.element, s.heads(kResult), one, other);  // context by head
  multiply(program, draft, s, a.queries, a.head(), a.keys, {other}, {saved(kValue), true}, scores);
  multiply(program, draft, s, a.keys, a.queries, a.head(), {saved(kShares), true}, {other}, one);
  heads_to_tokens(program, draft.element, s.heads(kValue), one, handed(kValue));
  softmax_gradient(program, draft.element, s.share_rows(), a.keys, saved(kShares), scores, scores);
}

void input_gradients(KernelDraft& draft, const AttentionSizes& s) {
  KernelProgram& program = draft.input_gradient;
  const AttentionShape& a = s.a;
  const std::int64_t bytes = size(draft.element);
  const TensorLocation one = program.scratch(s.elements() * bytes),
                       other = program.scratch(s.elements() * bytes),
                       scores = program.scratch(s.shares() * bytes);
  score_and_value_gradients(draft, s, one, other, scores);
  multiply(program, draft, s, a.queries, a.keys, a.head(), {scores}, {saved(kKey)}, one, a.scale());
  heads_to_tokens(program, draft.element, s.heads(kQuery), one, handed(kQuery));
  multiply(program, draft, s, a.keys, a.queries, a.head(), {scores, true}, {saved(kQuery)}, one, a.scale());
  heads_to_tokens(program, draft.element, s.heads(kKey), one, handed(kKey));
  for (const std::size_t i : {kQuery, kKey, kValue})
    dense_input_gradient(program, draft, s.projection(i), handed(i), weights(i), input_gradient(i));
}

void weight_gradients(KernelDraft& draft, const AttentionSizes& s) {
  KernelProgram& program = draft.weight_gradient;
  for (const std::size_t i : {kQuery, kKey, kValue})
    dense_weight_gradient(program, draft, s.projection(i), input(i), handed(i), parameter_gradient(i),
                          parameter_gradient(4 + i));
  dense_weight_gradient(program, draft, s.projection(kResult), saved(kContext), kOutputGradient,
                        parameter_gradient(kResult), parameter_gradient(4 + kResult));
}

}  // namespace

void build_attention(KernelDraft& draft) {
  const AttentionSizes sizes{draft.samples, attention(draft.op)};
  add_slots(draft, sizes.a);
  forward(draft, sizes);
  input_gradients(draft, sizes);
  weight_gradients(draft, sizes);
}

}  // namespace penstock::kernels::cuda
