#include "piper/piper_lattice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/order.hpp"

namespace penstock::planners {
namespace {

constexpr std::uint64_t kMostPairs = 400'000'000;  // 1.6 GB

[[noreturn]] void too_large(const std::string& what) {
  throw core::Error(core::ExitCode::limit, "piper: " + what);
}

[[noreturn]] void too_many_pairs() {
  too_large("the model has more than 4e8 pairs of downsets");
}

}  // namespace

PiperLattice::PiperLattice(const graph::Dag& dag, std::size_t most, core::StopToken stop)
    : layers_(dag.size()), words_((dag.size() + 63) / 64) {
  collect(dag, most, stop);
  check_pairs(dag);
  relate(stop);
}

/// Counts pairs before they are enumerated, which takes seconds if there are too many.
void PiperLattice::check_pairs(const graph::Dag& dag) const {
  constexpr std::size_t kMostWays = 100'000;
  const auto pairs = graph::count_nested_downsets(dag, kMostWays);
  if (pairs && *pairs - size() > kMostPairs) too_many_pairs();
}

void PiperLattice::collect(const graph::Dag& dag, std::size_t most, core::StopToken stop) {
  std::vector<std::vector<std::uint64_t>> found;
  graph::for_each_downset(
      dag,
      [&](const std::vector<bool>& downset) {
        stop.check();
        std::vector<std::uint64_t> row(words_);
        for (std::size_t v = 0; v < layers_; ++v) row[v / 64] |= std::uint64_t{downset[v]} << (v % 64);
        found.push_back(std::move(row));
        return true;
      },
      most + 1);
  if (found.size() > most) too_large(fmt::format("the model has more than {} downsets", most));
  const auto count = [](const std::vector<std::uint64_t>& row) {
    return std::accumulate(row.begin(), row.end(), 0,
                           [](int n, std::uint64_t w) { return n + std::popcount(w); });
  };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    const int p = count(a), q = count(b);
    return p != q ? p > q : a > b;
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0 && count(found[i]) != count(found[i - 1])) levels_.push_back(i);
    bits_.insert(bits_.end(), found[i].begin(), found[i].end());
  }
  levels_.push_back(found.size());
}

bool PiperLattice::contains(std::size_t j, std::size_t i) const {
  for (std::size_t w = 0; w < words_; ++w)
    if (bits_[i * words_ + w] & ~bits_[j * words_ + w]) return false;
  return true;
}

void PiperLattice::relate(core::StopToken stop) {
  larger_.resize(size());
  std::atomic<std::uint64_t> pairs{0};
  core::parallel_for(size(), [&](std::size_t i) {
    stop.check();
    std::vector<std::uint32_t> found;
    for (std::size_t j = 0; j < i; ++j)
      if (contains(j, i)) found.push_back(static_cast<std::uint32_t>(j));
    larger_[i].assign(found.begin(), found.end());  // without spare capacity
    if (pairs += larger_[i].size(); pairs > kMostPairs) too_many_pairs();
  });
}

std::vector<graph::Vertex> PiperLattice::between(std::size_t i, std::size_t j) const {
  std::vector<graph::Vertex> out;
  for (graph::Vertex v = 0; v < static_cast<graph::Vertex>(layers_); ++v)
    if (has(j, v) && !has(i, v)) out.push_back(v);
  return out;
}

}  // namespace penstock::planners
