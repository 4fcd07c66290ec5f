#include "penstock/experiment/replay.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "penstock/core/error.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/graph/with_operators.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/replay/cuda_graph.hpp"
#include "penstock/replay/precision.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {
namespace {

/// Returns the graph with mixtures that give their rows to experts in turn.
graph::OpGraph with_experts_in_turn(const graph::OpGraph& graph) {
  std::vector<graph::Operator> operators = graph.operators();
  bool found = false;
  for (graph::Operator& op : operators)
    if (auto* experts = std::get_if<graph::Experts>(&op.attributes)) found = experts->in_turn = true;
  if (!found) throw core::BadInput("no operator of the model has experts that rows could take in turn");
  return graph::with_operators(graph, std::move(operators));
}

/// Workers, each with its own backend, for every device of this process with work.
class DeviceWorkers {
 public:
  DeviceWorkers(const cost::Problem& problem, const plan::Plan& plan, const replay::DevicePrograms& program,
                const ReplaySetting& setting)
      : backends_(program.devices.size()), owned_(program.devices.size()) {
    const auto* processes = setting.options.processes;
    const kernels::MachineShare share = replay::share_of_machine(program, processes);
    replay::TrainingSetup training = setting.training;
    training.precision = replay::precision_of(problem.graph, plan.training);
    training.stop = setting.options.stop;
    for (std::size_t d = 0, at_work = 0; d < program.devices.size(); ++d) {
      if (program.devices[d].empty() || (processes != nullptr && !processes->has(core::DeviceId(d))))
        continue;
      backends_[d] = kernels::open_device(kernels::device_for(setting.device, at_work++, share), 1);
      owned_[d] = replay::make_worker(*backends_[d], problem, plan, core::DeviceId(d), program, training);
    }
  }

  std::vector<replay::Worker*> all() const {
    std::vector<replay::Worker*> out;
    for (const auto& worker : owned_) out.push_back(worker.get());
    return out;
  }
  std::vector<replay::DeviceWorker*> device_workers() const {
    std::vector<replay::DeviceWorker*> out;
    for (const auto& worker : owned_) out.push_back(worker.get());
    return out;
  }
  /// True if each has its own processor or place.
  bool apart() const {
    std::set<std::string> places;
    std::size_t count = 0;
    for (const auto& backend : backends_)
      if (backend != nullptr) ++count, places.insert(backend->place());
    return places == std::set<std::string>{"host"} ? count <= std::thread::hardware_concurrency()
                                                   : places.size() == count;
  }

 private:
  std::vector<std::unique_ptr<kernels::Backend>> backends_;  ///< must outlive the workers
  std::vector<std::unique_ptr<replay::DeviceWorker>> owned_;
};

replay::ReplayManner manner_for(const ReplaySetting& setting, const DeviceWorkers& workers) {
  if (setting.manner) return *setting.manner;
  if (setting.options.processes != nullptr) return replay::ReplayManner::concurrent;
  return workers.apart() ? replay::ReplayManner::concurrent : replay::ReplayManner::sequential;
}

void check_graph(const ReplaySetting& setting, replay::ReplayManner manner,
                 const replay::DevicePrograms& program) {
  if (setting.device == "host") throw core::BadInput("the host has no graphs: an iteration is one on GPUs");
  if (manner != replay::ReplayManner::concurrent)
    throw core::BadInput("an iteration is a graph where its devices run side by side");
  if (setting.options.processes != nullptr) throw core::BadInput("--graph works with one process only");
  if (setting.training.losses) throw core::BadInput("a graph reads no losses");
  if (program.mini_batches > 1) throw core::BadInput("an iteration without a flush is no graph");
}

core::MedianInterval interval(const std::vector<core::Seconds>& times) {
  std::vector<double> values;
  for (const core::Seconds time : times) values.push_back(time.value());
  return core::median_interval(std::move(values));
}

report::ReplayRow row_of(const cost::Problem& problem, const plan::Plan& plan,
                         const ReplayOutcome& replayed) {
  const report::CellResult cell = describe(problem, plan);
  report::ReplayRow out;
  out.model = cell.model;
  out.devices = cell.devices;
  out.planner = plan.planner;
  out.schedule = plan.schedule;
  out.stages = std::ssize(plan.stages);
  out.mini_batch = plan.training.mini_batch;
  out.measured = interval(replayed.measured.iterations);
  out.iterations = std::ssize(replayed.measured.iterations);
  out.simulated_s = to_seconds(replayed.simulated.iteration).value();
  out.peak = replayed.comparison.peak;
  out.exposed = replayed.comparison.exposed;
  out.manner = name(replayed.measured.manner);
  return out;
}

}  // namespace

ReplayOutcome replay_plan(const cost::Problem& problem, const plan::Plan& plan,
                          const sim::SimulationOptions& simulation, const ReplaySetting& setting) {
  const auto scheduled = score::scheduled(problem, plan);
  const replay::DevicePrograms program = replay::lower(problem.graph, scheduled);
  const std::optional<graph::OpGraph> in_turn =
      setting.experts_in_turn ? std::optional(with_experts_in_turn(problem.graph)) : std::nullopt;
  const cost::Problem executed{in_turn ? *in_turn : problem.graph, problem.cluster, problem.costs,
                               problem.training, problem.memory};
  const DeviceWorkers workers(executed, plan, program, setting);
  const replay::ReplayManner manner = manner_for(setting, workers);
  if (setting.graph) check_graph(setting, manner, program);
  ReplayOutcome out;
  out.measured = replay::run(program, problem, plan, workers.all(), manner, setting.options);
  if (setting.graph)
    out.as_graph = replay::run_as_cuda_graph(program, problem.graph, plan, workers.device_workers(),
                                             setting.options.iterations, setting.options.stop);
  if (setting.options.processes != nullptr && setting.options.processes->rank() > 0) return out;
  cost::Problem in_one = problem;  // a replay reduces a stage's gradients after its last pass
  in_one.training.bucket = core::Bytes(0);
  sim::SimulationOptions options = simulation;
  if (manner == replay::ReplayManner::sequential)
    options.crowding = false;  // devices that run one at a time have no neighbours
  out.simulated = sim::simulate(in_one, scheduled, options);
  out.comparison = trace::compare(out.measured.trace, out.simulated);
  out.row = row_of(problem, plan, out);
  return out;
}

}  // namespace penstock::experiment
