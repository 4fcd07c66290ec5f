#include "penstock/sim/lengths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/catalogue.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/repeat.hpp"
#include "support/judged_plan.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Random;
using sim::Perturbation;
using sim::SampleContent;
using support::stage_of;

namespace {

constexpr std::int64_t kSequence = 64;

graph::OpGraph gpt(std::int64_t sequence = kSequence, const std::string& attention = "flash") {
  return models::build("gpt", {{"layers", "3"},
                               {"hidden", "32"},
                               {"heads", "8"},
                               {"vocabulary", "64"},
                               {"positions", "64"},
                               {"tied_head", "no"},
                               {"attention", attention},
                               {"sequence", std::to_string(sequence)}});
}

Perturbation parsed(const std::string& lengths) {
  return sim::parse_perturbation("lengths: " + lengths, "l.yaml", support::tiny_cluster(2));
}

sim::SequenceLengths lengths_of(const std::string& yaml) {
  return *parsed(yaml).lengths;
}

std::string fault_of(const std::string& yaml) {
  try {
    parsed(yaml);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

/// One to three stages, divided in ways of their own.
plan::Plan random_plan(const graph::OpGraph& graph, Random& random, std::size_t& devices, int most = 3) {
  plan::Plan out;
  const int stages = random.between(1, most);
  out.training.mini_batch = 8 * random.between(1, 2);
  if (random.chance(0.5)) out.training.bucket = core::Bytes(random.between(1, 20'000));
  if (random.chance(0.3)) out.schedule = "pipedream";
  std::size_t first = 0;
  devices = 0;
  for (int s = 0; s < stages; ++s) {
    const std::size_t last =
        graph.size() * static_cast<std::size_t>(s + 1) / static_cast<std::size_t>(stages);
    plan::Stage each = stage_of(first, last, 0, out.schedule == "1f1b" ? 2 * random.between(1, 2) : 2);
    if (random.chance(0.4)) each.tensor_parallel = 2;
    if (random.chance(0.3)) each.context_parallel = 2;
    each.context_exchange = static_cast<plan::ContextExchange>(random.between(0, 2));
    const int replicas = random.between(1, 2);
    for (std::int64_t d = 0; d < each.replica_size() * replicas; ++d) each.devices.emplace_back(devices++);
    each.zero = random.chance(0.4) && out.schedule == "1f1b" ? random.between(1, 3) : 0;
    each.sequence_parallel = each.tensor_parallel > 1 && random.chance(0.5);
    if (random.chance(0.3)) each.recompute = plan::kRecomputeStage;
    out.stages.push_back(each);
    first = last;
  }
  return out;
}

const char* kKinds[] = {
    "{uniform: {from: 1, to: 64}}",
    "{lognormal: {median: 20, sigma: 1}, packing: first_fit, pad: 8}",
    "{counts: {3: 5, 17: 2, 64: 1}, packing: sorted}",
    "{lognormal: {median: 12, sigma: 0.5}, maximum: 40, pad: maximum}",
};

}  // namespace

TEST_CASE("full sequences take the time of full samples, to the picosecond") {
  const auto g = gpt();
  const Perturbation full = parsed("{counts: {64: 1}}"),
                     padded = parsed("{uniform: {from: 1, to: 64}, pad: maximum}");
  const cost::AnalyticCosts costs;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::size_t devices = 0;
    plan::Plan plan = random_plan(g, random, devices);
    const auto cluster = support::tiny_cluster(devices, std::int64_t{1} << 40, 1e8, 1e-5);
    const cost::Problem problem{g, cluster, costs, plan.training};
    score::derive_in_flight(problem, plan);
    const auto scheduled = score::scheduled(problem, plan);
    const auto today = sim::simulate(problem, scheduled);
    for (const Perturbation* perturbation : {&full, &padded}) {
      sim::SimulationOptions options;
      options.perturbation = perturbation;
      options.seed = seed;
      const auto trace = sim::simulate(problem, scheduled, options);
      CHECK(trace.iteration == today.iteration);
      REQUIRE(trace.spans.size() == today.spans.size());
      for (std::size_t i = 0; i < trace.spans.size(); ++i) {
        CHECK(trace.spans[i].end == today.spans[i].end);
        CHECK(trace.spans[i].collective == today.spans[i].collective);
      }
    }
  }
}

TEST_CASE("sequences of half the length, not padded, take the time of the model of half the sequence") {
  const Perturbation half = parsed("{counts: {32: 1}}"),
                     packed = parsed("{counts: {32: 1}, packing: first_fit, maximum: 32}");
  for (const std::string attention : {"flash", "plain", "split", "fused"}) {
    CAPTURE(attention);
    const int most = attention == "split" ? 1 : 3;  // scores between stages would go by tokens
    const auto g = gpt(kSequence, attention), shorter = gpt(kSequence / 2, attention);
    const cost::AnalyticCosts costs;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      std::size_t devices = 0;
      plan::Plan plan = random_plan(g, random, devices, most);
      for (plan::Stage& stage : plan.stages) {  // kernels of halves of halves would be rounded
        stage.tensor_parallel = stage.context_parallel = 1;
        stage.sequence_parallel = false;
        if (stage.devices.size() % 2 == 0) stage.devices.resize(2);
      }
      const auto cluster = support::tiny_cluster(devices, std::int64_t{1} << 40, 1e8, 1e-5);
      const cost::Problem problem{g, cluster, costs, plan.training},
          of_half{shorter, cluster, costs, plan.training};
      score::derive_in_flight(problem, plan);
      sim::SimulationOptions options;
      options.perturbation = &half;
      const auto time = sim::simulate_time(problem, score::scheduled(problem, plan), options);
      CHECK(time == sim::simulate_time(of_half, score::scheduled(of_half, plan)));
      options.perturbation = &packed;
      CHECK(time == sim::simulate_time(problem, score::scheduled(problem, plan), options));
    }
  }
}

TEST_CASE("two stages, two micro-batches of unlike length, by hand") {
  const auto g = gpt();
  const auto cluster = support::tiny_cluster(2, std::int64_t{1} << 40, 1e18);
  const support::FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.stages = {stage_of(0, g.size() / 2, 1, 1), stage_of(g.size() / 2, g.size(), 1, 1)};
  plan.stages[1].devices = {core::DeviceId(1)};
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const Perturbation two = parsed("{uniform: {from: 1, to: 64}}");
  sim::SimulationOptions options;
  options.perturbation = &two;
  options.seed = 3;
  const auto drawn = sim::fillings(*two.lengths, kSequence, 2, options.seed, 0);
  REQUIRE(drawn[0].tokens != drawn[1].tokens);

  // Duration of a pass of one sequence. An attention takes 2 x 2 x 64 x 64 x 32 FLOPs forward and twice that
  // back, in proportion to the square of the length. Everything else is in proportion to the length.
  const auto passes = [&](std::size_t s, std::size_t m) {
    const double share = static_cast<double>(drawn[m].tokens) / kSequence;
    double forward = 0, backward = 0;
    for (const core::OpId id : plan.stages[s].operators) {
      const auto& op = g.op(id);
      const double core = op.kind == graph::OpKind::attention ? 2.0 * 2 * 64 * 64 * 32 : 0;
      const double back = op.input_gradient_flops.value() + op.weight_gradient_flops.value();
      forward += (op.forward_flops.value() - core) * share + core * share * share;
      backward += (back - 2 * core) * share + 2 * core * share * share;
    }
    return std::pair(forward / 1e9, backward / 1e9);
  };
  // 1F1B. Stage 0: F0 F1 B0 B1. Stage 1: F0 B0 F1 B1. Neither messages nor one replica's sums take time.
  const auto [f00, b00] = passes(0, 0);
  const auto [f01, b01] = passes(0, 1);
  const auto [f10, b10] = passes(1, 0);
  const auto [f11, b11] = passes(1, 1);
  const double back0 = f00 + f10 + b10;                         // stage 1 has the first gradient
  const double back1 = std::max(f00 + f01, back0) + f11 + b11;  // and the second
  const double end0 = std::max(std::max(f00 + f01, back0) + b00, back1) + b01;
  const auto step = [&](std::size_t s) {
    return cost::step_time(problem, plan.stages[s], 0, cluster.type(core::DeviceId(s))).value();
  };
  const auto trace = sim::simulate(problem, score::scheduled(problem, plan), options);
  CHECK(to_seconds(trace.iteration).value() ==
        support::near(std::max(end0 + step(0), back1 + step(1)), 1e-9));
  CHECK(check::trace_violations(problem, score::scheduled(problem, plan), trace, options).empty());
}

TEST_CASE("messages carry the tokens that there are") {
  const auto g = gpt();
  const auto cluster = support::tiny_cluster(2);
  const support::FlopCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 4;
  const std::size_t cut = g.size() / 2;
  plan.stages = {stage_of(0, cut, 1, 2), stage_of(cut, g.size(), 1, 1)};
  plan.stages[1].devices = {core::DeviceId(1)};
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const Perturbation perturbation = parsed(kKinds[0]);
  sim::SimulationOptions options;
  options.perturbation = &perturbation;
  const auto drawn = sim::fillings(*perturbation.lengths, kSequence, 4, 0, 0);
  const auto tokens =
      std::accumulate(drawn.begin(), drawn.end(), std::int64_t{0},
                      [](std::int64_t sum, const SampleContent& f) { return sum + f.tokens; });
  const auto scheduled = score::scheduled(problem, plan);
  std::int64_t sent = 0;
  for (const auto& span : sim::simulate(problem, scheduled, options).spans)
    if (span.kind == trace::TaskKind::transfer) sent += span.bytes.value();
  CHECK(sent == 2 * tokens * scheduled.stages.boundaries()[0].bytes.value() / kSequence);  // and back
}

TEST_CASE("random plans: the verifier accepts just the trace of these lengths") {
  const auto g = gpt();
  const cost::AnalyticCosts analytic;
  const support::FlopCosts flops;
  int other = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed + 1000);
    std::size_t devices = 0;
    plan::Plan plan = random_plan(g, random, devices);
    const auto cluster = support::tiny_cluster(devices, std::int64_t{1} << 40, random.chance(0.5) ? 1e9 : 1e6,
                                               random.chance(0.5) ? 0 : 1e-5);
    const cost::CostModel& costs = random.chance(0.5) ? static_cast<const cost::CostModel&>(flops) : analytic;
    const cost::Problem problem{g, cluster, costs, plan.training};
    score::derive_in_flight(problem, plan);
    const auto violations = score::violations(problem, plan);
    for (const auto& violation : violations) FAIL(violation);
    const auto scheduled = score::scheduled(problem, plan);
    const Perturbation perturbation = parsed(kKinds[seed % 4]);
    sim::SimulationOptions options;
    const auto& names = sim::collective_names();
    options.collective = sim::collective(
        names[static_cast<std::size_t>(random.between(0, static_cast<int>(names.size()) - 1))]);
    options.network = random.chance(0.5) ? sim::NetworkModel::fifo : sim::NetworkModel::fair;
    options.perturbation = &perturbation;
    options.seed = seed;
    auto trace = sim::simulate(problem, scheduled, options);
    for (const auto& violation : check::trace_violations(problem, scheduled, trace, options))
      FAIL_CHECK(violation);
    const auto computed = [&](std::uint64_t of) {
      std::vector<std::int64_t> out;
      for (const auto& f : sim::fillings(*perturbation.lengths, kSequence, plan.training.mini_batch, of, 0))
        out.push_back(f.computed);
      return out;
    };
    if (computed(seed) == computed(seed + 1)) continue;
    options.seed = seed + 1;
    CHECK(!check::trace_violations(problem, scheduled, trace, options).empty());
    options.perturbation = nullptr;
    CHECK(!check::trace_violations(problem, scheduled, trace, options).empty());
    ++other;
  }
  CHECK(other > 30);
}

TEST_CASE("drawn lengths have the moments of their distribution") {
  constexpr std::int64_t kRoom = 1'000'000;
  constexpr std::int64_t kDraws = 40'000;
  const auto moments = [&](const std::string& yaml, auto&& number) {
    double sum = 0, squares = 0;
    for (const SampleContent& f : sim::fillings(lengths_of(yaml), kRoom, kDraws, 7, 0)) {
      const double x = number(static_cast<double>(f.tokens));
      sum += x, squares += x * x;
    }
    const double mean = sum / kDraws;
    return std::pair(mean, std::sqrt(squares / kDraws - mean * mean));
  };
  const auto logarithm = [](double x) { return std::log(x); };
  const auto itself = [](double x) { return x; };
  // Five standard errors: of the mean sigma / 200, of the deviation sigma / 280.
  const auto [mean, deviation] = moments("{lognormal: {median: 1000, sigma: 0.8}}", logarithm);
  CHECK(std::abs(mean - std::log(1000)) < 5 * 0.8 / 200);
  CHECK(std::abs(deviation - 0.8) < 5 * 0.8 / 280);
  const double width = (5000 - 1000 + 1) / std::sqrt(12);
  const auto [middle, spread] = moments("{uniform: {from: 1000, to: 5000}}", itself);
  CHECK(std::abs(middle - 3000) < 5 * width / 200);
  CHECK(std::abs(spread - width) < 5 * width / 280);
  // A tenth of one kind, three tenths of another, the rest of a third.
  const auto [counted, unused] = moments("{counts: {10: 1, 20: 3, 50: 6}}", itself);
  CHECK(std::abs(counted - (1 + 6 + 30)) <
        5 * std::sqrt(10 * 10 * 0.1 + 400 * 0.3 + 2500 * 0.6 - 37 * 37) / 200);
  static_cast<void>(unused);
}

TEST_CASE("packing: first fit as by hand, and nothing above the room") {
  constexpr std::int64_t kRoom = 100, kSamples = 20;
  for (const char* packing : {"first_fit", "sorted"}) {
    const auto lengths = lengths_of(std::string("{uniform: {from: 1, to: 90}, packing: ") + packing + "}");
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      // The stream is that of lone sequences. It ends with as many tokens as there is room for.
      auto stream = sim::fillings(lengths_of("{uniform: {from: 1, to: 90}}"), kRoom, 500, seed, 2);
      std::vector<std::int64_t> sequences;
      for (std::int64_t sum = 0; sum < kRoom * kSamples; sum += sequences.back())
        sequences.push_back(stream[sequences.size()].tokens);
      if (std::string_view(packing) == "sorted") std::ranges::sort(sequences, std::greater());
      std::vector<std::int64_t> held(kSamples), count(kSamples);
      std::vector<double> squares(kSamples);
      for (const std::int64_t tokens : sequences)
        for (std::size_t s = 0; s < held.size(); ++s)
          if (held[s] + tokens <= kRoom) {
            held[s] += tokens, ++count[s], squares[s] += static_cast<double>(tokens * tokens);
            break;
          }
      const auto packed = sim::fillings(lengths, kRoom, kSamples, seed, 2);
      for (std::size_t s = 0; s < held.size(); ++s) {
        CHECK(packed[s].tokens == held[s]);
        CHECK(packed[s].sequences == count[s]);
        CHECK(packed[s].computed == held[s]);
        CHECK(packed[s].meetings == squares[s]);
      }
    }
  }
}

TEST_CASE("padding is computed, and met by a lone sequence only") {
  const auto lone = sim::fillings(lengths_of("{counts: {50: 1}, pad: 64}"), 200, 1, 0, 0)[0];
  CHECK((lone.tokens == 50 && lone.computed == 64 && lone.meetings == 64 * 64));
  CHECK(lone.padding() == support::near(14.0 / 64));
  const auto packed =
      sim::fillings(lengths_of("{counts: {50: 1}, pad: 64, packing: first_fit}"), 120, 1, 0, 0)[0];
  CHECK((packed.sequences == 2 && packed.tokens == 100 && packed.computed == 120 &&
         packed.meetings == 2 * 50 * 50));
  CHECK(sim::fillings(lengths_of("{counts: {50: 1}, pad: maximum}"), 120, 1, 0, 0)[0].computed == 120);
  CHECK(sim::fillings(lengths_of("{counts: {50: 1}, pad: 64}"), 55, 1, 0, 0)[0].computed == 55);
}

TEST_CASE("mini-batches and seeds draw their own; the same ones for any number of threads") {
  const auto g = gpt();
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  plan::Plan plan;
  plan.training.mini_batch = 8;
  plan.stages = {stage_of(0, g.size() / 2, 2, 2), stage_of(g.size() / 2, g.size(), 2, 4)};
  plan.stages[1].devices = {core::DeviceId(2), core::DeviceId(3)};
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const auto scheduled = score::scheduled(problem, plan);
  const Perturbation perturbation = parsed(kKinds[1]);
  sim::SimulationOptions options;
  options.perturbation = &perturbation;
  options.seed = 40;
  std::vector<core::Picoseconds> one_by_one;
  for (std::uint64_t seed = 40; seed < 60; ++seed) {
    auto own = options;
    own.seed = seed;
    one_by_one.push_back(sim::simulate_time(problem, scheduled, own));
  }
  CHECK(sim::repeat(problem, scheduled, options, 20) == one_by_one);
  CHECK(std::ranges::adjacent_find(one_by_one) == one_by_one.end());
  const auto first = sim::fillings(*perturbation.lengths, kSequence, 8, 40, 0),
             next = sim::fillings(*perturbation.lengths, kSequence, 8, 40, 1);
  CHECK(!std::ranges::equal(first, next, {}, &SampleContent::tokens, &SampleContent::tokens));
}

TEST_CASE("faults have file, line and key") {
  CHECK(fault_of("{}") == "l.yaml:1: lengths: expected one of lognormal, uniform and counts");
  CHECK(fault_of("{lognormal: {median: 0.5, sigma: 1}}") ==
        "l.yaml:1: lengths.lognormal.median: expected a number of tokens, at least 1");
  CHECK(fault_of("{lognormal: {median: 5, sigma: -1}}") ==
        "l.yaml:1: lengths.lognormal.sigma: expected the standard deviation of the logarithm, from 0 to 10");
  CHECK(fault_of("{uniform: {from: 9, to: 8}}") ==
        "l.yaml:1: lengths.uniform.to: expected no less than 'from'");
  CHECK(fault_of("{counts: {no: 8}}") ==
        "l.yaml:1: lengths.counts.no: expected a length in tokens and how many sequences have it, such as "
        "512: 40");
  CHECK(fault_of("{counts: {}}") ==
        "l.yaml:1: lengths.counts: expected lengths and how many sequences have them");
  CHECK(fault_of("{counts: {4: 1, 04: 1}}") == "l.yaml:1: lengths.counts: 4 appears twice");
  CHECK(fault_of("{counts: {4: 1}, packing: sort}") ==
        "l.yaml:1: lengths.packing: unknown packing; did you mean 'sorted'?");
  CHECK(fault_of("{counts: {4: 1}, pad: -3}") ==
        "l.yaml:1: lengths.pad: expected none, maximum or a number of tokens that samples are padded to "
        "multiples of");
  CHECK(fault_of("{counts: {4: 1}, median: 3}").starts_with("l.yaml:1: lengths.median: "));
  const auto words = [](const sim::SequenceLengths& lengths, const graph::OpGraph& graph) {
    try {
      sim::room(lengths, graph);
    } catch (const core::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("no fault");
  };
  CHECK(words(lengths_of("{counts: {4: 1}, maximum: 65}"), gpt()) ==
        "l.yaml:1: lengths: maximum 65 is more than the 64 tokens of the model's sequence");
  CHECK(words(lengths_of("{counts: {4: 1}}"), models::build("dlrm", {})) ==
        "l.yaml:1: lengths: dlrm has no attention, so its samples are no sequences");
}

TEST_CASE("lengths in words") {
  CHECK(sim::in_words(parsed("{lognormal: {median: 20, sigma: 1}, packing: first_fit, pad: 8}")) ==
        "lengths (lognormal median 20 sigma 1, first_fit, padded to 8)");
  CHECK(sim::in_words(parsed("{uniform: {from: 2, to: 9}, maximum: 8, pad: maximum}")) ==
        "lengths (uniform 2 to 9, at most 8, padded to the maximum)");
  CHECK(sim::in_words(parsed("{counts: {8: 1, 9: 2}}")) == "lengths (2 counted lengths)");
}
