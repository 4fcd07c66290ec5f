#include "rows/slice_costs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "penstock/score/estimate.hpp"

namespace penstock::planners {
namespace {

using core::Bytes;
using core::DeviceId;
using Devices = std::vector<DeviceId>;

std::vector<std::size_t> types_of(const cluster::Cluster& cluster, const Devices& devices) {
  std::vector<std::size_t> types;
  for (DeviceId d : devices) types.push_back(cluster.devices()[d.index()].type);
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

void slow_down(cost::AffineTime& slowest, const cost::AffineTime& route, double samples) {
  slowest.latency = std::max(slowest.latency, route.latency);
  slowest.per_byte = std::max(slowest.per_byte, route.per_byte * samples);
}

}  // namespace

RouteTable::RouteTable(const cluster::Cluster& cluster, const plan::Compression& compression,
                       core::StopToken stop)
    : size_(cluster.size()), routes_(size_ * size_) {
  for (std::size_t a = 0; a < size_; ++a) {
    stop.check();
    for (std::size_t b = 0; b < size_; ++b)
      if (a != b) {
        const auto route = cluster.route(DeviceId(a), DeviceId(b));
        routes_[a * size_ + b] = {route.latency.value(), compression.activations / route.bandwidth.value()};
      }
  }
}

JunctionCosts junction(const RouteTable& routes, const Devices& front, const Devices& behind,
                       std::int64_t micro_batch) {
  JunctionCosts out;
  const auto start = [&](std::size_t replica, const Devices& devices) {  // start of its share, in samples
    return micro_batch * static_cast<std::int64_t>(replica) / static_cast<std::int64_t>(devices.size());
  };
  for (std::size_t a = 0, b = 0; a < front.size() && b < behind.size();) {
    const std::int64_t end_a = start(a + 1, front), end_b = start(b + 1, behind);
    const auto samples =
        static_cast<double>(std::min(end_a, end_b) - std::max(start(a, front), start(b, behind)));
    slow_down(out.there, routes(front[a], behind[b]), samples);
    slow_down(out.back, routes(behind[b], front[a]), samples);
    if (end_a <= end_b) ++a;
    if (end_b <= end_a) ++b;
  }
  return out;
}

std::vector<PhaseTimes> transfers(const PlanningLayers& layers, const JunctionCosts& junction) {
  std::vector<PhaseTimes> out(static_cast<std::size_t>(layers.size()) + 1);
  for (int cut = 1; cut < layers.size(); ++cut)
    if (const Bytes bytes = layers.crossing(cut); bytes.value() > 0)
      out[static_cast<std::size_t>(cut)] = {junction.there.at(bytes), junction.back.at(bytes), 0};
  return out;
}

const std::vector<PhaseTimes>& TransferTables::of(const JunctionCosts& junction) {
  const auto& [there, back] = junction;
  const auto [known, is_new] =
      tables_.try_emplace({there.latency, there.per_byte, back.latency, back.per_byte});
  if (is_new) known->second = transfers(layers_, junction);
  return known->second;
}

LeastWork least_work(const cost::Problem& problem, const PlanningLayers& layers, std::int64_t micro_batch,
                     const std::vector<int>& replicas) {
  std::vector<std::pair<int, PassSums>> ways;  // {replicas, times}
  for (const cluster::DeviceType& type : problem.cluster.types())
    for (const int r : replicas)
      ways.emplace_back(r, layers.passes(type, cost::samples_per_device(micro_batch, r)));
  LeastWork out{{0}, {0}};
  for (int l = 0; l < layers.size(); ++l) {
    double forward = std::numeric_limits<double>::infinity(), both = forward;
    for (const auto& [r, sums] : ways) {
      forward = std::min(forward, r * sums.forward_of(l, l + 1).value());
      both = std::min(both, r * sums.of(l, l + 1).value());
    }
    out.forward.push_back(out.forward.back() + forward);
    out.both.push_back(out.both.back() + both);
  }
  return out;
}

SlicePrices::SlicePrices(const cost::Problem& problem, const PlanningLayers& layers, std::int64_t micro_batch,
                         double memory)
    : problem_(problem), layers_(layers), micro_batch_(micro_batch), memory_(memory) {}

int SlicePrices::of(const Devices& devices) {
  const cost::AllReduce reduce = cost::all_reduce(problem_.cluster, devices);
  SetProperties face{devices.size(),
                     types_of(problem_.cluster, devices),
                     least_memory(problem_.cluster, devices, memory_),
                     {}};
  for (const cost::AffineTime& algorithm : reduce.algorithms)
    face.all_reduce.emplace_back(algorithm.latency, algorithm.per_byte);
  if (reduce.measured.times != nullptr) face.all_reduce.emplace_back(-1, -1);  // unlike any closed form
  const auto [known, is_new] = classes_.try_emplace(face, size());
  if (is_new) costs_.push_back(price(face, reduce));
  return known->second;
}

SliceCosts SlicePrices::price(const SetProperties& face, const cost::AllReduce& reduce) {
  const std::int64_t samples = cost::samples_per_device(micro_batch_, static_cast<std::int64_t>(face.count));
  const int most = static_cast<int>(problem_.training.mini_batch / micro_batch_);
  const core::Bytes first = score::bucket_of_weights(problem_.training),
                    later = cost::framework_memory(problem_).buckets_first_chunk ? Bytes(0) : first;
  SliceCosts out{std::vector<PhaseTimes>(layers_.ranges()), std::vector<int>(layers_.ranges())};
  for (int begin = 0; begin < layers_.size(); ++begin)
    for (int end = begin + 1; end <= layers_.size(); ++end) {
      PhaseTimes& times = out.times[layers_.index(begin, end)];
      for (std::size_t type : face.types) {
        const PassSums& sums = passes(type, samples);
        times.forward = std::max(times.forward, sums.forward_of(begin, end).value());
        times.backward = std::max(times.backward, sums.backward_of(begin, end).value());
      }
      const core::Bytes weights = layers_.load(begin, end).parameters;
      times.reduce = score::exposed(reduce.time(problem_.training.sent_gradients(weights)), weights,
                                    begin == 0 ? first : later, core::Seconds(times.both()))
                         .value();
      out.room[layers_.index(begin, end)] = layers_.room(begin, end, samples, face.memory, most);
    }
  return out;
}

const PassSums& SlicePrices::passes(std::size_t type, std::int64_t samples) {
  const auto [known, is_new] = passes_.try_emplace({type, samples});
  if (is_new) known->second = layers_.passes(problem_.cluster.types()[type], samples);
  return known->second;
}

Bytes least_memory(const cluster::Cluster& cluster, const Devices& devices, double factor) {
  Bytes least = cluster.type(devices.front()).memory;
  for (DeviceId d : devices) least = std::min(least, cluster.type(d).memory);
  constexpr double kMost = 1e18;  // bytes: as good as unlimited, and sums with it stay exact
  return Bytes(static_cast<std::int64_t>(std::min(kMost, static_cast<double>(least.value()) * factor)));
}

}  // namespace penstock::planners
