// Time and memory of whole searches, side by side. Planners have the same problems, all micro-batch sizes,
// and are judged by estimate so that only the search counts. Each on one thread, then on two; "MiB" is the
// most by which the process grew. Goals: every search ends in seconds and below 4 GiB; those above a second
// are 1.7 times as fast on two threads. GraphPipe (Jeon et al., ASPLOS 2025, Table 1) was 9 to 21 times as
// fast as PipeDream and Piper, which were Python and C++ with tables over all cuts. Here all three are fast,
// so `duel` shows what is left of that.

#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include "models/catalogue.hpp"
#include "penstock/core/peak_memory.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "support/checkout.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kCosts;

void search(benchmark::State& state, const graph::OpGraph& graph, int devices, std::int64_t mini_batch,
            const char* planner) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(state.range(0)));
  const auto cluster =
      cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(devices);
  const cost::Problem problem{graph, cluster, kCosts, {mini_batch, plan::Optimizer::sgd}};
  const core::PeakMemory memory;
  for (auto _ : state) try {
      benchmark::DoNotOptimize(planners::planner(planner).plan(problem, {}, {}));
    } catch (const core::Error& e) {  // beyond a planner's limits: it refuses at once, or not
      state.SetLabel(e.what());
    }
  if (const auto bytes = memory.growth())
    state.counters["MiB"] = static_cast<double>(bytes->value()) / (1 << 20);
}

/// The models and mini-batches of GraphPipe's evaluation at 32 GPUs. `piper` itself meets too many downsets
/// there.
void duel(benchmark::State& state, const char* model, std::int64_t mini_batch, const char* planner) {
  search(state, models::build(model, {}), 32, mini_batch, planner);
}

/// Cells as in NASNet (Zoph et al., CVPR 2018): each reads the two before it, five blocks of two operators
/// and their sum, each of inputs and earlier blocks, then a concatenation. Work by chance. 1,001 operators.
graph::OpGraph nasnet_like() {
  core::Random random(1);
  std::vector<std::pair<int, int>> edges;
  std::vector<double> work(1, 1e7);
  const auto add = [&](std::initializer_list<int> inputs, double flops) {
    for (int input : inputs) edges.emplace_back(input, static_cast<int>(work.size()));
    work.push_back(flops * (1 + random.unit()));
    return static_cast<int>(work.size()) - 1;
  };
  int before = 0, last = 0;
  while (work.size() + 18 <= 1001) {
    std::vector<int> open = {add({before}, 1e8), add({last}, 1e8)};
    for (int block = 0; block < 5; ++block) {
      const auto any = [&] {
        return open[static_cast<std::size_t>(random.between(0, static_cast<int>(open.size()) - 1))];
      };
      const int one = add({any()}, 1e9), other = add({any()}, 1e9);
      open.push_back(add({one, other}, 1e6));
    }
    const int cell = add({open[2], open[3], open[4], open[5], open[6]}, 1e6);
    before = last, last = cell;
  }
  while (work.size() < 1001) last = add({last}, 1e8);
  return support::tiny_graph(work.size(), edges, work);
}

void network(benchmark::State& state, const char* name, const char* planner) {
  const auto graph = std::string(name) == "nasnet" ? nasnet_like() : models::build(name, {});
  search(state, graph, 32, 1024, planner);
}

void add_all() {
  const auto add = [](const std::string& name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->Arg(1)
        ->Arg(2)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  for (const auto& [model, mini_batch] : {std::pair{"mmt", 512}, {"dlrm", 8192}, {"candle_uno", 8192}})
    for (const char* planner : {"graphpipe", "spp", "pipedream", "piper_row"})
      add(std::string("duel/") + model + "/" + planner,
          [model = model, mini_batch = mini_batch, planner](benchmark::State& state) {
            duel(state, model, mini_batch, planner);
          });
  for (const char* model : {"inception_v3", "nasnet"})
    for (const auto& planner : planners::catalogue())
      add(std::string("network/") + model + "/" + planner.name,
          [model, name = planner.name.c_str()](benchmark::State& state) { network(state, model, name); });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_all();
  benchmark::RunSpecifiedBenchmarks();
}
