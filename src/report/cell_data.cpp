#include "penstock/report/cell_data.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "packed.hpp"
#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;
using trace::Span;

std::int64_t kind(const Span& span) {
  return static_cast<std::int64_t>(span.kind);
}

std::vector<std::size_t> indices(const std::vector<core::DeviceId>& devices) {
  std::vector<std::size_t> out;
  for (const core::DeviceId device : devices) out.push_back(device.index());
  return out;
}

/// Dimensions with more than one device: letters, devices, name of groups.
Json divided(const plan::Stage& stage) {
  Json out = Json::array();
  for (auto dim = plan::kStatedDims.rbegin(); dim != plan::kStatedDims.rend(); ++dim)
    if (stage.*dim->size > 1) out.push_back({dim->letters, stage.*dim->size, dim->groups});
  return out;
}

Json stages(const CellData& cell) {
  Json out = Json::array();
  for (const plan::Stage& stage : cell.plan.stages) {
    Json operators = Json::array();
    for (const core::OpId op : stage.operators) operators.push_back(cell.operators.at(op.index()));
    out.push_back({{"devices", indices(stage.devices)},
                   {"operators", std::move(operators)},
                   {"micro_batch", plan::samples_per_device(cell.plan, stage)},
                   {"replicas", stage.replicas()},
                   {"divided", divided(stage)},
                   {"expert_parallel", stage.expert_parallel},
                   {"whole_experts", stage.whole_experts},
                   {"sequence_parallel", stage.sequence_parallel},
                   {"zero", stage.zero},
                   {"recompute", stage.recompute ? plan::written(stage.recompute) : ""}});
  }
  return out;
}

Json edges(const std::vector<plan::StageBoundary>& boundaries) {
  Json out = Json::array();
  for (const plan::StageBoundary& edge : boundaries)
    out.push_back({edge.from.index(), edge.to.index(), edge.bytes.value()});
  return out;
}

core::Bytes held(const trace::MemoryByKind& memory) {
  core::Bytes out;
  for (const core::Bytes bytes : memory) out += bytes;
  return out;
}

/// Flat lists of numbers, each time relative to the one before. Compute: kind, stage, micro-batch, start,
/// duration. Communication: the same, then bytes. Memory: time, activations, buffers.
struct FoldedLane {
  std::vector<std::int64_t> compute, communication, memory;
  core::Bytes capacity, fixed, peak;
  core::Seconds busy, exposed;
  std::vector<std::int64_t> peers;      ///< of communication, -1 for an all-reduce; not compared
  std::vector<core::DeviceId> devices;  ///< devices of the lane; not compared

  auto content() const {
    return std::tie(compute, communication, memory, capacity, fixed, peak, busy, exposed);
  }
};

std::vector<std::int64_t> memory(const std::vector<trace::MemoryPoint>& points) {
  std::vector<std::int64_t> out;
  core::Picoseconds before;
  for (const trace::MemoryPoint& point : points) {
    for (const std::int64_t n :
         {(point.time - before).value(), point.activations.value(), point.buffers.value()})
      out.push_back(n);
    before = point.time;
  }
  return out;
}

void add_spans(const trace::Trace& trace, std::vector<FoldedLane>& lanes) {
  std::vector<core::Picoseconds> compute(lanes.size()), communication(lanes.size());
  for (const Span& span : trace.spans) {
    const bool computes = trace::computes(span.kind);
    const std::size_t d = span.device.index();
    core::Picoseconds& before = (computes ? compute : communication)[d];
    auto& list = computes ? lanes[d].compute : lanes[d].communication;
    for (const std::int64_t n : {kind(span), static_cast<std::int64_t>(span.stage.index()),
                                 static_cast<std::int64_t>(span.micro_batch), (span.start - before).value(),
                                 (span.end - span.start).value()})
      list.push_back(n);
    if (!computes) {
      list.push_back(span.bytes.value());
      lanes[d].peers.push_back(span.peer.valid() ? static_cast<std::int64_t>(span.peer.index()) : -1);
    }
    before = span.start;
  }
}

std::vector<FoldedLane> lane_of_each_device(const trace::Trace& trace) {
  const trace::Summary summary = trace::summarise(trace);
  std::vector<FoldedLane> out(trace.devices.size());
  for (std::size_t d = 0; d < out.size(); ++d) {
    const trace::DeviceTrace& device = trace.devices[d];
    const trace::DeviceSummary& sums = summary.devices[d];
    out[d] = {{},
              {},
              memory(device.memory),
              device.capacity,
              held(device.fixed),
              sums.peak,
              sums.busy,
              sums.exposed_communication,
              {},
              {core::DeviceId(d)}};
  }
  add_spans(trace, out);
  return out;
}

/// Merges equal devices into the lane of the first, at its position.
std::vector<FoldedLane> folded(const trace::Trace& trace) {
  const auto less = [](const FoldedLane* a, const FoldedLane* b) { return a->content() < b->content(); };
  std::vector<FoldedLane> all = lane_of_each_device(trace), out;
  std::map<const FoldedLane*, std::size_t, decltype(less)> place(less);
  for (const FoldedLane& lane : all) {
    const auto [found, fresh] = place.emplace(&lane, place.size());
    if (fresh)
      out.push_back(lane);
    else
      out[found->second].devices.push_back(lane.devices.front());
  }
  return out;
}

std::size_t spans(const std::vector<FoldedLane>& lanes) {
  constexpr std::size_t kComputeWidth = 5;
  std::size_t out = 0;
  for (const FoldedLane& lane : lanes) out += lane.compute.size() / kComputeWidth + lane.peers.size();
  return out;
}

Json json(const std::vector<FoldedLane>& lanes) {
  Json out = Json::array();
  for (const FoldedLane& lane : lanes)
    out.push_back({{"devices", indices(lane.devices)},
                   {"capacity", lane.capacity.value()},
                   {"fixed", lane.fixed.value()},
                   {"peak", lane.peak.value()},
                   {"busy_s", lane.busy.value()},
                   {"exposed_s", lane.exposed.value()},
                   {"memory", lane.memory},
                   {"compute", lane.compute},
                   {"communication", lane.communication},
                   {"peers", lane.peers}});
  return out;
}

Json path(const std::vector<PathPart>& parts) {
  Json out = Json::array();
  for (const PathPart& part : parts)
    out.push_back({part.device ? static_cast<std::int64_t>(part.device->index()) : -1, part.kind,
                   part.start.value(), part.end.value()});
  return out;
}

Json shares(const std::vector<PathShare>& all) {
  Json out = Json::array();
  for (const PathShare& share : all)
    out.push_back({{"name", share.name},
                   {"time", share.time.value()},
                   {"share", share.share},
                   {"without", share.without ? Json(share.without->value()) : Json()}});
  return out;
}

Json waterfall(const std::vector<TimeShare>& all) {
  Json out = Json::array();
  for (const TimeShare& part : all) out.push_back({part.key, part.name, part.time.value()});
  return out;
}

std::string text(const CellData& cell, const std::vector<FoldedLane>& lanes) {
  Json kinds = Json::array();
  for (std::size_t k = 0; k < trace::kTaskKinds; ++k)
    kinds.push_back(std::string(trace::name(static_cast<trace::TaskKind>(k))));
  const Json out = {{"iteration", cell.trace.iteration.value()},
                    {"length", trace::length(cell.trace).value()},
                    {"mini_batches", cell.trace.mini_batches},
                    {"kinds", kinds},
                    {"stages", stages(cell)},
                    {"edges", edges(cell.boundaries)},
                    {"lanes", json(lanes)},
                    {"path", path(cell.path)},
                    {"shares", shares(cell.shares)},
                    {"waterfall", waterfall(cell.waterfall)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::size_t drawn_spans(const trace::Trace& trace) {
  return spans(folded(trace));
}

std::string to_json(const CellData& cell) {
  return text(cell, folded(cell.trace));
}

std::string packed(const CellData& cell) {
  const std::vector<FoldedLane> lanes = folded(cell.trace);
  core::require(spans(lanes) <= kMostSpansOfPage, "a cell of a page has a bounded number of spans");
  return packed(text(cell, lanes));
}

}  // namespace penstock::report
