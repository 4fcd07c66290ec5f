#include "penstock/cost/envelope.hpp"

#include <algorithm>

namespace penstock::cost {
namespace {

bool covers(const MemoryLine& a, const MemoryLine& b) {
  return a.fixed >= b.fixed && a.each >= b.each;
}

double product(core::Bytes a, core::Bytes b) {
  return static_cast<double>(a.value()) * static_cast<double>(b.value());
}

/// True if `middle` is nowhere above both others. Rounding keeps it.
bool covered(const MemoryLine& flat, const MemoryLine& middle, const MemoryLine& steep) {
  constexpr double kRounding = 1e-12;
  return product(flat.fixed - middle.fixed, steep.each - middle.each) >
         product(middle.fixed - steep.fixed, middle.each - flat.each) * (1 + kRounding);
}

}  // namespace

void MemoryEnvelope::raise(const MemoryLine& line) {
  if (std::ranges::any_of(lines(), [&](const MemoryLine& known) { return covers(known, line); })) return;
  for (std::size_t i = size_; i-- > 0;)
    if (covers(line, lines_[i])) remove(i);
  insert(line);
  drop_covered();
  if (size_ > kLines) join_nearest();
}

core::Bytes MemoryEnvelope::at(std::int64_t samples) const {
  core::Bytes most;
  for (const MemoryLine& line : lines()) most = std::max(most, line.at(samples));
  return most;
}

void MemoryEnvelope::insert(const MemoryLine& line) {
  std::size_t at = size_++;
  for (; at > 0 && lines_[at - 1].each > line.each; --at) lines_[at] = lines_[at - 1];
  lines_[at] = line;
}

/// One that is gone may leave another covered.
void MemoryEnvelope::drop_covered() {
  for (std::size_t i = 1; i + 1 < size_;)
    if (covered(lines_[i - 1], lines_[i], lines_[i + 1])) {
      remove(i);
      i = std::max<std::size_t>(1, i - 1);
    } else {
      ++i;
    }
}

void MemoryEnvelope::join_nearest() {
  const auto apart = [&](std::size_t i) {
    return product(lines_[i].fixed - lines_[i + 1].fixed, lines_[i + 1].each - lines_[i].each);
  };
  std::size_t nearest = 0;
  for (std::size_t i = 1; i + 1 < size_; ++i)
    if (apart(i) < apart(nearest)) nearest = i;
  const MemoryLine both{lines_[nearest].fixed, lines_[nearest + 1].each};
  remove(nearest);
  lines_[nearest] = both;
  drop_covered();
}

void MemoryEnvelope::remove(std::size_t i) {
  for (--size_; i < size_; ++i) lines_[i] = lines_[i + 1];
  lines_[size_] = {};
}

}  // namespace penstock::cost
