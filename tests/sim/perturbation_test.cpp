#include "penstock/sim/perturbation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/check/trace_violations.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "sim/tasks/apply.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using sim::NetworkModel;
using sim::Perturbation;
using support::FixedCosts;

namespace {

/// A chain of stages, one operator and one device each, on one switch; 1F1B with one sample per micro-batch,
/// forward 1 s, backward 2 s. Devices are named 0, 1, ..., the switch by the next number.
struct PerturbedChain {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  FixedCosts costs;
  plan::Plan plan;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
};

PerturbedChain chain(std::size_t stages, std::int64_t micro_batches, double bandwidth = 1e18) {
  std::vector<std::pair<int, int>> edges;
  for (int v = 1; v < static_cast<int>(stages); ++v) edges.emplace_back(v - 1, v);
  PerturbedChain c{support::tiny_graph(stages, edges),
                   support::tiny_cluster(stages + 1, 1 << 30, bandwidth),
                   FixedCosts::uniform(stages, 1, 2),
                   {}};
  c.plan.training.mini_batch = micro_batches;
  for (std::size_t s = 0; s < stages; ++s)
    c.plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, 1, 1, 0, {}});
  schedule::derive_in_flight(c.plan, plan::StageGraph(c.graph, c.plan));
  return c;
}

trace::Trace simulated(const PerturbedChain& c, const std::string& yaml, std::uint64_t seed = 0,
                       NetworkModel network = NetworkModel::fair) {
  const auto perturbation = sim::parse_perturbation(yaml, "i.yaml", c.cluster);
  return sim::simulate(c.problem(), {c.problem().graph, c.plan}, {network, {}, &perturbation, seed});
}

/// Seconds.
double time(const PerturbedChain& c, const std::string& yaml, NetworkModel network = NetworkModel::fair) {
  return to_seconds(simulated(c, yaml, 0, network).iteration).value();
}

std::vector<core::Picoseconds> lengths(const trace::Trace& trace, trace::TaskKind kind, std::size_t stage) {
  std::vector<core::Picoseconds> out;
  for (const auto& span : trace.spans)
    if (span.kind == kind && span.stage.index() == stage) out.push_back(span.end - span.start);
  return out;
}

struct SampleMoments {
  double mean = 0, deviation = 0;
};

template <class Values, class F>
SampleMoments moments(const Values& values, F&& number) {
  double sum = 0, squares = 0;
  for (const auto& v : values) sum += number(v), squares += number(v) * number(v);
  const double mean = sum / static_cast<double>(values.size());
  return {mean, std::sqrt(squares / static_cast<double>(values.size()) - mean * mean)};
}

std::string fault_of(const std::string& yaml) {
  try {
    const auto cluster = cluster::parse_cluster(
        "name: c\ndevice_types:\n  g: {memory: 1GiB, memory_bandwidth: 1GB/s, multiprocessors: 1, "
        "launch_overhead: "
        "1us, peak: {fp32: 1TFLOP/s}}\n"
        "machines: [{name: a, device: g}, {name: b, device: g}]\nswitches: [s]\nlinks:\n"
        "  - {from: a, to: s, bandwidth: 1GB/s, latency: 1us}\n  - {from: b, to: s, bandwidth: 1GB/s, "
        "latency: 1us}\n",
        "c.yaml");
    sim::parse_perturbation(yaml, "i.yaml", cluster);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

}  // namespace

TEST_CASE("an empty file changes nothing") {
  const PerturbedChain c = chain(3, 4, 1e3);
  const auto perfect = sim::simulate(c.problem(), {c.problem().graph, c.plan}, {NetworkModel::fair});
  const auto same = simulated(c, "{}");
  REQUIRE(same.spans.size() == perfect.spans.size());
  for (std::size_t s = 0; s < same.spans.size(); ++s) {
    CHECK(same.spans[s].start == perfect.spans[s].start);
    CHECK(same.spans[s].end == perfect.spans[s].end);
  }
}

TEST_CASE("a last stage at half speed takes 3 (p - 1) + 6 m") {
  // Every micro-batch takes 2 + 4 s there, without a pause. Before the first and after the last of them the
  // other p - 1 stages take 1 and 2 s each.
  for (std::size_t p = 1; p <= 4; ++p)
    for (std::int64_t m = 1; m <= 5; ++m)
      CHECK(time(chain(p, m), "devices: [{device: " + std::to_string(p - 1) + ", speed: 0.5}]") ==
            support::near(static_cast<double>(3 * (static_cast<std::int64_t>(p) - 1) + 6 * m)));
}

TEST_CASE("a device that serves no stage slows nothing") {
  CHECK(time(chain(2, 3),
             "devices: [{device: 2, speed: 0.5}]\nstragglers: [{device: 2, from: 0s, to: 1s, speed: 0.1}]") ==
        time(chain(2, 3), "{}"));
}

TEST_CASE("a straggler window delays by what it withholds") {
  // One stage, three micro-batches: 9 s of work. From 2 to 4 s a quarter of the speed: half a second's work
  // done instead of two.
  const PerturbedChain c = chain(1, 3);
  CHECK(time(c, "stragglers: [{device: 0, from: 2s, to: 4s, speed: 0.25}]") == support::near(10.5));
  // Two windows, the second from 5 to 5.5 s at half speed: a quarter more.
  CHECK(time(c,
             "stragglers: [{device: 0, from: 5s, to: 5.5s, speed: 0.5}, {device: 0, from: 2s, to: 4s, speed: "
             "0.25}]") == support::near(10.75));
  // It begins when all is done; or one picosecond before.
  CHECK(time(c, "stragglers: [{device: 0, from: 9s, to: 20s, speed: 0.25}]") == 9);
  CHECK(simulated(c, "stragglers: [{device: 0, from: 8.999999999999s, to: 20s, speed: 0.25}]").iteration ==
        core::Picoseconds(9'000'000'000'003));
  // On a device of half speed, 18 s of its own: two seconds do the work of half a second again.
  CHECK(
      time(c,
           "devices: [{device: 0, speed: 0.5}]\nstragglers: [{device: 0, from: 2s, to: 4s, speed: 0.25}]") ==
      support::near(19.5));
}

TEST_CASE("a link that weakens half way, fails, is restored") {
  // Forward 1 s; 1 kB at 1 kB/s; forward and backward 1 + 2 s; 1 kB back; backward 2 s: 8 s. Device 0 hangs
  // on switch 3.
  const PerturbedChain c = chain(2, 1, 1e3);
  for (const auto network : {NetworkModel::fifo, NetworkModel::fair}) {
    CHECK(time(c, "{}", network) == 8);
    // From 1.5 s on a quarter: the other half takes 2 s, so it arrives at 3.5 instead of 2; back in 4 s,
    // not 1.
    CHECK(time(c, "links: [{from: 0, to: 3, at: 1.5s, bandwidth: 25%}]", network) == support::near(12.5));
    CHECK(time(c, "links: [{from: 0, to: 3, at: 1.5s, bandwidth: 250B/s, both_ways: false}]", network) ==
          support::near(9.5));
    // Down until 5 s: half a second of it is left then, so 3.5 s are lost.
    CHECK(time(c, "links: [{from: 0, to: 3, at: 1.5s, bandwidth: down, restored: 5s}]", network) ==
          support::near(11.5));
    // Down while nothing is on the way: from 2 s, when all has arrived, to 5 s, when the gradient sets out.
    CHECK(time(c, "links: [{from: 0, to: 3, at: 2s, bandwidth: down, restored: 5s}]", network) == 8);
    // Two faults, one after the other: 0.25 s of it at a quarter, from 1.5 to 2.5 s, then down until 4 s.
    CHECK(time(c,
               "links:\n  - {from: 0, to: 3, at: 2.5s, bandwidth: down, restored: 4s}\n"
               "  - {from: 0, to: 3, at: 1.5s, bandwidth: 25%, restored: 2.5s}\n",
               network) == support::near(8 + 2.25));
    CHECK_THROWS_WITH_AS(
        time(c, "links:\n  - {from: 3, to: 0, at: 1.5s, bandwidth: down}", network),
        "i.yaml:2: links[0]: 3 to 0 is down from 1.50 s on and never restored, but the transfer of "
        "micro-batch 0 from device 0 to device 1 waits for it",
        core::BadInput);
  }
}

TEST_CASE("jitter has the given mean and spread") {
  std::vector<double> even;
  for (int i = 0; i < 100000; ++i) even.push_back((i + 0.5) / 100000);
  const auto of = [&](sim::JitterDistribution distribution, double width) {
    return moments(even, [&](double u) { return sim::factor(distribution, width, u); });
  };
  for (const double width : {0.01, 0.2}) {
    for (const auto d : {sim::JitterDistribution::lognormal, sim::JitterDistribution::normal}) {
      CHECK(of(d, width).mean == support::near(1, 1e-4));
      CHECK(of(d, width).deviation == support::near(width, 1e-3));
    }
    // A uniform distribution over 2 w has a standard deviation of w / sqrt 3.
    CHECK(of(sim::JitterDistribution::uniform, width).deviation == support::near(width / std::sqrt(3), 1e-4));
  }
  // The median of the lognormal with mean one is 1 / sqrt(1 + w^2).
  CHECK(sim::factor(sim::JitterDistribution::lognormal, 1, 0.5) == support::near(1 / std::sqrt(2.0)));
  // Cut off at zero, one standard deviation below its peak, the normal's mean is 1 + phi(1) / Phi(1)
  // = 1.2876.
  CHECK(of(sim::JitterDistribution::normal, 1).mean == support::near(1.2876, 1e-4));
  for (const double u : {0.0, 1 - 0x1.0p-53})
    for (const auto d : {sim::JitterDistribution::lognormal, sim::JitterDistribution::normal,
                         sim::JitterDistribution::uniform}) {
      CHECK(sim::factor(d, 1, u) >= 0);
      CHECK(sim::factor(d, 1, u) < 1e4);
    }
}

TEST_CASE(
    "draws of ten thousand passes have the asked-for mean and spread, and are independent of their "
    "neighbours") {
  const auto trace = simulated(chain(1, 10000), "jitter: {forward: {normal: 10%}}", 3);
  const auto forward = lengths(trace, trace::TaskKind::forward, 0);
  const auto backward = lengths(trace, trace::TaskKind::backward, 0);
  const auto seconds = [](core::Picoseconds t) { return to_seconds(t).value(); };
  const SampleMoments m = moments(forward, seconds);
  CHECK(m.mean == support::near(1, 4 * 0.1 / 100));  // four standard errors
  CHECK(m.deviation == support::near(0.1, 0.03));
  CHECK(moments(backward, seconds).deviation == 0);  // not configured
  double together = 0;
  for (std::size_t i = 1; i < forward.size(); ++i)
    together += (seconds(forward[i]) - m.mean) * (seconds(forward[i - 1]) - m.mean);
  CHECK(std::abs(together / 10000 / (0.1 * 0.1)) < 4.0 / 100);
}

TEST_CASE("a draw depends only on the seed and the task") {
  const std::string jitter =
      "jitter: {forward: {lognormal: 20%}, backward: {uniform: 20%}, transfer: {normal: 20%}}";
  const auto small = simulated(chain(3, 4, 1e6), jitter, 7), large = simulated(chain(4, 9, 1e6), jitter, 7);
  for (const auto kind : {trace::TaskKind::forward, trace::TaskKind::backward}) {
    auto more = lengths(large, kind, 1);
    more.resize(4);
    CHECK(lengths(small, kind, 1) == more);
  }
  const auto fifo = simulated(chain(3, 4, 1e6), jitter, 7, NetworkModel::fifo);
  CHECK(lengths(small, trace::TaskKind::backward, 1) == lengths(fifo, trace::TaskKind::backward, 1));
  const auto other = simulated(chain(3, 4, 1e6), jitter, 8);
  CHECK(lengths(small, trace::TaskKind::backward, 1) != lengths(other, trace::TaskKind::backward, 1));
}

TEST_CASE("a transfer's jitter is on its bytes, the same on both networks") {
  // 1 kB at 1 kB/s over one route, up to half more or less: without other messages it takes the same either
  // way.
  const PerturbedChain c = chain(2, 1, 1e3);
  const std::string jitter = "jitter: {transfer: {uniform: 50%}}";
  const auto fair = simulated(c, jitter, 1), fifo = simulated(c, jitter, 1, NetworkModel::fifo);
  for (const std::size_t stage : {0, 1}) {
    const auto a = lengths(fair, trace::TaskKind::transfer, stage),
               b = lengths(fifo, trace::TaskKind::transfer, stage);
    REQUIRE(a.size() == 1);
    CHECK(std::abs(a[0].value() - b[0].value()) <= 1);
    CHECK(a[0] != core::Picoseconds(1'000'000'000'000));
    CHECK(std::abs(to_seconds(a[0]).value() - 1) <= 0.5);
  }
}

TEST_CASE("perturbations that the plan never meets are reported with file and line") {
  const PerturbedChain c = chain(2, 1, 1e3);
  const std::string yaml =
      "devices:\n"
      "  - {device: 0, speed: 0.5}\n"
      "  - {device: 2, speed: 0.5}\n"
      "stragglers:\n"
      "  - {device: 2, from: 0s, to: 1s, speed: 0.5}\n"
      "  - {device: 1, from: 1h, to: 2h, speed: 0.5}\n"
      "jitter:\n"
      "  forward: {uniform: 1%}\n"
      "  all-reduce: {uniform: 1%}\n"
      "links:\n"
      "  - {from: 3, to: 0, at: 1s, bandwidth: 50%}\n"
      "  - {from: 3, to: 2, at: 1s, bandwidth: 50%}\n"
      "  - {from: 3, to: 1, at: 1h, bandwidth: down}\n";
  const auto perturbation = sim::parse_perturbation(yaml, "i.yaml", c.cluster);
  CHECK(sim::unmet(perturbation, c.cluster, simulated(c, yaml)) ==
        std::vector<std::string>{"i.yaml:3: devices[1]: the device computes nothing",
                                 "i.yaml:5: stragglers[0]: the device computes nothing",
                                 "i.yaml:6: stragglers[1]: the iteration ends before this begins",
                                 "i.yaml:9: jitter.all-reduce: no such task occurs",
                                 "i.yaml:12: links[1]: no transfer uses the link 3 to 2",
                                 "i.yaml:13: links[2]: the iteration ends before this begins"});
  CHECK(in_words(perturbation) ==
        "2 slow devices, 2 stragglers, jitter (forward uniform 1%, all-reduce uniform 1%), 3 link faults");
  CHECK(sim::in_words(Perturbation{}) == "nothing");
}

TEST_CASE("a device that is listed but takes no part counts as idle") {
  const PerturbedChain c = chain(2, 1);
  const auto part = c.cluster.first(2);
  const auto perturbation = sim::parse_perturbation("devices: [{device: 2, speed: 0.5}]", "i.yaml", part);
  const cost::Problem problem{c.graph, part, c.costs, c.plan.training};
  const auto trace = sim::simulate(problem, {problem.graph, c.plan}, {NetworkModel::fifo, {}, &perturbation});
  CHECK(to_seconds(trace.iteration).value() == support::near(6));
  CHECK(sim::unmet(perturbation, part, trace) ==
        std::vector<std::string>{"i.yaml:1: devices[0]: the device computes nothing"});
}

TEST_CASE("perturbed iterations keep the rules") {
  const PerturbedChain c = chain(3, 6, 1e3);
  const std::string yaml =
      "devices: [{device: 1, speed: 0.7}]\n"
      "stragglers: [{device: 0, from: 3s, to: 7s, speed: 0.1}, {device: 2, from: 5s, to: 6s, speed: 0.2}]\n"
      "jitter: {forward: {normal: 50%}, backward: {lognormal: 50%}}\n"
      "links: [{from: 1, to: 4, at: 5s, bandwidth: 10%, restored: 8s}, {from: 4, to: 2, at: 9s, bandwidth: "
      "down, "
      "restored: 12s}]\n";
  const auto perturbation = sim::parse_perturbation(yaml, "i.yaml", c.cluster);
  for (const auto network : {NetworkModel::fifo, NetworkModel::fair})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sim::SimulationOptions options{network, {}, &perturbation, seed};
      const auto order = schedule::plan_order(c.plan);
      CHECK(check::trace_violations(c.problem(), {c.problem().graph, c.plan, order},
                                    sim::simulate(c.problem(), {c.problem().graph, c.plan, order}, options),
                                    options) == std::vector<std::string>{});
    }
}

TEST_CASE("bad perturbation files are refused with line and key") {
  CHECK(fault_of("devices: [{device: a, speed: 0.5}, {device: 1, speed: 2}]") == "no fault");
  CHECK(fault_of("devices:\n  - {device: c, speed: 1}") ==
        "i.yaml:2: devices[0].device: no device is named 'c'");
  CHECK(fault_of("devices:\n  - {device: s, speed: 1}") ==
        "i.yaml:2: devices[0].device: this is a switch, not a device");
  CHECK(fault_of("devices:\n  - {device: 2, speed: 1}") ==
        "i.yaml:2: devices[0].device: expected a whole number from 0 to 1, found '2'");
  CHECK(fault_of("devices:\n  - {device: a, speed: 1}\n  - {device: 0, speed: 1}") ==
        "i.yaml:3: devices[1].device: the device appears twice");
  for (const char* speed : {"0", "-1", "1001"})
    CHECK(fault_of("devices:\n  - {device: a, speed: " + std::string(speed) + "}") ==
          "i.yaml:2: devices[0].speed: expected a speed above 0, at most 1000");
  const auto window = [](const std::string& from, const std::string& to) {
    return "  - {device: a, from: " + from + ", to: " + to + ", speed: 0.5}\n";
  };
  CHECK(fault_of("stragglers:\n" + window("1s", "1s")) ==
        "i.yaml:2: stragglers[0].to: expected a time after 'from'");
  CHECK(fault_of("stragglers:\n" + window("1", "2s"))
            .find("stragglers[0].from: expected a time with its unit") != std::string::npos);
  CHECK(fault_of("stragglers:\n" + window("2400h", "2777h")) ==
        "i.yaml:2: stragglers[0].to: the simulator's clock ends at 104 days");
  CHECK(fault_of("stragglers:\n" + window("1s", "3s") + window("3s", "4s") + window("0s", "1s")) ==
        "no fault");
  for (const auto& second :
       {window("2s", "4s"), window("0s", "1001ms"), window("1s", "2s"), window("0s", "9s")})
    CHECK(fault_of("stragglers:\n" + window("1s", "3s") + second) ==
          "i.yaml:3: stragglers[1]: overlaps another window of the device");
  CHECK(fault_of("jitter:\n  forwards: {uniform: 1%}") ==
        "i.yaml:2: jitter.forwards: unknown kind of task; did you mean 'forward'?");
  CHECK(fault_of("jitter:\n  forward: {uniform: 0.1}") ==
        "i.yaml:2: jitter.forward.uniform: expected a share in percent, such as 10%, found '0.1'");
  CHECK(fault_of("jitter:\n  forward: {uniform: 101%}").find("above 0%, at most 100%") != std::string::npos);
  CHECK(fault_of("jitter:\n  forward: {uniform: 1%, normal: 1%}").find("expected one distribution") !=
        std::string::npos);
  const auto link = [](const std::string& rest) {
    return fault_of("links:\n  - {from: a, to: " + rest + "}");
  };
  CHECK(link("s, at: 1s, bandwidth: down, restored: 2s") == "no fault");
  CHECK(link("b, at: 1s, bandwidth: down") == "i.yaml:2: links[0]: no link leads from 'a' to 'b'");
  CHECK(link("x, at: 1s, bandwidth: down") == "i.yaml:2: links[0].to: no device or switch is named 'x'");
  CHECK(link("s, at: 1s, bandwidth: down, restored: 1s") ==
        "i.yaml:2: links[0].restored: expected a time after 'at'");
  for (const char* bandwidth : {"0%", "101%", "2GB/s", "0B/s"})
    CHECK(link("s, at: 1s, bandwidth: " + std::string(bandwidth)) ==
          "i.yaml:2: links[0].bandwidth: expected down, or something above zero and not above what the "
          "cluster file says");
  CHECK(fault_of("links:\n  - {from: a, to: s, at: 1s, bandwidth: down}\n  - {from: s, to: a, at: 2s, "
                 "bandwidth: 1%}") ==
        "i.yaml:3: links[1]: overlaps another fault of the link from 's' to 'a'");
  CHECK(fault_of("device: []").find("unknown key; did you mean 'devices'?") != std::string::npos);
}

TEST_CASE("an iteration that might outlast the clock is refused") {
  // 9 s at a millionth of the speed are 104.17 days; the clock ends at 9e6 s.
  CHECK_THROWS_AS(time(chain(1, 3), "stragglers: [{device: 0, from: 0s, to: 1s, speed: 1e-6}]"),
                  core::BadInput);
  CHECK_THROWS_AS(time(chain(1, 3), "devices: [{device: 0, speed: 1e-300}]"), core::BadInput);
  CHECK(time(chain(1, 2), "devices: [{device: 0, speed: 1e-6}]") == support::near(6e6));
}
