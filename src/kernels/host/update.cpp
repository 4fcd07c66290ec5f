#include "host/update.hpp"

#include "host/formats.hpp"
#include "host/threads.hpp"
#include "update_step.hpp"

namespace penstock::kernels::host {
namespace {

/// In-place updates are a separate case: two names for one array would prevent vector instructions.
template <class Format, UpdateRule::RuleKind kind, bool in_place>
void sweep(const UpdateStep& step, const UpdateArrays& a, std::int64_t count) {
  auto* parameters = write<Format>(a.parameters);
  const auto* before = read<Format>(a.before);
  const auto* gradient = read<Format>(a.gradient);
  parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float w = a.master != nullptr ? a.master[i] : Format::load(in_place ? parameters[i] : before[i]);
      const float next = step.next<kind>(w, Format::load(gradient[i]), a, i);
      if (a.master != nullptr) a.master[i] = next;
      parameters[i] = Format::store(next);
    }
  });
}

class HostUpdate : public OptimizerStep {
 public:
  HostUpdate(const UpdateRule& rule, std::int64_t count, Element element, int threads)
      : rule_(rule),
        count_(count),
        element_(element),
        threads_(threads),
        state_(update_state(rule, count, element)) {}
  const std::vector<Slot>& state() const override { return state_; }
  void run(Buffer& parameters, const Buffer& before, const Buffer& gradient, std::span<Buffer* const> state,
           std::int64_t step, Stream&) override;

 private:
  UpdateRule rule_;
  std::int64_t count_;
  Element element_;
  int threads_;
  std::vector<Slot> state_;
};

void HostUpdate::run(Buffer& parameters, const Buffer& before, const Buffer& gradient,
                     std::span<Buffer* const> state, std::int64_t step, Stream&) {
  const UpdateArrays arrays =
      update_arrays(state_, count_, element_, parameters, before, gradient, state, step);
  const ThreadCount lent(threads_);
  with_format(element_, [&](auto format) {
    with_kind(rule_.kind, [&](auto kind) {
      constexpr auto rule = decltype(kind)::value;
      const UpdateStep now(rule_, step);
      if (arrays.before == arrays.parameters)
        sweep<decltype(format), rule, true>(now, arrays, count_);
      else
        sweep<decltype(format), rule, false>(now, arrays, count_);
    });
  });
}

}  // namespace

std::unique_ptr<OptimizerStep> make_host_update(const UpdateRule& rule, std::int64_t count, Element element,
                                                int threads) {
  return std::make_unique<HostUpdate>(rule, count, element, threads);
}

}  // namespace penstock::kernels::host
