#include "support/piper_cases.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "penstock/core/random.hpp"

namespace penstock::support {
namespace {

using graph::PiperDegree;
using graph::PiperWorkload;
using graph::Vertex;
using planners::PiperStage;

PiperDegree random_degree(core::Random& random, int degree) {
  PiperDegree out;
  out.degree = degree;
  out.weights = random.between(0, 6);
  out.configurations.push_back(
      {"plain", double(random.between(0, 12)), double(random.between(0, 6)), double(random.between(0, 6))});
  if (random.chance(0.7)) {
    const auto& plain = out.configurations[0];
    out.configurations.push_back({"recomputed", plain.time + random.between(0, 5),
                                  double(random.between(0, static_cast<int>(plain.per_micro_batch))),
                                  plain.fixed + random.between(0, 2)});
  }
  return out;
}

const PiperDegree* find(const PiperWorkload& workload, Vertex v, int degree) {
  for (const auto& d : workload.layers[static_cast<std::size_t>(v)].degrees)
    if (d.degree == degree) return &d;
  return nullptr;
}

double extra(const std::vector<double>& sync, const PiperWorkload& workload, Vertex v, int degree) {
  return sync[static_cast<std::size_t>(find(workload, v, degree) -
                                       workload.layers[static_cast<std::size_t>(v)].degrees.data())];
}

/// Section 2 of the paper's cost model, word by word.
double load(const PiperWorkload& workload, const PiperStage& stage) {
  const auto& setting = workload.setting;
  const auto holds = [&](Vertex v) { return std::count(stage.layers.begin(), stage.layers.end(), v) > 0; };
  double compute = 0, moved = 0, weights = 0;
  for (std::size_t k = 0; k < stage.layers.size(); ++k) {
    const PiperDegree* d = find(workload, stage.layers[k], stage.tensor_degree);
    compute += d->configurations[static_cast<std::size_t>(stage.configurations[k])].time;
    weights += d->weights;
  }
  for (const auto& edge : workload.edges) {
    if (holds(edge.to) && !holds(edge.from))
      moved += edge.bytes + extra(edge.entering, workload, edge.to, stage.tensor_degree);
    if (holds(edge.from) && !holds(edge.to))
      moved += edge.bytes + extra(edge.leaving, workload, edge.from, stage.tensor_degree);
  }
  const double d = stage.data_degree;
  return compute / d +
         (2 / d * moved + 4 * (d - 1) / (d * setting.micro_batches) * weights) / setting.bandwidth;
}

double memory(const PiperWorkload& workload, const PiperStage& stage, int replicas_from_here) {
  const double in_flight = (replicas_from_here + stage.data_degree - 1) / stage.data_degree;
  double sum = 0;
  for (std::size_t k = 0; k < stage.layers.size(); ++k) {
    const auto& way = find(workload, stage.layers[k], stage.tensor_degree)
                          ->configurations[static_cast<std::size_t>(stage.configurations[k])];
    sum += way.per_micro_batch * in_flight + way.fixed;
  }
  return sum;
}

/// Stages are chosen from the last to the first, so that the replicas behind each are known.
class SlowPiper {
 public:
  SlowPiper(const PiperWorkload& workload, bool flush, bool all_devices)
      : workload_(workload), flush_(flush), all_devices_(all_devices) {}

  std::optional<double> run() {
    extend((1u << workload_.layers.size()) - 1, 0, 0, 0, 0);
    return best_ == std::numeric_limits<double>::infinity() ? std::nullopt : std::optional(best_);
  }

 private:
  /// `left`: the layers not yet in a stage, as bits.
  void extend(unsigned left, int devices, int replicas, int stages, double slowest) {
    const auto& setting = workload_.setting;
    if (left == 0) {
      if (all_devices_ && devices != setting.devices) return;
      best_ = std::min(best_, slowest * (setting.micro_batches + (flush_ ? stages - 1 : 0)));
      return;
    }
    for (unsigned set = left; set != 0; set = (set - 1) & left) {
      if (!is_end(set, left)) continue;
      for (int t : {1, 2})
        for (int d = 1; devices + d * t <= setting.devices; ++d) {
          if (setting.micro_batches % d != 0 || replicas + d > setting.micro_batches) continue;
          if (const auto time = best_load(set, d, t, replicas + d))
            extend(left & ~set, devices + d * t, replicas + d, stages + 1, std::max(slowest, *time));
        }
    }
  }

  /// No edge leads from the set to the rest of what is left.
  bool is_end(unsigned set, unsigned left) const {
    return std::none_of(workload_.edges.begin(), workload_.edges.end(), [&](const auto& edge) {
      return (set >> edge.from & 1) && (left & ~set) >> edge.to & 1;
    });
  }

  std::optional<double> best_load(unsigned set, int d, int t, int replicas) const {
    PiperStage stage;
    stage.data_degree = d;
    stage.tensor_degree = t;
    for (Vertex v = 0; v < static_cast<Vertex>(workload_.layers.size()); ++v)
      if (set >> v & 1) stage.layers.push_back(v);
    stage.configurations.assign(stage.layers.size(), 0);
    std::optional<double> best;
    for (unsigned choice = 0; choice < 1u << stage.layers.size(); ++choice) {
      bool exists = true;
      for (std::size_t k = 0; k < stage.layers.size(); ++k) {
        stage.configurations[k] = static_cast<int>(choice >> k & 1);
        const PiperDegree* degree = find(workload_, stage.layers[k], t);
        exists = exists && degree &&
                 static_cast<std::size_t>(stage.configurations[k]) < degree->configurations.size();
      }
      if (!exists || memory(workload_, stage, replicas) > workload_.setting.memory) continue;
      const double time = load(workload_, stage);
      if (!best || time < *best) best = time;
    }
    return best;
  }

  const PiperWorkload& workload_;
  bool flush_, all_devices_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

PiperWorkload random_piper_workload(std::uint64_t seed) {
  core::Random random(seed);
  PiperWorkload out;
  const int n = random.between(2, 5);
  const bool chain = random.chance(0.4), wide = random.chance(0.5);
  for (int v = 0; v < n; ++v) {
    auto& layer = out.layers.emplace_back();
    layer.name = "layer" + std::to_string(v);
    layer.degrees.push_back(random_degree(random, 1));
    if (wide && random.chance(0.9)) layer.degrees.push_back(random_degree(random, 2));
  }
  for (int v = 0; v < n; ++v)
    for (int w = v + 1; w < n; ++w) {
      if (chain ? w != v + 1 : random.chance(0.5)) continue;
      graph::PiperEdge edge{v, w, double(random.between(0, 8)), {}, {}};
      for (std::size_t i = 0; i < out.layers[static_cast<std::size_t>(v)].degrees.size(); ++i)
        edge.leaving.push_back(random.between(0, 3));
      for (std::size_t i = 0; i < out.layers[static_cast<std::size_t>(w)].degrees.size(); ++i)
        edge.entering.push_back(random.between(0, 3));
      out.edges.push_back(edge);
    }
  const int micro_batches[] = {1, 2, 4, 6, 12};
  out.setting = {random.between(1, 6), double(random.between(4, 10 * n)), double(random.between(1, 8)),
                 micro_batches[random.between(0, 4)]};
  return out;
}

PiperVerdict judge(const PiperWorkload& workload, const std::vector<PiperStage>& stages) {
  std::vector<int> stage_of(workload.layers.size(), -1);
  int replicas = 0, devices = 0;
  PiperVerdict out;
  for (std::size_t s = stages.size(); s-- > 0;) {
    const PiperStage& stage = stages[s];
    replicas += stage.data_degree;
    devices += stage.data_degree * stage.tensor_degree;
    for (Vertex v : stage.layers) {
      if (stage_of[static_cast<std::size_t>(v)] >= 0) out.fault = "a layer is in two stages";
      stage_of[static_cast<std::size_t>(v)] = static_cast<int>(s);
      if (!find(workload, v, stage.tensor_degree)) out.fault = "a layer lacks the degree";
    }
    if (!out.fault.empty()) return out;
    if (workload.setting.micro_batches % stage.data_degree != 0) out.fault = "d does not divide N";
    if (memory(workload, stage, replicas) > workload.setting.memory * (1 + 1e-12))
      out.fault = "a stage does not fit";
    out.time_per_micro_batch = std::max(out.time_per_micro_batch, load(workload, stage));
  }
  if (devices > workload.setting.devices) out.fault = "too many devices";
  if (replicas > workload.setting.micro_batches) out.fault = "too many replicas";
  if (std::count(stage_of.begin(), stage_of.end(), -1) > 0) out.fault = "a layer is in no stage";
  for (const auto& edge : workload.edges)
    if (stage_of[static_cast<std::size_t>(edge.from)] > stage_of[static_cast<std::size_t>(edge.to)])
      out.fault = "an edge leads backwards";
  return out;
}

std::optional<double> slow_piper(const PiperWorkload& workload, bool flush, bool all_devices) {
  return SlowPiper(workload, flush, all_devices).run();
}

std::vector<PiperRow> piper_rows(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::vector<PiperRow> rows;
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream cells(line);
    PiperRow row;
    cells >> row.workload >> row.setting.devices >> row.setting.memory >> row.setting.bandwidth >>
        row.setting.micro_batches >> row.planner >> row.time_per_micro_batch >> row.wall_s;
    if (cells) rows.push_back(row);
  }
  return rows;
}

}  // namespace penstock::support
