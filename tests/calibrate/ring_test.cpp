#include "penstock/calibrate/ring.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "support/near.hpp"

using namespace penstock;
using calibrate::ReductionRing;
using calibrate::ThreadTeam;

namespace {

std::unique_ptr<kernels::Backend> open_host() {
  return kernels::open_device("host", 1);
}

/// The sum over ranks of every part, number by number.
std::vector<double> expected(ReductionRing& ring, int ranks, int part, kernels::Backend& backend) {
  std::vector<double> sum(static_cast<std::size_t>(ring.input(0, part).count()));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto values = read_values(backend, ring.input(rank, part));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  return sum;
}

void check_part(const std::vector<double>& sum, const std::vector<double>& got) {
  REQUIRE(got.size() == sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) CHECK(got[i] == support::near(sum[i], 1e-5));
}

}  // namespace

TEST_CASE("after an all-reduce every rank has the sum, and again after the next") {
  for (const int ranks : {2, 3, 5}) {
    CAPTURE(ranks);
    ThreadTeam team(ranks);
    auto opened = calibrate::open_ranks(ranks, open_host);
    ReductionRing ring(team, opened, core::Bytes(52));  // 13 numbers: no whole share of any but one
    CHECK(ring.bytes().value() % (4 * ranks) == 0);
    CHECK(ring.bytes().value() >= 52);
    for (int round = 0; round < 2; ++round) {
      ring.all_reduce();
      for (int rank = 0; rank < ranks; ++rank)
        for (int part = 0; part < ranks; ++part)
          check_part(expected(ring, ranks, part, *opened[0].backend),
                     read_values(*opened[0].backend, ring.output(rank, part)));
    }
  }
}

TEST_CASE(
    "reduce-scatter leaves each rank the sum of the part after its own, and all-gather hands it round") {
  const int ranks = 4;
  ThreadTeam team(ranks);
  auto opened = calibrate::open_ranks(ranks, open_host);
  ReductionRing ring(team, opened, core::Bytes(64));
  ring.reduce_scatter();
  for (int rank = 0; rank < ranks; ++rank) {
    const int part = (rank + 1) % ranks;
    check_part(expected(ring, ranks, part, *opened[0].backend),
               read_values(*opened[0].backend, ring.output(rank, part)));
  }
  ring.all_gather();
  check_part(expected(ring, ranks, 2, *opened[0].backend),
             read_values(*opened[0].backend, ring.output(3, 2)));
}

TEST_CASE("all of a team work, and meet") {
  ThreadTeam team(3);
  std::atomic<int> before = 0, after = 0;
  std::atomic<bool> early = false;
  team.run([&](int) {
    ++before;
    team.meet();
    early = early || before != 3;
    ++after;
  });
  CHECK(after == 3);
  CHECK_FALSE(early);
}

TEST_CASE("a failure on any rank reaches the caller, and the team goes on") {
  ThreadTeam team(3);
  for (const int failing : {0, 2})
    CHECK_THROWS_AS(team.run([&](int rank) {
      if (rank == failing) throw std::runtime_error("no");
    }),
                    std::runtime_error);
  std::atomic<int> ran = 0;
  team.run([&](int) { ++ran; });
  CHECK(ran == 3);
}

TEST_CASE("background work is repeated, and over when its owner is") {
  std::atomic<int> runs = 0;
  {
    const calibrate::BackgroundLoop work([&] { ++runs; });
    while (runs < 3) std::this_thread::yield();
  }
  const int at_end = runs;
  std::this_thread::yield();
  CHECK(runs == at_end);
}
