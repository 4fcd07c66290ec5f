#include <doctest/doctest.h>

#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/random_plan.hpp"

using namespace penstock;

namespace {

cluster::Cluster with_memory(const cluster::Cluster& cluster, core::Bytes memory) {
  auto types = cluster.types();
  for (auto& type : types) type.memory = memory;
  return {cluster.name(), types, cluster.devices(), cluster.points().size() - cluster.listed(),
          cluster.links()};
}

}  // namespace

TEST_CASE("against a time a run takes what it takes, or is known to take longer") {
  int sooner = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_plan(seed, seed % 2 ? 4 : 1);
    const auto scheduled = score::scheduled(random.problem(), random.plan);
    const auto whole = sim::simulate_time(random.problem(), scheduled, random.options);
    const auto against = [&](double share) {
      const core::Picoseconds to_beat(static_cast<std::int64_t>(share * static_cast<double>(whole.value())));
      return sim::simulate_time_against(random.problem(), scheduled, to_beat, random.options);
    };
    CHECK(sim::simulate_time_against(random.problem(), scheduled, whole, random.options) == whole);
    CHECK(against(2) == whole);
    for (const double share : {0.99, 0.9, 0.5, 0.0}) {
      const auto told = against(share);
      CHECK(told <= whole);
      CHECK(static_cast<double>(told.value()) > share * static_cast<double>(whole.value()) - 1);
      sooner += told < whole;
    }
  }
  CHECK(sooner >= 600);
}

TEST_CASE("a run has the same summary from its trace and from its tasks") {
  std::size_t short_of_memory = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    auto random = support::random_plan(seed, seed % 2 ? 4 : 1);
    // Memory that the fullest device needs at its peak, and for every other plan a byte less.
    const cost::Problem problem = random.problem();
    const auto scheduled = score::scheduled(problem, random.plan);
    const auto peak = trace::summarise(sim::simulate(problem, scheduled, random.options)).peak_memory;
    random.cluster = with_memory(random.cluster, peak - core::Bytes(seed / 2 % 2));
    const auto from_trace = trace::summarise(sim::simulate(random.problem(), scheduled, random.options));
    CHECK(sim::simulate_summary(random.problem(), scheduled, random.options) == from_trace);
    CHECK(from_trace.out_of_memory.empty() == (seed / 2 % 2 == 0));
    short_of_memory += from_trace.out_of_memory.size();
  }
  CHECK(short_of_memory >= 300);
}
