// Stages that differ by numbers of equal operators and devices take as long and hold as much.

#include "src/cost/stage_forms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/host.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "src/score/exposed_reduction.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

using core::DeviceId;
using core::OpId;
using Operators = std::vector<OpId>;
using Devices = std::vector<DeviceId>;

const cost::AnalyticCosts kCosts;

Operators run(std::size_t begin, std::size_t end) {
  Operators out;
  for (std::size_t op = begin; op < end; ++op) out.emplace_back(op);
  return out;
}

std::vector<double> seconds(const cost::OpTime& time) {
  return {time.forward.value(), time.input_gradient.value(), time.weight_gradient.value(),
          time.recompute.value()};
}

/// Costs of a stage that name no operators and devices; nothing of a stage that cannot be divided.
struct NamelessCosts {
  std::vector<cost::StageLoad> loads;      ///< by member
  std::vector<std::vector<double>> times;  ///< by replica: computing, collectives
  double exposed = 0;                      ///< s, of reductions
  friend bool operator==(const NamelessCosts&, const NamelessCosts&) = default;
};
std::optional<NamelessCosts> said_of(const cost::Problem& problem, const plan::Stage& stage) {
  NamelessCosts out;
  try {
    for (int m = 0; m < stage.tensor_parallel; ++m)
      out.loads.push_back(cost::stage_load(problem, stage, static_cast<std::size_t>(m)));
    std::vector<std::int64_t> samples;
    for (std::size_t r = 0; r < static_cast<std::size_t>(stage.replicas()); ++r)
      samples.push_back(stage.share_start(static_cast<std::int64_t>(r) + 1) -
                        stage.share_start(static_cast<std::int64_t>(r)));
    const auto times = cost::replica_times(problem, stage, {stage.operators}, samples);
    for (const auto& by_set : *times)
      for (const cost::StageTime& time : by_set)
        out.times.push_back(seconds(time.compute)), out.times.push_back(seconds(time.collectives));
    out.exposed = score::ExposedReduction(problem, stage, stage.operators).least().value();
  } catch (const core::Error&) {
    return std::nullopt;
  }
  return out;
}

/// One of many ways to run a stage.
plan::Stage stage_of(const Operators& operators, const Devices& devices, core::Random& random) {
  const auto one_of = [&](const std::vector<int>& values) {
    return values[static_cast<std::size_t>(random.between(0, static_cast<int>(values.size()) - 1))];
  };
  plan::Stage out;
  out.operators = operators;
  out.devices = devices;
  const auto size = static_cast<int>(devices.size());
  out.tensor_parallel = std::min(one_of({1, 1, 2, 4}), size);
  if (size % out.tensor_parallel != 0) out.tensor_parallel = 1;
  out.sequence_parallel = out.tensor_parallel > 1 && random.between(0, 1) == 1;
  out.zero = one_of({0, 0, 1, 2, 3});
  const int groups = size / out.tensor_parallel;
  if (groups % 2 == 0) out.context_parallel = one_of({1, 1, 1, 2});
  const plan::Recomputation again[] = {{},
                                       plan::kRecomputeStage,
                                       plan::kRecomputeLayers,
                                       plan::kRecomputeCore,
                                       {plan::Recomputation::SegmentScope::layers, false, 1}};
  out.recompute = again[random.between(0, 4)];
  out.micro_batch = 4 * size;
  if (random.between(0, 2) == 0) {
    const plan::Partition how[] = {plan::Partition::whole, plan::Partition::batch, plan::Partition::column,
                                   plan::Partition::row};
    const int place = random.between(0, static_cast<int>(operators.size()) - 1);
    out.partition[operators[static_cast<std::size_t>(place)]] = how[random.between(0, 3)];
  }
  return out;
}

/// The stage on other operators and devices.
plan::Stage moved(plan::Stage stage, const Operators& operators, const Devices& devices) {
  std::map<OpId, plan::Partition> partition;
  for (const auto& [op, how] : stage.partition) {
    const auto place = std::ranges::find(stage.operators, op) - stage.operators.begin();
    partition[operators[static_cast<std::size_t>(place)]] = how;
  }
  stage.partition = partition;
  stage.operators = operators;
  stage.devices = devices;
  return stage;
}

/// Compares the runs of one form with the first of them; returns how many could be compared.
int check_operators(const graph::OpGraph& graph, const cluster::Cluster& cluster, std::size_t longest) {
  CAPTURE(graph.name());
  const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::adam}};
  cost::StageForms forms(problem);
  std::map<std::uint32_t, Operators> firsts;
  core::Random random(1);
  int compared = 0;
  const Devices devices = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)};
  for (std::size_t begin = 0; begin < graph.size(); ++begin)
    for (std::size_t end = begin + 1; end <= std::min(begin + longest, graph.size()); ++end) {
      const Operators mine = run(begin, end);
      const auto [first, is_new] = firsts.try_emplace(forms.operators(mine).number, mine);
      if (is_new) continue;
      const plan::Stage stage = stage_of(first->second, devices, random);
      const plan::Stage other = moved(stage, mine, devices);
      const auto said = said_of(problem, stage);
      CAPTURE(begin);
      CAPTURE(end);
      CHECK(said == said_of(problem, other));
      compared += said.has_value();
      // The memo's keys agree with this, and separate other settings.
      cost::Problem remembering = problem;
      cost::StageMemo memo;
      memo.serve(remembering);
      CHECK(cost::StageKey("answer", remembering, stage).bytes() ==
            cost::StageKey("answer", remembering, other).bytes());
    }
  return compared;
}

/// Random lists of devices, compared with the first of their form.
int check_devices(const cluster::Cluster& cluster) {
  const auto graph = models::build("gpt", {{"layers", "2"}});
  const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::adam}};
  cost::StageForms forms(problem);
  std::map<std::uint32_t, Devices> firsts;
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<std::size_t> all(cluster.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto size = std::min(cluster.size(), std::size_t{1} << random.between(0, 3));
    Devices mine;
    if (random.between(0, 1) == 0) {  // a run, whole nodes often
      const auto begin = static_cast<std::size_t>(random.between(0, static_cast<int>(cluster.size() - size)));
      for (std::size_t d = begin; d < begin + size; ++d) mine.emplace_back(d);
    } else {
      for (std::size_t i = 0; i < size; ++i) {
        std::swap(all[i], all[static_cast<std::size_t>(
                              random.between(static_cast<int>(i), static_cast<int>(all.size()) - 1))]);
        mine.emplace_back(all[i]);
      }
      if (random.between(0, 1) == 0) std::ranges::sort(mine);
    }
    const auto [first, is_new] = firsts.try_emplace(forms.devices(mine).number, mine);
    if (is_new || first->second == mine) continue;
    const plan::Stage stage = stage_of(run(3, 13), first->second, random);
    const auto said = said_of(problem, stage);
    CHECK(said == said_of(problem, moved(stage, stage.operators, mine)));
    compared += said.has_value();
  }
  return compared;
}

}  // namespace

TEST_CASE("runs of operators that have one form cost the same, in every model") {
  const auto cluster = cluster::load_cluster("8xA100-40x2");
  CHECK(check_operators(models::build("gpt", {{"layers", "4"}}), cluster, 24) > 100);
  CHECK(check_operators(models::build("llama", {{"layers", "3"}, {"hidden", "1024"}, {"heads", "8"}}),
                        cluster, 20) > 50);
  CHECK(check_operators(models::build("mmt", {{"branches", "3"}, {"layers", "2"}}), cluster, 16) > 50);
  CHECK(check_operators(models::build("dlrm", {}), cluster, 12) > 50);
  CHECK(check_operators(models::build("clip", {}), cluster, 12) > 50);
  CHECK(check_operators(models::build("encoder_decoder", {}), cluster, 14) > 50);
  CHECK(check_operators(models::build("resnet50", {}), cluster, 10) > 20);
  CHECK(check_operators(models::build("mixtral", {{"layers", "3"}}), cluster, 14) > 20);
}

TEST_CASE("runs of operators that have one form cost the same under every runtime") {
  for (const cluster::NamedRuntime& named : cluster::runtimes()) {
    CAPTURE(named.name);
    const auto cluster = cluster::load_cluster("8xA100-40x2").run_by(named.runtime);
    CHECK(check_operators(models::build("mmt", {{"branches", "2"}, {"layers", "2"}}), cluster, 12) > 10);
    CHECK(check_operators(models::build("dlrm", {{"branches", "3"}}), cluster, 8) > 20);
    CHECK(check_operators(models::build("candle_uno", {{"towers", "3"}}), cluster, 8) > 20);
  }
}

TEST_CASE("operators with one reader together have another form than those with one each") {
  const auto graph = support::tiny_graph(7, {{0, 2}, {1, 2}, {3, 5}, {4, 6}});
  const auto cluster = support::tiny_cluster(1);
  const cost::Problem problem{graph, cluster, kCosts, {1}};
  cost::StageForms forms(problem);
  const auto form = [&](std::size_t a, std::size_t b) {
    return forms.operators(Operators{OpId(a), OpId(b)}).number;
  };
  CHECK(form(0, 3) == form(1, 4));
  CHECK(form(0, 3) == form(3, 4));
  CHECK(form(0, 1) != form(3, 4));
}

TEST_CASE("the first input, which fetches the batch, has a form of its own") {
  const auto graph = models::build("dlrm", {{"branches", "2"}});
  const auto cluster = cluster::load_cluster("8xA100-40x1");
  const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::adam}};
  cost::StageForms forms(problem);
  Operators inputs;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).kind == graph::OpKind::input && graph.output(OpId(v)) == graph.output(OpId(0)))
      inputs.emplace_back(v);
  REQUIRE(inputs.size() > 1);
  CHECK(cost::fetches_batch(graph, inputs[0]));
  CHECK_FALSE(cost::fetches_batch(graph, inputs[1]));
  CHECK(forms.operators(Operators{inputs[0]}).number != forms.operators(Operators{inputs[1]}).number);
}

namespace {

/// Two leaves of two nodes of two devices, the leaves joined by a slower core.
cluster::Cluster two_leaves() {
  std::vector<cluster::Link> links;
  const auto join = [&](std::size_t a, std::size_t b, double gigabytes) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      links.push_back({from, to, core::Bandwidth(gigabytes * 1e9), core::Seconds(1e-6)});
  };
  for (std::size_t d = 0; d < 8; ++d) join(d, 8 + d / 2, 100);
  for (std::size_t n = 0; n < 4; ++n) join(8 + n, 12 + n / 2, 25);
  for (std::size_t leaf = 12; leaf < 14; ++leaf) join(leaf, 14, 10);
  std::vector<cluster::Device> devices;
  for (int d = 0; d < 8; ++d) devices.push_back({0, d / 2});
  const auto types = cluster::load_cluster("8xA100-40x1").types();
  return {"two_leaves", types, devices, 7, links};
}

}  // namespace

TEST_CASE("a stage costs the same on devices whose lists have one form, on every network") {
  CHECK(check_devices(cluster::load_cluster("4xH100x4")) > 500);
  CHECK(check_devices(cluster::load_cluster("4xH100x4-rails")) > 500);
  CHECK(check_devices(two_leaves()) > 300);
  for (const char* name : {"summit_flexflow_two_rails", "dgx_a100"})
    CHECK(check_devices(cluster::load_cluster(name).first(16)) > 100);
  for (const char* name : {"mixed", "pcie_ring"})  // no node is like another
    CHECK(check_devices(cluster::load_cluster(name)) == 0);
  CHECK(check_devices(cluster::load_cluster("summit").first(14)) > 100);  // of the last node a half
}

TEST_CASE("nodes that repeat have one form; those below another leaf, of another type or cut short do not") {
  const auto graph = models::build("gpt", {{"layers", "1"}});
  const auto one_form = [&](const cluster::Cluster& cluster, const Devices& a, const Devices& b) {
    const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::adam}};
    cost::StageForms forms(problem);
    return forms.devices(a).number == forms.devices(b).number;
  };
  const auto devices = [](std::initializer_list<std::size_t> list) {
    Devices out;
    for (const std::size_t d : list) out.emplace_back(d);
    return out;
  };
  const auto rails = cluster::load_cluster("4xH100x4-rails");
  CHECK(one_form(rails, devices({0, 1, 2, 3}), devices({12, 13, 14, 15})));
  CHECK(one_form(rails, devices({0, 4}), devices({8, 12})));
  CHECK_FALSE(one_form(rails, devices({0, 4}), devices({0, 5})));  // another rail
  CHECK_FALSE(one_form(rails, devices({0, 4}), devices({4, 0})));
  CHECK(one_form(two_leaves(), devices({0, 1}), devices({2, 3})));
  CHECK_FALSE(one_form(two_leaves(), devices({0, 2}), devices({0, 4})));
  const auto half = cluster::load_cluster("summit").first(14);
  CHECK(one_form(half, devices({0, 4}), devices({4, 8})));
  CHECK_FALSE(one_form(half, devices({0, 4}), devices({4, 12})));
}

TEST_CASE("layers that repeat have one form; tied operators and those of costs by name do not") {
  const auto graph = models::build("gpt", {{"layers", "4"}});
  const auto cluster = cluster::load_cluster("8xA100-40x1");
  const auto by_name = support::FixedCosts::uniform(graph.size(), 1, 2);
  const std::size_t layer =
      (graph.size() - 7) / 4;  // operators of one, behind embeddings and before norm and head
  const auto one_form = [&](const cost::CostModel& costs, const Operators& a, const Operators& b) {
    const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::adam}};
    cost::StageForms forms(problem);
    return forms.operators(a).number == forms.operators(b).number;
  };
  const Operators one = run(6, 6 + layer), next = run(6 + layer, 6 + 2 * layer);
  CHECK(graph.op(one.front()).name.substr(7) == graph.op(next.front()).name.substr(7));
  CHECK(one_form(kCosts, one, next));
  CHECK_FALSE(one_form(by_name, one, next));
  CHECK_FALSE(one_form(kCosts, one, run(7, 7 + layer)));
}

TEST_CASE("forms with too many lists forget them, and give no number twice") {
  const auto graph = models::build("gpt", {{"layers", "4"}});
  const auto cluster = cluster::load_cluster("8xA100-40x1");
  const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::adam}};
  cost::StageForms few(problem, 2048), all(problem);
  std::map<std::uint32_t, std::uint32_t> form_of;  // of what forgets: of what does not
  for (int round = 0; round < 3; ++round)
    for (std::size_t begin = 0; begin + 5 < graph.size(); ++begin) {
      const Operators mine = run(begin, begin + 5);
      const std::uint32_t number = few.operators(mine).number, form = all.operators(mine).number;
      CHECK(form_of.try_emplace(number, form).first->second == form);
    }
  CHECK(form_of.size() > 2 * graph.size());
}
