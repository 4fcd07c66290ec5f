#include "piper/piper_table.hpp"

#include <algorithm>

#include "penstock/core/parallel.hpp"

namespace penstock::planners {
namespace {

/// Minimum number of devices for this work, with a margin for rounding.
int least_devices(double work) {
  const double least = work - 1e-9;
  const int whole = static_cast<int>(least);
  return whole + (least > whole ? 1 : 0);
}

}  // namespace

/// Devices that prefix i may leave to the stages behind it: all except those its own layers need.
int PiperTable::most_devices(std::size_t i) const {
  return costs_.setting().devices - least_devices(outlook_.back().work - outlook_[i].work);
}

static bool beats(const PiperUse& a, const PiperUse& b) {
  return a.devices <= b.devices && a.replicas <= b.replicas && a.stages <= b.stages;
}

PiperTable::PiperTable(const PiperLattice& lattice, const PiperCosts& costs)
    : lattice_(lattice), costs_(costs), fewest_(static_cast<std::size_t>(costs.setting().devices) + 1) {
  for (std::size_t devices = 1; devices < fewest_.size(); ++devices) {
    PiperUse& fewest = fewest_[devices] = {static_cast<int>(devices), kNone, kNone};
    for (const int t : costs.tensor_degrees())
      for (const int d : costs.data_degrees()) {
        if (d > static_cast<int>(devices) / t) break;
        const PiperUse& rest = fewest_[devices - static_cast<std::size_t>(d * t)];
        fewest.replicas = std::min(fewest.replicas, rest.replicas + d);
        fewest.stages = std::min(fewest.stages, rest.stages + 1);
      }
  }
}

PiperTable::UseFrontier::UseFrontier(const PiperBounds& bounds, const std::vector<PiperUse>& fewest)
    : apart_(bounds.all_devices),
      count_stages_(bounds.stages > 0),
      fewest_(fewest),
      lists_(apart_ ? fewest.size() : 1),
      open_(fewest.size()) {
  for (std::size_t d = 0; d < fewest.size(); ++d) open_[d] = fewest[d].replicas < kNone;
}

bool PiperTable::UseFrontier::any_open(int low, int high) const {
  return std::any_of(open_.begin() + low, open_.begin() + high + 1, [](char open) { return open != 0; });
}

bool PiperTable::UseFrontier::dominates(const PiperUse& use) const {
  const Row& rivals = lists_[list(use)];
  return std::any_of(rivals.begin(), rivals.end(), [&](const PiperUse& other) { return beats(other, use); });
}

void PiperTable::UseFrontier::add(const PiperUse& use) {
  Row& rivals = lists_[list(use)];
  std::erase_if(rivals, [&](const PiperUse& other) { return beats(use, other); });
  rivals.push_back(use);
  empty_ = false;
  if (!apart_) return;
  const PiperUse& fewest = fewest_[static_cast<std::size_t>(use.devices)];
  if (use.replicas == fewest.replicas && (!count_stages_ || use.stages == fewest.stages))
    open_[static_cast<std::size_t>(use.devices)] = 0;
}

PiperTable::Row PiperTable::UseFrontier::sorted() const {
  Row out;
  for (const Row& some : lists_) out.insert(out.end(), some.begin(), some.end());
  std::sort(out.begin(), out.end());
  return out;
}

/// True if no stage between the prefixes adds anything new, even at its minimum work.
bool PiperTable::hopeless(std::size_t i, std::size_t j, const UseFrontier& found, int most_devices) const {
  const PrefixSummary &behind = outlook_[i], &later = outlook_[j];
  const int devices = later.devices + std::max(1, least_devices(behind.work - later.work));
  if (devices > most_devices) return true;
  if (bounds_.all_devices) return !found.any_open(devices, most_devices);
  if (found.empty() || bounds_.stages > 0) return false;
  const int replicas = later.replicas + std::max(1, least_devices(behind.replica_work - later.replica_work));
  return found.dominates({devices, replicas, 0});
}

template <class Visit>
bool PiperTable::extend(const StageRef& stage, const UseFrontier& found, int most_devices,
                        Visit& visit) const {
  const auto& degrees = costs_.data_degrees();
  const int t = costs_.tensor_degrees()[stage.t];
  const double least = costs_.least_time(stage) / bounds_.work * (1 - 1e-9);
  const auto first = std::lower_bound(degrees.begin(), degrees.end(), least);
  double crossing = -1;
  thread_local std::vector<graph::Vertex> slower;
  for (const PiperUse& behind : rows_[stage.j])
    for (auto d = first; d != degrees.end(); ++d) {
      const PiperUse with{behind.devices + *d * t, behind.replicas + *d,
                          bounds_.stages > 0 ? behind.stages + 1 : 0};
      if (with.devices > most_devices || with.replicas > costs_.most_replicas() ||
          with.stages > bounds_.stages)
        break;
      if (!found.open(with.devices) || found.dominates(with)) {
        if (!bounds_.all_devices) break;
        continue;
      }
      if (crossing < 0) crossing = costs_.crossing_bytes(stage);
      if (!costs_.fits(stage, crossing, *d, piper_in_flight(with.replicas, *d), bounds_.time, slower))
        continue;
      if (!visit(StageStep{stage, *d, behind, with})) return false;
      if (!bounds_.all_devices) break;
    }
  return true;
}

template <class Visit>
void PiperTable::for_each_step(std::size_t i, const UseFrontier& found, Visit&& visit) const {
  const int most = most_devices(i);
  for (std::uint32_t j : lattice_.larger(i)) {
    if (hopeless(i, j, found, most)) continue;
    stop_.check();
    for (std::size_t t = 0; t < costs_.tensor_degrees().size(); ++t)
      if (const StageRef stage{i, j, t};
          costs_.offered(stage) &&
          !costs_.too_full(costs_.least_memory(stage, j == 0 ? 1 : std::min(2, costs_.most_replicas()))))
        if (!extend(stage, found, most, visit)) return;
  }
}

PiperTable::Row PiperTable::row(std::size_t i) const {
  if (!loose_.empty() && !tight_.empty() && loose_[i] == tight_[i]) return loose_[i];
  UseFrontier found(bounds_, fewest_);
  for_each_step(i, found, [&](const StageStep& step) {
    found.add(step.with);
    return true;
  });
  return found.sorted();
}

void PiperTable::reset(const PiperBounds& bounds) {
  if (bounds.stages != bounds_.stages) {
    loose_.clear();
    tight_.clear();
  }
  bounds_ = bounds;
  rows_.assign(lattice_.size(), {});
  outlook_.assign(lattice_.size(), {});
  for (std::size_t i = 0; i < lattice_.size(); ++i) {
    outlook_[i].work = costs_.work(i) / bounds.work;
    outlook_[i].replica_work = costs_.replica_work(i) / bounds.work;
  }
}

void PiperTable::keep(std::size_t i, Row row) {
  if (!row.empty()) outlook_[i].devices = outlook_[i].replicas = kNone;
  for (const PiperUse& use : row) {
    outlook_[i].devices = std::min(outlook_[i].devices, use.devices);
    outlook_[i].replicas = std::min(outlook_[i].replicas, use.replicas);
  }
  rows_[i] = std::move(row);
}

void PiperTable::fill(const PiperBounds& bounds, core::StopToken stop) {
  reset(bounds);
  stop_ = stop;
  keep(0, {PiperUse{}});
  const auto& levels = lattice_.levels();
  for (std::size_t level = 1; level + 1 < levels.size(); ++level) {
    const std::size_t first = levels[level];
    core::parallel_for(levels[level + 1] - first, [&](std::size_t k) { keep(first + k, row(first + k)); });
  }
  stop_ = {};  // the result is read to the end
}

PiperStage PiperTable::stage_of(const StageStep& step) const {
  std::vector<graph::Vertex> slower;
  const bool fits = costs_.fits(step.stage, costs_.crossing_bytes(step.stage), step.data_degree,
                                piper_in_flight(step.with.replicas, step.data_degree), bounds_.time, slower);
  core::require(fits, "a step of the table fits");
  std::sort(slower.begin(), slower.end());
  PiperStage out;
  out.layers = lattice_.between(step.stage.i, step.stage.j);
  out.data_degree = step.data_degree;
  out.tensor_degree = costs_.tensor_degrees()[step.stage.t];
  for (graph::Vertex v : out.layers)
    out.configurations.push_back(
        costs_.configuration(v, step.stage.t, std::binary_search(slower.begin(), slower.end(), v)));
  return out;
}

std::optional<std::vector<PiperStage>> PiperTable::plan() const {
  std::size_t i = lattice_.size() - 1;
  const auto wanted = std::find_if(rows_[i].begin(), rows_[i].end(), [&](const PiperUse& use) {
    return !bounds_.all_devices || use.devices == costs_.setting().devices;
  });
  if (wanted == rows_[i].end()) return std::nullopt;
  std::vector<PiperStage> stages;
  for (PiperUse use = *wanted; i != 0;) {
    std::optional<StageStep> taken;
    for_each_step(i, UseFrontier(bounds_, fewest_), [&](const StageStep& step) {
      if (step.with == use) taken = step;
      return !taken;
    });
    core::require(taken.has_value(), "every row of the table comes from a step");
    stages.push_back(stage_of(*taken));
    i = taken->stage.j;
    use = taken->behind;
  }
  return stages;
}

std::uint64_t PiperTable::states() const {
  std::uint64_t sum = 0;
  for (const Row& row : rows_) sum += row.size();
  return sum;
}

}  // namespace penstock::planners
