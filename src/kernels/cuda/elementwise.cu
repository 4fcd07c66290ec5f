// A sum of tensors, whose gradient is passed on unchanged, or their product. More than kMost terms need
// several sweeps, each of which continues from the result of the last.

#include "cuda/elements.hpp"
#include "cuda/kernel.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

constexpr int kMost = 16;

template <class T>
struct TermList {
  const T* at[kMost];
  int count;
  bool product, first;  ///< first: the result begins here
};

template <class T>
void sweep(const LaunchQueue& queue, const TermList<T>& terms, std::int64_t count, T* result) {
  each(queue, count, [=] PENSTOCK_DEVICE(std::int64_t i) {
    float value = terms.first ? load(terms.at[0][i]) : load(result[i]);
    for (int k = terms.first ? 1 : 0; k < terms.count; ++k) {
      const float term = load(terms.at[k][i]);
      value = terms.product ? value * term : value + term;
    }
    store(result[i], value);
  });
}

template <class T>
void sweep_all(const KernelProgram::StepContext& run, const std::vector<TensorLocation>& from, bool product,
               std::int64_t count, TensorLocation to) {
  for (std::size_t begin = 0; begin < from.size(); begin += kMost) {
    TermList<T> terms{{}, 0, product, begin == 0};
    for (std::size_t k = begin; k < from.size() && terms.count < kMost; ++k)
      terms.at[terms.count++] = run.as<const T>(from[k]);
    sweep(run.queue, terms, count, run.as<T>(to));
  }
}

void combine(KernelProgram& program, Element element, std::vector<TensorLocation> from, bool product,
             std::int64_t count, TensorLocation to) {
  program.call(product           ? "product"
               : from.size() > 1 ? "sum"
                                 : "copy",
               [=](const KernelProgram::StepContext& run) {
                 with_element(element,
                              [&](auto zero) { sweep_all<decltype(zero)>(run, from, product, count, to); });
               });
}

}  // namespace

void build_elementwise(KernelDraft& draft) {
  const Elementwise e = elementwise(draft.op);
  const std::int64_t count = draft.samples * e.elements;
  std::vector<TensorLocation> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(e.terms); ++i) all.push_back(input(i));
  combine(draft.forward, draft.element, all, e.product, count, kOutput);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<TensorLocation> factors = e.product ? all : std::vector<TensorLocation>{kOutputGradient};
    if (e.product) factors[i] = kOutputGradient;
    combine(draft.input_gradient, draft.element, factors, e.product, count, input_gradient(i));
  }
}

}  // namespace penstock::kernels::cuda
