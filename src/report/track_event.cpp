#include "penstock/report/track_event.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "curves.hpp"
#include "flows.hpp"
#include "free_rows.hpp"
#include "packets.hpp"
#include "penstock/core/error.hpp"
#include "penstock/trace/out_of_memory.hpp"

namespace penstock::report {
namespace {

using core::DeviceId;
using trace::Span;
using trace::TaskKind;

enum TaskStream : std::size_t { compute, send, receive, all_reduce };
constexpr std::string_view kStreams[] = {"compute", "send", "receive", "all-reduce"};

/// A flow at one of its computations.
struct FlowEnd {
  std::uint32_t span;
  std::uint64_t flow;
  bool arrives;
};

/// Sorted by span, so that writing spans in order finds them in order.
std::vector<FlowEnd> flow_ends(const std::vector<TransferFlow>& flows) {
  std::vector<FlowEnd> out;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].sender != kNoSpan) out.push_back({flows[i].sender, i + 1, false});
    if (flows[i].receiver != kNoSpan) out.push_back({flows[i].receiver, i + 1, true});
  }
  std::sort(out.begin(), out.end(), [](const FlowEnd& a, const FlowEnd& b) {
    return std::tie(a.span, a.flow) < std::tie(b.span, b.flow);
  });
  return out;
}

class TrackWriter {
 public:
  TrackWriter(const trace::Trace& trace, const cluster::Cluster* cluster, const ByteSink& sink)
      : trace_(trace), flows_(flows(trace)), ends_(flow_ends(flows_)), out_(sink) {
    root_ = out_.add_track({.name = "iteration"});
    for (std::size_t d = 0; d < trace.devices.size(); ++d) add_device(d, cluster);
    if (cluster != nullptr) {
      add_links(*cluster);
    } else {
      add_moving();
    }
    for (const trace::OutOfMemory& failure : trace::out_of_memory(trace)) add_failure(failure);
    for (std::size_t i = 0; i < trace.spans.size(); ++i) add_span(i);
    out_.flush();
  }

 private:
  struct DeviceTracks {
    TrackId track;
    std::array<FreeRows, 4> rows;                    ///< [Stream]
    std::array<std::vector<TrackId>, 4> row_tracks;  ///< [Stream]
  };

  void add_device(std::size_t d, const cluster::Cluster* cluster) {
    const trace::DeviceTrace& device = trace_.devices[d];
    std::string name = fmt::format("device {}", d);
    for (const core::StageId stage : device.stages)
      name += fmt::format("{} {}", stage == device.stages.front() ? ", stage" : " and", stage.index());
    if (cluster != nullptr) name += fmt::format(" ({})", cluster->type(DeviceId(d)).name);
    devices_.push_back({out_.add_track({name, root_, d}), {}, {}});
    for (std::size_t k = 0; k < trace::kMemoryKinds; ++k) {
      const auto kind = static_cast<trace::MemoryKind>(k);
      const bool rare = kind == trace::MemoryKind::buckets || kind == trace::MemoryKind::step;
      if (rare && plan::at(device.fixed, kind).value() == 0) continue;
      const std::string counter = fmt::format("memory: {}", plan::name(kind));
      add_curve({counter, devices_[d].track, 10 + k, CounterUnit::bytes}, memory_curve(device, kind));
    }
  }

  /// Adds a slice from the failure to the end of the trace.
  void add_failure(const trace::OutOfMemory& failure) {
    core::Picoseconds end = failure.time;
    for (const Span& span : trace_.spans) end = std::max(end, span.end);
    const TrackId track = out_.add_track({"out of memory", devices_[failure.device.index()].track, 9});
    out_.add_slice({track, trace::in_words(failure), "memory", failure.time, end, {}, {}, {}});
  }

  void add_moving() {
    const MovingBytes moving = moving_bytes(trace_);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      add_curve({"sending", devices_[d].track, 20, CounterUnit::bytes}, moving.out[d]);
      add_curve({"receiving", devices_[d].track, 21, CounterUnit::bytes}, moving.in[d]);
    }
  }

  void add_links(const cluster::Cluster& cluster) {
    const TrackId links = out_.add_track({"links", root_, devices_.size()});
    const std::vector<Curve> load = link_load(trace_, cluster);
    const auto point = [&](std::size_t p) {
      return fmt::format("{} {}", p < cluster.size() ? "device" : "point", p);
    };
    for (std::size_t l = 0; l < load.size(); ++l) {
      const cluster::Link& link = cluster.links()[l];
      const std::string name = fmt::format("link {}: {} to {}", l, point(link.from), point(link.to));
      add_curve({name, links, l, CounterUnit::bytes_per_second}, load[l]);
    }
  }

  void add_curve(const ViewerTrack& track, const Curve& curve) {
    if (curve.empty()) return;
    const TrackId id = out_.add_track(track);
    for (const CurvePoint& sample : curve) out_.add_sample(id, sample.time, sample.value);
  }

  void add_span(std::size_t i) {
    const Span& span = trace_.spans[i];
    if (span.kind == TaskKind::transfer) return add_transfer(span, next_transfer_++);
    if (span.kind == TaskKind::collective) return add_collective(span);
    leaving_.clear(), arriving_.clear();
    for (; next_end_ < ends_.size() && ends_[next_end_].span == i; ++next_end_)
      (ends_[next_end_].arrives ? arriving_ : leaving_).push_back(ends_[next_end_].flow);
    slice(span.device, computes(span.kind) ? compute : all_reduce, span, label(span.kind, span), {});
  }

  void add_transfer(const Span& span, std::size_t number) {
    const std::uint32_t sender = flows_[number].sender;
    const auto kind = sender == kNoSpan ? TaskKind::transfer : trace_.spans[sender].kind;
    leaving_.assign(1, number + 1), arriving_.clear();
    slice(span.device, send, span, label(kind, span), SliceAnnotation{"to device", index(span.peer)});
    slice(span.peer, receive, span, label(kind, span), SliceAnnotation{"from device", index(span.device)});
  }

  void add_collective(const Span& span) {
    leaving_.clear(), arriving_.clear();
    const std::string_view name = trace::name(span.kind);
    slice(span.device, send, span, name, SliceAnnotation{"to device", index(span.peer)});
    slice(span.peer, receive, span, name, SliceAnnotation{"from device", index(span.device)});
  }

  /// Returns "F3", "B3" and so on; "3" for a transfer of unknown direction.
  static std::string label(TaskKind kind, const Span& span) {
    constexpr std::string_view kLetters[trace::kTaskKinds] = {"F", "B", "I", "W", "R", "", "", "", ""};
    if (span.micro_batch < 0) return std::string(trace::name(kind));
    return fmt::format("{}{}", kLetters[static_cast<std::size_t>(kind)], span.micro_batch);
  }

  static std::int64_t index(auto id) { return static_cast<std::int64_t>(id.index()); }

  void slice(DeviceId device, TaskStream stream, const Span& span, std::string_view name,
             std::optional<SliceAnnotation> peer) {
    notes_.assign(1, {"stage", index(span.stage)});
    if (span.micro_batch >= 0) notes_.push_back({"micro-batch", span.micro_batch});
    if (span.bytes.value() > 0) notes_.push_back({"bytes", span.bytes.value()});
    if (peer) notes_.push_back(*peer);
    out_.add_slice({row(device, stream, span), name, trace::name(span.kind), span.start, span.end, notes_,
                    leaving_, arriving_});
  }

  TrackId row(DeviceId id, TaskStream stream, const Span& span) {
    core::require(id.valid() && id.index() < devices_.size(), "a span names devices of its trace");
    DeviceTracks& device = devices_[id.index()];
    const std::size_t row = device.rows[stream].place(span.start, span.end);
    auto& tracks = device.row_tracks[stream];
    if (row == tracks.size()) tracks.push_back(out_.add_track({kStreams[stream], device.track, stream}));
    return tracks[row];
  }

  const trace::Trace& trace_;
  std::vector<TransferFlow> flows_;  ///< flow ids are indices plus one
  std::vector<FlowEnd> ends_;
  PacketWriter out_;
  TrackId root_ = kNoTrack;
  std::vector<DeviceTracks> devices_;
  std::size_t next_transfer_ = 0, next_end_ = 0;   ///< in flows_; in ends_
  std::vector<std::uint64_t> leaving_, arriving_;  ///< flows of the current slice
  std::vector<SliceAnnotation> notes_;             ///< of the current slice
};

}  // namespace

void write_track_events(const trace::Trace& trace, const cluster::Cluster* cluster, const ByteSink& sink) {
  core::require(cluster == nullptr || trace.devices.size() <= cluster->size(),
                "a trace's devices are those of its cluster");
  TrackWriter(trace, cluster, sink);
}

}  // namespace penstock::report
