#pragma once
// Numbers that remember how they came about: reverse-mode differentiation in float64.

#include <cmath>
#include <utility>
#include <vector>

namespace reference {

/// One arithmetic step: its result depends on up to two earlier ones, with these slopes.
struct TapeStep {
  int from[2];
  double slope[2];
};

inline std::vector<TapeStep>& tape() {
  static thread_local std::vector<TapeStep> steps;
  return steps;
}

struct TapeVariable {
  double value = 0;
  int step = -1;  ///< -1: a constant

  TapeVariable() = default;
  TapeVariable(double constant) : value(constant) {}  // NOLINT: constants take part in sums
  static TapeVariable leaf(double value) { return result(value, {{-1, -1}, {0, 0}}); }
  static TapeVariable result(double value, TapeStep how) {
    TapeVariable v(value);
    v.step = static_cast<int>(tape().size());
    tape().push_back(how);
    return v;
  }
};

inline TapeVariable one(const TapeVariable& x, double value, double slope) {
  return TapeVariable::result(value, {{x.step, -1}, {slope, 0}});
}
inline TapeVariable two(const TapeVariable& a, const TapeVariable& b, double value, double to_a,
                        double to_b) {
  return TapeVariable::result(value, {{a.step, b.step}, {to_a, to_b}});
}

inline TapeVariable operator+(const TapeVariable& a, const TapeVariable& b) {
  return two(a, b, a.value + b.value, 1, 1);
}
inline TapeVariable operator-(const TapeVariable& a, const TapeVariable& b) {
  return two(a, b, a.value - b.value, 1, -1);
}
inline TapeVariable operator*(const TapeVariable& a, const TapeVariable& b) {
  return two(a, b, a.value * b.value, b.value, a.value);
}
inline TapeVariable operator/(const TapeVariable& a, const TapeVariable& b) {
  return two(a, b, a.value / b.value, 1 / b.value, -a.value / (b.value * b.value));
}
inline TapeVariable& operator+=(TapeVariable& a, const TapeVariable& b) {
  return a = a + b;
}
inline TapeVariable exp(const TapeVariable& x) {
  return one(x, std::exp(x.value), std::exp(x.value));
}
inline TapeVariable sqrt(const TapeVariable& x) {
  return one(x, std::sqrt(x.value), 0.5 / std::sqrt(x.value));
}
inline TapeVariable tanh(const TapeVariable& x) {
  const double y = std::tanh(x.value);
  return one(x, y, 1 - y * y);
}
inline TapeVariable erf(const TapeVariable& x) {
  return one(x, std::erf(x.value), 2 / std::sqrt(M_PI) * std::exp(-x.value * x.value));
}

inline double value(double x) {
  return x;
}
inline double value(const TapeVariable& x) {
  return x.value;
}

/// d(sum of seeds * results) / d(every step), by step.
inline std::vector<double> slopes(const std::vector<TapeVariable>& results,
                                  const std::vector<double>& seeds) {
  std::vector<double> slope(tape().size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].step >= 0) slope[results[i].step] += seeds[i];
  for (int i = static_cast<int>(slope.size()) - 1; i >= 0; --i)
    for (const int side : {0, 1})
      if (const int from = tape()[i].from[side]; from >= 0) slope[from] += slope[i] * tape()[i].slope[side];
  return slope;
}

}  // namespace reference
