// Collectives of tensor-parallel groups on links: without other messages they take their closed form,
// together they share.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "penstock/check/trace_violations.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/matrices.hpp"
#include "support/near.hpp"
#include "support/planted.hpp"
#include "support/random_plan.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using trace::TaskKind;

namespace {

/// Two nodes of two devices on cables of 2 GB/s, and 1 GB/s between the nodes; nothing has latency.
cluster::Cluster two_nodes() {
  const cluster::DeviceType type{"tiny", Bytes(1 << 30),  core::Bandwidth(1e15), {core::FlopRate(1e12)},
                                 1,      core::Seconds(0)};
  constexpr std::size_t kFirst = 4, kSecond = 5;
  std::vector<cluster::Link> links;
  const auto cable = [&](std::size_t a, std::size_t b, double bandwidth) {
    links.push_back({a, b, core::Bandwidth(bandwidth), core::Seconds(0)});
    links.push_back({b, a, core::Bandwidth(bandwidth), core::Seconds(0)});
  };
  for (std::size_t d = 0; d < 4; ++d) cable(d, d < 2 ? kFirst : kSecond, 2e9);
  cable(kFirst, kSecond, 1e9);
  return {"two nodes", {type}, std::vector<cluster::Device>(4), 2, links};
}

/// Matrices a and b, column- and row-parallel on devices of both nodes: one second forward, two backward.
struct AcrossNodes {
  explicit AcrossNodes(std::vector<std::size_t> devices) {
    plan.training.mini_batch = static_cast<std::int64_t>(devices.size()) / 2;
    plan.stages = {support::stage(0, 1, 0, 2)};
    for (const std::size_t d : devices) plan.stages[0].devices.emplace_back(d);
    plan.stages[0].micro_batch = plan.training.mini_batch;
    options.collective = sim::collective("ring");
    score::derive_in_flight(problem(), plan);
  }
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  trace::Trace run(sim::PassCollectives collectives) {
    options.pass_collectives = collectives;
    return sim::simulate(problem(), score::scheduled(problem(), plan), options);
  }
  std::vector<std::string> violations(const trace::Trace& trace) const {
    return check::trace_violations(problem(), score::scheduled(problem(), plan), trace, options);
  }
  graph::OpGraph graph = support::matrices(2);
  cluster::Cluster cluster = two_nodes();
  support::FixedCosts costs = support::FixedCosts::uniform(2, 1, 2);
  plan::Plan plan;
  sim::SimulationOptions options;
};

double forward_end(const trace::Trace& trace, std::size_t device) {
  const auto found = std::ranges::find_if(trace.spans, [&](const trace::Span& s) {
    return s.kind == TaskKind::forward && s.device == DeviceId(device);
  });
  return core::to_seconds(found->end).value();
}

std::ptrdiff_t messages(const trace::Trace& trace) {
  return std::ranges::count(trace.spans, TaskKind::collective, &trace::Span::kind);
}

}  // namespace

TEST_CASE("a group without other users of its links takes the closed form") {
  // Partial sums of 1 kB around a ring of two: two steps of 500 B at 1 GB/s.
  AcrossNodes one({0, 2});
  for (const auto collectives : {sim::PassCollectives::closed_form, sim::PassCollectives::links}) {
    const auto trace = one.run(collectives);
    CHECK(forward_end(trace, 0) == support::near(1 + 1e-6, 1e-12));
    const auto& forward = *std::ranges::find(trace.spans, TaskKind::forward, &trace::Span::kind);
    CHECK(core::to_seconds(forward.collective).value() == support::near(1e-6, 1e-12));
    CHECK(one.violations(trace).empty());
    CHECK(messages(trace) == (collectives == sim::PassCollectives::links ? 4 : 0));
  }
}

TEST_CASE("two groups on one cable take twice as long") {
  // Devices 0 and 2 are one group, 1 and 3 the other; both send over the cable between the nodes.
  AcrossNodes two({0, 2, 1, 3});
  CHECK(forward_end(two.run(sim::PassCollectives::closed_form), 1) == support::near(1 + 1e-6, 1e-12));
  const auto trace = two.run(sim::PassCollectives::links);
  CHECK(forward_end(trace, 1) == support::near(1 + 2e-6, 1e-12));
  CHECK(messages(trace) == 8);
  CHECK(two.violations(trace).empty());
}

TEST_CASE("the verifier checks the messages of groups within their passes") {
  AcrossNodes two({0, 2, 1, 3});
  const auto trace = two.run(sim::PassCollectives::links);
  const auto finds = [&](const std::string& text, const auto& plant) {
    trace::Trace changed = trace;
    plant(changed);
    const auto found = two.violations(changed);
    INFO(text);
    CHECK(std::ranges::any_of(found, [&](const auto& v) { return v.find(text) != std::string::npos; }));
  };
  finds("moves 1500 bytes in its groups where 2000 are due", [](trace::Trace& t) {
    t.spans.erase(std::ranges::find(t.spans, TaskKind::collective, &trace::Span::kind));
  });
  finds("leaves its group",
        [](trace::Trace& t) { support::span(t, TaskKind::collective, 0).peer = DeviceId(1); });
  finds("outside of its passes",
        [](trace::Trace& t) { support::span(t, TaskKind::collective, 0).micro_batch = 7; });
  finds("where its operators take", [](trace::Trace& t) {
    for (auto& s : t.spans)
      if (s.kind == TaskKind::forward) s.start += core::Picoseconds(1'000'000);
  });
  two.options.pass_collectives = sim::PassCollectives::closed_form;
  CHECK(!two.violations(trace).empty());
}

TEST_CASE("random plans with groups on links: no violation, and a path without a gap") {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    auto c = support::random_plan(seed, 4);
    c.options.pass_collectives = sim::PassCollectives::links;
    INFO(c.plan.schedule, " ", seed, " ", name(c.options.network), " ", name(c.options.collective));
    const auto scheduled = score::scheduled(c.problem(), c.plan);
    const auto trace = sim::simulate(c.problem(), scheduled, c.options);
    for (const auto& violation : check::trace_violations(c.problem(), scheduled, trace, c.options))
      FAIL_CHECK(violation);
    cut += messages(trace) > 0;
    core::Picoseconds reached;
    const auto explained = sim::explain(c.problem(), scheduled, c.options, 0);
    for (const auto& entry : explained.path) {
      if (entry.start != reached) FAIL_CHECK("a gap at ", reached.value());
      reached = entry.end;
    }
    CHECK(reached == explained.run);
  }
  CHECK(cut > 100);
}
