#include "penstock/report/cell_data.hpp"

#include <zlib.h>

#include <nlohmann/json.hpp>

#include "base64.hpp"
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

Json stages(const plan::Plan& plan) {
  Json out = Json::array();
  for (const plan::Stage& stage : plan.stages)
    out.push_back({{"devices", indices(stage.devices)},
                   {"operators", stage.operators.size()},
                   {"micro_batch", stage.micro_batch},
                   {"tensor_parallel", stage.tensor_parallel},
                   {"zero", stage.zero},
                   {"recompute", stage.recompute}});
  return out;
}

Json edges(const std::vector<plan::Boundary>& boundaries) {
  Json out = Json::array();
  for (const plan::Boundary& edge : boundaries)
    out.push_back({edge.from.index(), edge.to.index(), edge.bytes.value()});
  return out;
}

core::Bytes held(const trace::MemoryByKind& memory) {
  core::Bytes out;
  for (const core::Bytes bytes : memory) out += bytes;
  return out;
}

Json memory(const std::vector<trace::MemoryPoint>& points) {
  Json out = Json::array();
  core::Picoseconds before;
  for (const trace::MemoryPoint& point : points) {
    for (const std::int64_t n :
         {(point.time - before).value(), point.activations.value(), point.buffers.value()})
      out.push_back(n);
    before = point.time;
  }
  return out;
}

Json devices(const trace::Trace& trace) {
  const trace::Summary summary = trace::summarise(trace);
  Json out = Json::array();
  for (std::size_t d = 0; d < trace.devices.size(); ++d) {
    const trace::DeviceTrace& device = trace.devices[d];
    out.push_back({{"capacity", device.capacity.value()},
                   {"fixed", held(device.fixed).value()},
                   {"peak", summary.devices[d].peak.value()},
                   {"busy_s", summary.devices[d].busy.value()},
                   {"exposed_s", summary.devices[d].exposed_communication.value()},
                   {"memory", memory(device.memory)},
                   {"compute", Json::array()},
                   {"communication", Json::array()}});
  }
  return out;
}

/// Compute: kind, stage, micro-batch, start, duration. Communication the same, then peer (-1: all-reduce)
/// and bytes.
void add_spans(const trace::Trace& trace, Json& devices) {
  std::vector<core::Picoseconds> compute(devices.size()), communication(devices.size());
  for (const Span& span : trace.spans) {
    const bool computes = trace::computes(span.kind);
    const std::size_t d = span.device.index();
    core::Picoseconds& before = (computes ? compute : communication)[d];
    Json& list = devices[d][computes ? "compute" : "communication"];
    for (const std::int64_t n : {kind(span), static_cast<std::int64_t>(span.stage.index()),
                                 static_cast<std::int64_t>(span.micro_batch), (span.start - before).value(),
                                 (span.end - span.start).value()})
      list.push_back(n);
    if (!computes) {
      list.push_back(span.peer.valid() ? static_cast<std::int64_t>(span.peer.index()) : -1);
      list.push_back(span.bytes.value());
    }
    before = span.start;
  }
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

std::string deflated(const std::string& text) {
  std::string out(compressBound(text.size()), '\0');
  uLongf size = out.size();
  const int fault =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                text.size(), Z_DEFAULT_COMPRESSION);
  core::require(fault == Z_OK, "a buffer of compressBound() bytes is large enough");
  out.resize(size);
  return out;
}

}  // namespace

std::string to_json(const CellData& cell) {
  Json lanes = devices(cell.trace);
  add_spans(cell.trace, lanes);
  Json kinds = Json::array();
  for (std::size_t k = 0; k < trace::kTaskKinds; ++k)
    kinds.push_back(std::string(trace::name(static_cast<trace::TaskKind>(k))));
  const Json out = {{"iteration", cell.trace.iteration.value()},
                    {"length", trace::length(cell.trace).value()},
                    {"mini_batches", cell.trace.mini_batches},
                    {"kinds", kinds},
                    {"stages", stages(cell.plan)},
                    {"edges", edges(cell.boundaries)},
                    {"devices", std::move(lanes)},
                    {"path", path(cell.path)},
                    {"shares", shares(cell.shares)}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string packed(const CellData& cell) {
  core::require(cell.trace.spans.size() <= kMostSpansOfPage,
                "a cell of a page has a bounded number of spans");
  return base64(deflated(to_json(cell)));
}

}  // namespace penstock::report
