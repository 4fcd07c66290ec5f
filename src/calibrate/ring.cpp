#include "penstock/calibrate/ring.hpp"

#include "penstock/core/error.hpp"
#include "penstock/kernels/values.hpp"

namespace penstock::calibrate {

using kernels::Buffer;
using kernels::Element;

std::vector<RankBackend> open_ranks(int ranks, const OpenDevice& open) {
  return open_ranks(std::vector<OpenDevice>(static_cast<std::size_t>(ranks), open));
}

std::vector<RankBackend> open_ranks(const std::vector<OpenDevice>& opens) {
  std::vector<RankBackend> out;
  for (const OpenDevice& open : opens) {
    auto backend = open();
    auto stream = backend->make_stream();
    out.push_back({std::move(backend), std::move(stream)});
  }
  return out;
}

ReductionRing::ReductionRing(ThreadTeam& team, std::vector<RankBackend>& ranks, core::Bytes bytes)
    : team_(team), ranks_(ranks) {
  const int count = team.ranks();
  core::require(count >= 2 && std::ssize(ranks) == count, "a ring has two ranks or more");
  const std::int64_t part = (bytes.value() / size(Element::fp32) + count - 1) / count;
  bytes_ = core::Bytes(part * count * size(Element::fp32));
  memory_.resize(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    kernels::Backend& backend = *ranks[static_cast<std::size_t>(rank)].backend;
    const auto make = [&](Buffers& buffers, int how_many) {
      for (int i = 0; i < how_many; ++i)
        write_random(backend, *buffers.emplace_back(backend.allocate(Element::fp32, part)),
                     static_cast<std::uint64_t>(rank * count + i));
    };
    make(of(rank).input, count);
    make(of(rank).output, count);
    make(of(rank).sums, 2);
  }
}

/// The buffer of a rank's sum after that step; the last one is the result.
Buffer& ReductionRing::sum(int rank, int step) {
  if (step == team_.ranks() - 2) return output(rank, wrapped(rank + 1));
  return *of(rank).sums[static_cast<std::size_t>(step % 2)];
}

/// Adds the rank's own share to the left neighbour's sum of a part.
void ReductionRing::reduce_step(int rank, int step) {
  const int left = wrapped(rank - 1), part = wrapped(rank - 1 - step);
  RankBackend& me = ranks_[static_cast<std::size_t>(rank)];
  me.backend->copy(sum(rank, step), step == 0 ? input(left, part) : sum(left, step - 1), *me.stream);
  me.backend->add(sum(rank, step), input(rank, part), *me.stream);
  finish(rank);
}

void ReductionRing::all_gather_step(int rank, int step) {
  const int left = wrapped(rank - 1), part = wrapped(rank - step);
  RankBackend& me = ranks_[static_cast<std::size_t>(rank)];
  me.backend->copy(output(rank, part), output(left, part), *me.stream);
  finish(rank);
}

/// Returns when all ranks have done the step.
void ReductionRing::finish(int rank) {
  ranks_[static_cast<std::size_t>(rank)].stream->synchronise();
  team_.meet();
}

void ReductionRing::scatter_phase(int rank) {
  for (int step = 0; step < team_.ranks() - 1; ++step) reduce_step(rank, step);
}

void ReductionRing::all_gather_phase(int rank) {
  for (int step = 0; step < team_.ranks() - 1; ++step) all_gather_step(rank, step);
}

void ReductionRing::all_reduce() {
  team_.run([this](int rank) {
    scatter_phase(rank);
    all_gather_phase(rank);
  });
}

void ReductionRing::reduce_scatter() {
  team_.run([this](int rank) { scatter_phase(rank); });
}

void ReductionRing::all_gather() {
  team_.run([this](int rank) { all_gather_phase(rank); });
}

}  // namespace penstock::calibrate
