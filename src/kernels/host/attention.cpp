// Multi-head attention in steps: four projections, two batched products, one softmax. The gradient goes the
// same way backwards; gradients of the projected query, key and value are passed to the weight gradient.
//
// Vaswani et al., "Attention Is All You Need", NIPS 2017, section 3.2.2. Differs: keys and values may have
// other widths than the queries.

#include "host/attention_core.hpp"
#include "host/dense.hpp"
#include "host/product.hpp"
#include "host/softmax.hpp"

namespace penstock::kernels::host {
namespace {

struct AttentionSizes : AttentionHeads {
  DenseShape projection(std::size_t which) const {
    if (which == kResult) return {samples * a.queries, a.inner, a.hidden, a.last_bias, type};
    const std::int64_t in[] = {a.hidden, a.key_width, a.value_width};
    return {samples * (which == kQuery ? a.queries : a.keys), in[which], a.inner, a.bias, type};
  }
};

constexpr std::size_t kShares = 3, kContext = 4;  ///< saved in addition to the projected query, key and value

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

void attention_forward(KernelProgram& program, const AttentionSizes& s) {
  for (const std::size_t i : {kQuery, kKey, kValue})
    dense_forward(program, s.projection(i), input(i), weights(i), bias(i), saved(i));
  const PlacedTensor shares = s.scores(saved(kShares));
  multiply(program, s.queries(saved(kQuery)), transposed(s.keys(saved(kKey))), shares, s.a.scale());
  softmax_forward(program, s.score_rows(), shares.where, shares.where);
  multiply(program, shares, s.keys(saved(kValue)), s.queries(saved(kContext)));
  dense_forward(program, s.projection(kResult), saved(kContext), weights(kResult), bias(kResult), kOutput);
}

void attention_input_gradient(KernelProgram& program, const AttentionSizes& s) {
  const TensorLocation context = program.scratch(s.projection(kResult).x()).where;
  dense_input_gradient(program, s.projection(kResult), kOutputGradient, weights(kResult), context);
  const PlacedTensor shares = s.scores(saved(kShares)),
                     gradient = s.scores(program.scratch(s.score_rows()).where);
  multiply(program, transposed(shares), s.queries(context), s.keys(handed(kValue)));
  multiply(program, s.queries(context), transposed(s.keys(saved(kValue))), gradient);
  softmax_gradient(program, s.score_rows(), shares.where, gradient.where, gradient.where);
  multiply(program, gradient, s.keys(saved(kKey)), s.queries(handed(kQuery)), s.a.scale());
  multiply(program, transposed(gradient), s.queries(saved(kQuery)), s.keys(handed(kKey)), s.a.scale());
  for (const std::size_t i : {kQuery, kKey, kValue})
    dense_input_gradient(program, s.projection(i), handed(i), weights(i), input_gradient(i));
}

void attention_weight_gradient(KernelProgram& program, const AttentionSizes& s) {
  for (const std::size_t i : {kQuery, kKey, kValue})
    dense_weight_gradient(program, s.projection(i), input(i), handed(i), parameter_gradient(i),
                          parameter_gradient(4 + i));
  dense_weight_gradient(program, s.projection(kResult), saved(kContext), kOutputGradient,
                        parameter_gradient(kResult), parameter_gradient(4 + kResult));
}

}  // namespace

void build_attention(KernelDraft& draft) {
  const AttentionSizes sizes{{draft.samples, attention(draft.op), draft.type}};
  add_slots(draft, sizes.a);
  attention_forward(draft.forward, sizes);
  attention_input_gradient(draft.input_gradient, sizes);
  attention_weight_gradient(draft.weight_gradient, sizes);
}

}  // namespace penstock::kernels::host
