#pragma once
// Numbers that remember how they came about: reverse-mode differentiation in float64.

#include <cmath>
#include <utility>
#include <vector>

namespace reference {

/// One arithmetic step: its result depends on up to two earlier ones, with these slopes.
struct Step {
  int from[2];
  double slope[2];
};

inline std::vector<Step>& tape() {
  static thread_local std::vector<Step> steps;
  return steps;
}

struct Var {
  double value = 0;
  int step = -1;  ///< -1: a constant

  Var() = default;
  Var(double constant) : value(constant) {}  // NOLINT: constants take part in sums
  static Var leaf(double value) { return result(value, {{-1, -1}, {0, 0}}); }
  static Var result(double value, Step how) {
    Var v(value);
    v.step = static_cast<int>(tape().size());
    tape().push_back(how);
    return v;
  }
};

inline Var one(const Var& x, double value, double slope) {
  return Var::result(value, {{x.step, -1}, {slope, 0}});
}
inline Var two(const Var& a, const Var& b, double value, double to_a, double to_b) {
  return Var::result(value, {{a.step, b.step}, {to_a, to_b}});
}

inline Var operator+(const Var& a, const Var& b) {
  return two(a, b, a.value + b.value, 1, 1);
}
inline Var operator-(const Var& a, const Var& b) {
  return two(a, b, a.value - b.value, 1, -1);
}
inline Var operator*(const Var& a, const Var& b) {
  return two(a, b, a.value * b.value, b.value, a.value);
}
inline Var operator/(const Var& a, const Var& b) {
  return two(a, b, a.value / b.value, 1 / b.value, -a.value / (b.value * b.value));
}
inline Var& operator+=(Var& a, const Var& b) {
  return a = a + b;
}
inline Var exp(const Var& x) {
  return one(x, std::exp(x.value), std::exp(x.value));
}
inline Var sqrt(const Var& x) {
  return one(x, std::sqrt(x.value), 0.5 / std::sqrt(x.value));
}
inline Var tanh(const Var& x) {
  const double y = std::tanh(x.value);
  return one(x, y, 1 - y * y);
}
inline Var erf(const Var& x) {
  return one(x, std::erf(x.value), 2 / std::sqrt(M_PI) * std::exp(-x.value * x.value));
}

inline double value(double x) {
  return x;
}
inline double value(const Var& x) {
  return x.value;
}

/// d(sum of seeds * results) / d(every step), by step.
inline std::vector<double> slopes(const std::vector<Var>& results, const std::vector<double>& seeds) {
  std::vector<double> slope(tape().size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].step >= 0) slope[results[i].step] += seeds[i];
  for (int i = static_cast<int>(slope.size()) - 1; i >= 0; --i)
    for (const int side : {0, 1})
      if (const int from = tape()[i].from[side]; from >= 0) slope[from] += slope[i] * tape()[i].slope[side];
  return slope;
}

}  // namespace reference
