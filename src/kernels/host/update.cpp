#include "host/update.hpp"

#include <cmath>

#include "host/numbers.hpp"
#include "host/threads.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels::host {
namespace {

using Kind = UpdateRule::Kind;

/// Addresses; null where the rule has no such state.
struct Arrays {
  void* parameters;
  const void* gradient;
  float *moment, *variance, *master;
};

/// The rule at one step, its powers worked out.
struct Step {
  UpdateRule rule;
  float first, second;  ///< 1 / (1 - beta^t)

  Step(const UpdateRule& r, std::int64_t t) : rule(r), first(left(r.beta1, t)), second(left(r.beta2, t)) {}
  static float left(float beta, std::int64_t t) {
    return static_cast<float>(1 / (1 - std::pow(double{beta}, static_cast<double>(t))));
  }
  /// Parameter i after the step; its moment and variance are changed where the rule has them.
  template <Kind kind>
  float next(float w, float g, const Arrays& a, std::int64_t i) const {
    if constexpr (kind == Kind::sgd)
      return w - rule.rate * g;
    else if constexpr (kind == Kind::momentum)
      return w - rule.rate * (a.moment[i] = rule.momentum * a.moment[i] + g);
    else {
      a.moment[i] = rule.beta1 * a.moment[i] + (1 - rule.beta1) * g;
      a.variance[i] = rule.beta2 * a.variance[i] + (1 - rule.beta2) * g * g;
      return w - rule.rate * (a.moment[i] * first) / (std::sqrt(a.variance[i] * second) + rule.epsilon);
    }
  }
};

std::vector<Slot> state_of(const UpdateRule& rule, std::int64_t count, Element element) {
  std::vector<Slot> state;
  if (rule.kind != Kind::sgd) state.push_back({"moment", {count}, Element::fp32});
  if (rule.kind == Kind::adam) state.push_back({"variance", {count}, Element::fp32});
  if (element != Element::fp32) state.push_back({"master", {count}, Element::fp32});
  return state;
}

template <class Numbers, Kind kind>
void sweep(const Step& step, const Arrays& a, std::int64_t count) {
  auto* parameters = write<Numbers>(a.parameters);
  const auto* gradient = read<Numbers>(a.gradient);
  parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float w = a.master != nullptr ? a.master[i] : Numbers::load(parameters[i]);
      const float next = step.next<kind>(w, Numbers::load(gradient[i]), a, i);
      if (a.master != nullptr) a.master[i] = next;
      parameters[i] = Numbers::store(next);
    }
  });
}

template <class Numbers>
void sweep(const Step& step, const Arrays& a, std::int64_t count) {
  switch (step.rule.kind) {
    case Kind::sgd:
      return sweep<Numbers, Kind::sgd>(step, a, count);
    case Kind::momentum:
      return sweep<Numbers, Kind::momentum>(step, a, count);
    case Kind::adam:
      return sweep<Numbers, Kind::adam>(step, a, count);
  }
}

class HostUpdate : public Update {
 public:
  HostUpdate(const UpdateRule& rule, std::int64_t count, Element element, int threads)
      : rule_(rule),
        count_(count),
        element_(element),
        threads_(threads),
        state_(state_of(rule, count, element)) {}
  const std::vector<Slot>& state() const override { return state_; }
  void run(Buffer& parameters, const Buffer& gradient, std::span<Buffer* const> state, std::int64_t step,
           Stream&) override;

 private:
  UpdateRule rule_;
  std::int64_t count_;
  Element element_;
  int threads_;
  std::vector<Slot> state_;
};

void HostUpdate::run(Buffer& parameters, const Buffer& gradient, std::span<Buffer* const> state,
                     std::int64_t step, Stream&) {
  core::require(step >= 1 && state.size() == state_.size(),
                "an update gets its state, and counts steps from 1");
  core::require(parameters.count() == count_ && gradient.count() == count_ &&
                    parameters.element() == element_ && gradient.element() == element_,
                "an update gets parameters and gradient of its size");
  Arrays arrays{parameters.data(), gradient.data(), nullptr, nullptr, nullptr};
  float** const places[] = {&arrays.moment, &arrays.variance, &arrays.master};
  constexpr std::string_view names[] = {"moment", "variance", "master"};
  for (std::size_t i = 0; i < state.size(); ++i) {
    core::require(state[i] != nullptr && state[i]->count() == count_ && state[i]->element() == Element::fp32,
                  "state fits the parameters");
    for (std::size_t k = 0; k < 3; ++k)
      if (state_[i].name == names[k]) *places[k] = static_cast<float*>(state[i]->data());
  }
  const ThreadCount lent(threads_);
  with_numbers(element_, [&](auto numbers) { sweep<decltype(numbers)>(Step(rule_, step), arrays, count_); });
}

}  // namespace

std::unique_ptr<Update> make_host_update(const UpdateRule& rule, std::int64_t count, Element element,
                                         int threads) {
  return std::make_unique<HostUpdate>(rule, count, element, threads);
}

}  // namespace penstock::kernels::host
