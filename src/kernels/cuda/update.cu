#include "cuda/elements.hpp"
#include "cuda/update.hpp"

namespace penstock::kernels::cuda {
namespace {

template <class T, UpdateRule::RuleKind kind>
void sweep(const LaunchQueue& queue, const UpdateStep& step, const UpdateArrays& a, std::int64_t count) {
  each(queue, count, [=] PENSTOCK_DEVICE(std::int64_t i) {
    const float w = a.master != nullptr ? a.master[i] : load(static_cast<const T*>(a.before)[i]);
    const float next = step.next<kind>(w, load(static_cast<const T*>(a.gradient)[i]), a, i);
    if (a.master != nullptr) a.master[i] = next;
    store(static_cast<T*>(a.parameters)[i], next);
  });
}

}  // namespace

void update(const LaunchQueue& queue, const UpdateStep& step, const UpdateArrays& arrays, Element element,
            std::int64_t count) {
  with_element(element, [&](auto zero) {
    with_kind(step.rule.kind,
              [&](auto kind) { sweep<decltype(zero), decltype(kind)::value>(queue, step, arrays, count); });
  });
}

}  // namespace penstock::kernels::cuda
