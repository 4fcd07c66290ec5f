#include "penstock/replay/cuda_graph.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "run/recording.hpp"

namespace penstock::replay {

std::vector<core::Seconds> run_as_cuda_graph(const DevicePrograms& program, const graph::OpGraph& graph,
                                             const plan::Plan& plan,
                                             const std::vector<DeviceWorker*>& workers, int launches,
                                             core::StopToken stop) {
  if (program.mini_batches > 1)
    throw core::BadInput(
        "a plan that does not flush is no graph: its weights lie elsewhere after an iteration");
  if (!program.shared.empty() || std::ranges::any_of(plan.stages, [](const plan::Stage& stage) {
        return stage.replica_size() > 1 || stage.expert_parallel > 1;
      }))
    throw core::BadInput(
        "a plan with tensor parallelism, or parameters that stages share, is not put into one graph");
  const auto first = std::ranges::find_if(workers, [](DeviceWorker* worker) { return worker != nullptr; });
  core::require(first != workers.end(), "a program has a device");
  const auto origin = (*first)->backend().make_stream();
  const auto wait = [&] {
    origin->synchronise();
    for (DeviceWorker* worker : workers)
      if (worker != nullptr) worker->settle();
  };
  StreamRecording recording(program, graph, plan, workers);
  stop.check();
  recording.put(*origin);  // allocates now, not while a graph is captured
  wait();
  const auto launch = origin->bundle(1, [&] { recording.put(*origin); });
  std::vector<core::Seconds> out;
  for (int i = 0; i <= launches; ++i) {
    stop.check();
    const auto begin = origin->record_event();
    launch();
    const auto end = origin->record_event();
    wait();
    if (i > 0) out.push_back(end->since(*begin));
  }
  return out;
}

}  // namespace penstock::replay
