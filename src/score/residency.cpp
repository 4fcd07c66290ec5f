#include "residency.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "most_at.hpp"

namespace penstock::score {
namespace {

constexpr std::size_t kChords = 64;

/// Concave increasing function on [0, longest], stored as values at equal distances; constant beyond.
class Concave {
 public:
  explicit Concave(double longest) : step_(longest / kChords) {}
  double at(double x) const {
    const double place = x / step_;
    if (place >= kChords) return values_.back();
    const auto k = static_cast<std::size_t>(place);
    return values_[k] + (place - static_cast<double>(k)) * (values_[k + 1] - values_[k]);
  }
  double point(std::size_t k) const { return static_cast<double>(k) * step_; }
  double& operator[](std::size_t k) { return values_[k]; }
  void flatten() { values_.fill(values_.front()); }

 private:
  double step_;
  std::array<double, kChords + 1> values_{};
};

/// The Lagrangian with weight `held` for bytes and 1 - held for work.
double relaxed(std::span<const Resident> way, double other, double left, double longest, double held,
               const std::function<void()>& check) {
  const double work = 1 - held, byte = held / left;
  Concave before(longest);  // minimum cost of the operators so far, by the time spent behind them
  for (const Resident& op : way) {
    if (check) check();
    if (op.input_gradient == 0) before.flatten();  // no gradient for earlier operators comes through
    Concave with(longest);
    for (std::size_t k = 0; k <= kChords; ++k) {
      const double behind = with.point(k), stay = behind + op.input_gradient;
      const double core = std::min(byte * op.core_bytes * stay, work * op.core_again);
      const double bytes = std::min(byte * op.bytes * stay + core, work * op.again);
      double least = std::numeric_limits<double>::infinity();
      for (const Stay& each : *op.choices)
        least = std::min(least, work * each.work + before.at(behind + each.time));
      with[k] = bytes + least;
    }
    before = with;
  }
  return work * other + before[0];
}

}  // namespace

std::vector<Stay> corners(const std::vector<Stay>& choices) {
  constexpr double kRounding = 1e-9;
  std::vector<Stay> out;
  for (const Stay& next : choices) {
    while (out.size() >= 2) {
      const Stay &first = out[out.size() - 2], &last = out.back();
      const double part = (last.time - first.time) / (next.time - first.time);
      const double chord = first.work + part * (next.work - first.work);
      if (last.work <= chord * (1 + kRounding)) break;
      out.pop_back();
    }
    out.push_back(next);
  }
  return out;
}

double residency(std::span<const Resident> way, double other, double left, double longest,
                 const std::function<void()>& check) {
  const auto at = [&](double held) { return relaxed(way, other, left, longest, held, check); };
  constexpr double kLittle = 1e-3;
  if (!(longest > 0) || at(kLittle) <= at(0)) return 0;
  return most_at(at);
}

}  // namespace penstock::score
