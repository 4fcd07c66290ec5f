#include "support/chain_listing.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace penstock::support {
namespace {

std::vector<core::OpId> operators(int first, int last) {
  std::vector<core::OpId> out;
  for (int v = first; v < last; ++v) out.emplace_back(static_cast<std::size_t>(v));
  return out;
}

bool is_replica_count(int devices, std::int64_t micro_batch) {
  return std::has_single_bit(static_cast<unsigned>(devices)) && devices <= micro_batch;
}

}  // namespace

ChainListing::ChainListing(const cost::Problem& problem, std::int64_t micro_batch)
    : problem_(problem),
      micro_batch_(micro_batch),
      network_(score::assume_network(problem.cluster, problem.training)) {}

double ChainListing::time(int first, int last, int devices) const {
  const auto inside = operators(first, last);
  const auto& device = problem_.cluster.types().front();
  const auto share = cost::samples_per_device(micro_batch_, devices);
  std::int64_t picoseconds = 0;
  for (core::OpId op : inside)
    picoseconds +=
        to_picoseconds(cost::compute_time(problem_, std::vector{op}, device, share).total()).value();
  return score::stage_terms(network_, cost::stage_load(problem_, inside),
                            to_seconds(core::Picoseconds(picoseconds)), micro_batch_, devices,
                            problem_.training.mini_batch)
      .time_per_sample();
}

bool ChainListing::fits(int first, int last, int devices, int level) const {
  const auto load = cost::stage_load(problem_, operators(first, last));
  const auto share = cost::samples_per_device(micro_batch_, devices);
  const auto memory = cost::stage_memory(load, problem_.memory, problem_.training, share, level);
  return plan::total(memory) <= problem_.cluster.types().front().memory;
}

std::vector<double> ChainListing::stage_times() const {
  std::vector<double> out;
  const int size = static_cast<int>(problem_.graph.size()), all = static_cast<int>(problem_.cluster.size());
  for (int first = 0; first < size; ++first)
    for (int last = first + 1; last <= size; ++last)
      for (int devices = 1; devices <= all; ++devices)
        if (is_replica_count(devices, micro_batch_)) out.push_back(time(first, last, devices));
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<int> ChainListing::least_level(double bound) const {
  const int most = static_cast<int>(problem_.training.mini_batch / micro_batch_), none = most + 1;
  std::map<std::tuple<int, int, int, int>, int> known;
  const auto solve = [&](const auto& self, int first, int last, int downstream, int devices) -> int {
    const auto [slot, is_new] = known.try_emplace({first, last, downstream, devices}, none);
    if (!is_new) return slot->second;
    int& least = slot->second;
    const int level = std::min(downstream + 1, most);
    if (is_replica_count(devices, micro_batch_) && time(first, last, devices) <= bound &&
        fits(first, last, devices, level))
      least = level;
    for (int cut = first + 1; cut < last; ++cut)
      for (int right = 1; right < devices; ++right) {
        const int seen = self(self, cut, last, downstream, right);
        if (seen < none) least = std::min(least, self(self, first, cut, seen, devices - right));
      }
    return least;
  };
  const int level =
      solve(solve, 0, static_cast<int>(problem_.graph.size()), 0, static_cast<int>(problem_.cluster.size()));
  return level < none ? std::optional(level) : std::nullopt;
}

}  // namespace penstock::support
