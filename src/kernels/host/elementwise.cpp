// A sum of tensors, whose gradient is passed on unchanged, or their product.

#include <cstring>

#include "geometry.hpp"
#include "host/formats.hpp"
#include "host/kernel.hpp"
#include "host/threads.hpp"

namespace penstock::kernels::host {
namespace {

using Find = KernelProgram::Find;

void sum_forward(KernelDraft& draft, std::size_t terms, std::int64_t count) {
  const Desc layout = plain({count}, draft.type);
  const dnnl::sum::primitive_desc description(layout, std::vector<float>(terms, 1),
                                              std::vector<Desc>(terms, layout), draft.forward.engine(),
                                              own_scratchpad());
  std::vector<std::pair<int, PlacedTensor>> arguments = {{DNNL_ARG_DST, {kOutput, layout}}};
  for (std::size_t i = 0; i < terms; ++i)
    arguments.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), {input(i), layout}});
  draft.forward.primitive(description, arguments);
}

/// Copies the output gradient to a term's gradient, unless both are one buffer.
void hand_on(KernelDraft& draft, std::size_t term, std::int64_t count) {
  draft.input_gradient.call("copy", [=, bytes = size(draft.element)](const Find& at) {
    const auto* from = static_cast<const char*>(at(kOutputGradient));
    auto* to = static_cast<char*>(at(input_gradient(term)));
    if (from == to) return;
    parallel_ranges(count * bytes, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  });
}

/// to = the product of all `factors`.
template <class Format>
void multiply_all(const Find& at, const std::vector<TensorLocation>& factors, TensorLocation to,
                  std::int64_t count) {
  std::vector<const typename Format::Stored*> from;
  for (const TensorLocation factor : factors) from.push_back(read<Format>(at(factor)));
  auto* result = write<Format>(at(to));
  parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float value = 1;
      for (const auto* factor : from) value *= Format::load(factor[i]);
      result[i] = Format::store(value);
    }
  });
}

void product_step(KernelProgram& program, const KernelDraft& draft, std::vector<TensorLocation> factors,
                  TensorLocation to, std::int64_t count) {
  program.call("product", [factors = std::move(factors), to, count, element = draft.element](const Find& at) {
    with_format(element, [&](auto format) { multiply_all<decltype(format)>(at, factors, to, count); });
  });
}

/// All inputs, with `instead` in place of number `without`.
std::vector<TensorLocation> others(std::size_t terms, std::size_t without, TensorLocation instead) {
  std::vector<TensorLocation> factors;
  for (std::size_t i = 0; i < terms; ++i) factors.push_back(i == without ? instead : input(i));
  return factors;
}

}  // namespace

void build_elementwise(KernelDraft& draft) {
  const Elementwise e = elementwise(draft.op);
  const auto terms = static_cast<std::size_t>(e.terms);
  const std::int64_t count = draft.samples * e.elements;
  if (e.product)
    product_step(draft.forward, draft, others(terms, terms, {}), kOutput, count);
  else
    sum_forward(draft, terms, count);
  for (std::size_t i = 0; i < terms; ++i)
    if (e.product)
      product_step(draft.input_gradient, draft, others(terms, i, kOutputGradient), input_gradient(i), count);
    else
      hand_on(draft, i, count);
}

}  // namespace penstock::kernels::host
