#include "penstock/experiment/profiled_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/measured_passes.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/kineto_text.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using support::KinetoSetting;
using trace::TaskKind;

namespace {

/// Stages of one operator and one device each; forward 1 ms, backward 2 ms, messages on slow links.
struct ProfiledChain {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::LaunchCosts costs;
  plan::Plan plan;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  schedule::ScheduledPlan scheduled() const { return score::scheduled(problem(), plan); }
  trace::Trace simulated(const std::string& perturbation = "") const {
    if (perturbation.empty()) return sim::simulate(problem(), scheduled());
    const auto bad = sim::parse_perturbation(perturbation, "bad.yaml", cluster);
    sim::SimulationOptions options;
    options.perturbation = &bad;
    options.seed = 3;
    return sim::simulate(problem(), scheduled(), options);
  }
};

ProfiledChain chain(std::size_t stages, std::int64_t micro_batches, const std::string& schedule = "1f1b") {
  std::vector<std::pair<int, int>> edges;
  for (int v = 1; v < static_cast<int>(stages); ++v) edges.emplace_back(v - 1, v);
  ProfiledChain c{support::tiny_graph(stages, edges),
                  support::tiny_cluster(stages + 1, 1 << 30, 1e6),
                  support::LaunchCosts({stages, {0, 1e-3}}),
                  {}};
  c.plan.training.mini_batch = micro_batches;
  c.plan.schedule = schedule;
  for (std::size_t s = 0; s < stages; ++s)
    c.plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, 1, 1, 0, {}});
  schedule::derive_in_flight(c.plan, plan::StageGraph(c.graph, c.plan));
  return c;
}

constexpr const char* kBadDay =
    "devices: [{device: 1, speed: 0.5}]\njitter: {forward: {lognormal: 20%}, backward: {uniform: 30%}}";

std::vector<trace::RankProfile> profiles(const trace::Trace& run, std::size_t ranks,
                                         const KinetoSetting& setting = {}) {
  std::vector<trace::RankProfile> out;
  for (std::size_t r = 0; r < ranks; ++r)
    out.push_back(
        trace::parse_rank_profile(support::kineto_text(run, r, setting), fmt::format("rank{}.json", r)));
  return out;
}

std::vector<trace::Span> computing(const trace::Trace& trace) {
  std::vector<trace::Span> out;
  for (const trace::Span& span : trace.spans)
    if (trace::computes(span.kind)) out.push_back(span);
  return out;
}

/// Throws of the comparison, as text.
std::string refusal(const ProfiledChain& c, const std::vector<trace::RankProfile>& found,
                    std::optional<std::int64_t> step = {}) {
  try {
    experiment::compare_profiles(c.problem(), c.plan, found, step);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != text.npos;
}

/// Kernel or operator times of the profile against the run that it was made of.
void check_times(const trace::Trace& run, const trace::Trace& measured) {
  const auto truth = computing(run), found = computing(measured);
  REQUIRE(found.size() == truth.size());
  constexpr std::int64_t kMicrosecond = 1'000'000;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    CHECK(found[i].kind == truth[i].kind);
    CHECK(found[i].stage == truth[i].stage);
    CHECK(found[i].micro_batch == truth[i].micro_batch);
    const auto off = [](core::Picoseconds a, core::Picoseconds b) { return std::abs((a - b).value()); };
    CHECK(off(found[i].start, truth[i].start) < kMicrosecond);
    CHECK(off(found[i].end - found[i].start, truth[i].end - truth[i].start) < kMicrosecond);
  }
}

}  // namespace

TEST_CASE("a profile of a perturbed run gives back its times to the microsecond, on hosts and on GPUs") {
  for (const char* schedule : {"1f1b", "gpipe", "zb_h1"}) {
    CAPTURE(schedule);
    const ProfiledChain c = chain(3, 5, schedule);
    const trace::Trace run = c.simulated(kBadDay);
    for (const bool gpu : {false, true}) {
      KinetoSetting setting;
      setting.gpu = gpu;
      const auto found = experiment::compare_profiles(c.problem(), c.plan, profiles(run, 3, setting), {});
      check_times(run, found.run.measured);
      CHECK(found.run.step == 7);
      CHECK(found.run.notes.empty());
      CHECK(found.run.ranks[1].on_gpu == gpu);
      CHECK(found.comparison.iteration.measured == support::near(to_seconds(run.iteration).value(), 1e-4));
    }
  }
}

TEST_CASE("causes add up, and a run that differs only in passes leaves nothing for messages") {
  const ProfiledChain c = chain(3, 6);
  const trace::Trace run = c.simulated(kBadDay);
  const auto found = experiment::compare_profiles(c.problem(), c.plan, profiles(run, 3), {});
  REQUIRE(found.causes.size() == 4);
  double sum = found.comparison.iteration.simulated;
  for (const auto& cause : found.causes) sum += cause.time.value();
  CHECK(sum == support::near(found.comparison.iteration.measured, 1e-9));
  CHECK(found.causes[0].time.value() > 1e-3);
  CHECK(found.causes[1].time.value() > 1e-3);
  CHECK(std::abs(found.causes[3].time.value()) < 2e-5);  // rounding of 36 passes to nanoseconds
  // With slower links and equal passes, all of the difference is due to messages.
  ProfiledChain slow = chain(3, 6);
  slow.cluster = support::tiny_cluster(4, 1 << 30, 1e5);
  const auto late = experiment::compare_profiles(c.problem(), c.plan, profiles(slow.simulated(), 3), {});
  for (int i = 0; i < 3; ++i) CHECK(std::abs(late.causes[static_cast<std::size_t>(i)].time.value()) < 2e-5);
  CHECK(late.causes[3].time.value() > 1e-4);
}

TEST_CASE("measured passes of an unperturbed run simulate to the same iteration") {
  const ProfiledChain c = chain(4, 7);
  const trace::Trace run = c.simulated();
  const std::set<TaskKind> all = {TaskKind::forward, TaskKind::backward, TaskKind::step};
  CHECK(sim::time_with_measured(c.problem(), c.scheduled(), run, all) == run.iteration);
  CHECK(sim::time_with_measured(c.problem(), c.scheduled(), run, {}) == run.iteration);
}

TEST_CASE("idle time during waits is awaited") {
  const ProfiledChain c = chain(2, 3);
  const auto found = experiment::compare_profiles(c.problem(), c.plan, profiles(c.simulated(), 2), {});
  for (const trace::RankTimes& rank : found.run.ranks) {
    CHECK(rank.awaited > 0);
    CHECK(rank.awaited <= rank.idle.measured + 1e-9);
    CHECK(rank.idle.measured == support::near(rank.idle.simulated, 1e-3));
  }
}

TEST_CASE("several machines are aligned at the step, and one clock is not needed within a machine") {
  const ProfiledChain c = chain(2, 3);
  const trace::Trace run = c.simulated();
  KinetoSetting other;
  other.host = "b";
  other.shift_us = 5e6;
  std::vector<trace::RankProfile> both = profiles(run, 2);
  both[1] = trace::parse_rank_profile(support::kineto_text(run, 1, other), "rank1.json");
  const auto found = experiment::compare_profiles(c.problem(), c.plan, both, {});
  check_times(run, found.run.measured);
  REQUIRE(found.run.notes.size() == 1);
  CHECK(contains(found.run.notes[0], "clocks of 2 hosts are aligned"));
  other.step = false;
  KinetoSetting first;
  first.step = false;
  both = {trace::parse_rank_profile(support::kineto_text(run, 0, first), "rank0.json"),
          trace::parse_rank_profile(support::kineto_text(run, 1, other), "rank1.json")};
  CHECK(contains(refusal(c, both), "2 hosts, whose clocks differ"));
}

TEST_CASE("a part of the ranks is compared without causes") {
  const ProfiledChain c = chain(3, 4);
  const trace::Trace run = c.simulated(kBadDay);
  const auto found = experiment::compare_profiles(c.problem(), c.plan, {profiles(run, 3)[1]}, {});
  CHECK_FALSE(found.run.whole);
  CHECK(found.causes.empty());
  CHECK(contains(found.run.notes.at(0), "no profile of rank 0, 2"));
  CHECK(found.run.measured.spans.size() == std::ranges::count_if(run.spans, [](const trace::Span& span) {
          return trace::computes(span.kind) && span.device.index() == 1;
        }));
}

TEST_CASE("profiles of another run are refused by the first difference") {
  const ProfiledChain c = chain(2, 4), more = chain(2, 8), zero = chain(2, 4, "zb_h1");
  const trace::Trace run = c.simulated();
  CHECK(contains(refusal(c, profiles(more.simulated(), 2)),
                 "rank0.json: 8 forward passes of stage 0 in the step, but the plan has 4 on this rank"));
  CHECK(contains(refusal(c, profiles(zero.simulated(), 2)), "but the plan has 4 on this rank"));
  const auto good = profiles(run, 2);
  CHECK(contains(refusal(c, {good[0], good[0]}), "is a second profile of rank 0"));
  CHECK(contains(refusal(c, good, 3), "no step 3; the profiles have 7"));
  KinetoSetting bare;
  bare.names_rank = false;
  CHECK(contains(refusal(c, profiles(run, 2, bare)), "names no rank"));
  const ProfiledChain four = chain(4, 4);
  CHECK(contains(refusal(c, profiles(four.simulated(), 4)),
                 "is of rank 2, but the plan has no stage on device 2"));
}

TEST_CASE("a run in another order is noted, and passes that overlap, repeat or last for days are refused") {
  const ProfiledChain c = chain(2, 3), other = chain(2, 3, "gpipe");
  const auto found = experiment::compare_profiles(c.problem(), c.plan, profiles(other.simulated(), 2), {});
  CHECK(contains(found.run.notes.at(0), "where the plan has the"));
  auto wrong = profiles(c.simulated(), 2);
  wrong[0].passes[1].time.start = wrong[0].passes[0].time.end - 5000;
  CHECK(contains(refusal(c, wrong), "passes of a rank cannot overlap"));
  wrong = profiles(c.simulated(), 2);
  wrong[0].passes[1].micro_batch = wrong[0].passes[0].micro_batch;
  CHECK(contains(refusal(c, wrong), "occurs twice in the step"));
  wrong = profiles(c.simulated(), 2);
  wrong[1].steps[0].time.end = wrong[1].steps[0].time.start + std::int64_t{86'400'000'000'000};
  CHECK(contains(refusal(c, wrong), "takes 24.0 hours; times must be in microseconds"));
}

TEST_CASE("names without a micro-batch follow the plan's order, and without a stage are of the only stage") {
  const ProfiledChain c = chain(2, 3);
  const trace::Trace run = c.simulated(kBadDay);
  auto bare = profiles(run, 2);
  for (auto& profile : bare)
    for (auto& pass : profile.passes) pass.stage = pass.micro_batch = -1;
  check_times(run, experiment::compare_profiles(c.problem(), c.plan, bare, {}).run.measured);
  bare = profiles(run, 2);
  for (auto& profile : bare)
    for (auto& pass : profile.passes) pass.stage = -1;
  check_times(run, experiment::compare_profiles(c.problem(), c.plan, bare, {}).run.measured);
}

TEST_CASE("table, JSON and picture show both runs") {
  const ProfiledChain c = chain(2, 3);
  auto found = experiment::compare_profiles(c.problem(), c.plan, profiles(c.simulated(kBadDay), 2), {});
  found.plan = "tiny";
  const std::string table = report::profiled_table(found);
  for (const char* part : {"tiny, step 7: ", "forward passes as measured",
                           "messages, waits, host between passes", "awaited", "start off by"})
    CHECK(contains(table, part));
  const auto json = nlohmann::json::parse(report::profiled_json(found, {}));
  CHECK(json.at("step") == 7);
  CHECK(json.at("ranks").size() == 2);
  CHECK(json.at("causes").size() == 4);
  const std::string svg = report::profiled_svg(found);
  for (const char* part : {"0 measured", "0 simulated", "1 measured", "1 simulated", "tiny, step 7"})
    CHECK(contains(svg, part));
}
