#include "penstock/report/perfetto.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "free_rows.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/report/track_event.hpp"
#include "penstock/trace/out_of_memory.hpp"

namespace penstock::report {
namespace {

using core::Picoseconds;
using trace::Span;
using trace::TaskKind;

enum ThreadRole : std::size_t { compute, send, receive, all_reduce };
constexpr std::string_view kRoleNames[] = {"compute", "send", "receive", "all-reduce"};

/// Threads of one role on one device.
struct RoleThreads {
  FreeRows rows;
  std::vector<int> ids;  ///< [row]
};

class EventWriter {
 public:
  explicit EventWriter(const trace::Trace& trace) : threads_(trace.devices.size()) {
    text_.reserve(160 * trace.spans.size() + 4096);
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (std::size_t d = 0; d < trace.devices.size(); ++d) add_device(d, trace.devices[d]);
    for (const trace::OutOfMemory& failure : trace::out_of_memory(trace))
      event(R"({{"ph":"i","name":"{}","s":"p","pid":{},"tid":0,"ts":{}}})", trace::in_words(failure),
            process(failure.device.index()), micros(failure.time));
    for (const Span& span : trace.spans) add_span(span);
  }
  std::string finish() && { return std::move(text_) + "\n]}\n"; }

 private:
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    text_ += text_.back() == '[' ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  static std::size_t process(std::size_t device) { return device + 1; }  // viewers reserve process 0

  /// Viewers keep whole nanoseconds and drop slices of a thread that overlap: both ends are rounded here, so
  /// that a slice ends where the next one begins.
  static std::int64_t nanoseconds(Picoseconds time) { return (time.value() + 500) / 1000; }
  static std::string micros(std::int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }
  static std::string micros(Picoseconds time) { return micros(nanoseconds(time)); }

  void name(std::string_view what, std::size_t device, int thread, std::string_view text, std::size_t order) {
    event(R"({{"ph":"M","name":"{0}_name","pid":{1},"tid":{2},"args":{{"name":"{3}"}}}})", what,
          process(device), thread, text);
    event(R"({{"ph":"M","name":"{0}_sort_index","pid":{1},"tid":{2},"args":{{"sort_index":{3}}}}})", what,
          process(device), thread, order);
  }

  void add_device(std::size_t d, const trace::DeviceTrace& device) {
    const bool serves = !device.stages.empty();
    name("process", d, 0,
         serves ? fmt::format("device {}, stage {}", d, device.stages.front().index())
                : fmt::format("device {}", d),
         d);
    for (const trace::MemoryPoint& point : device.memory)
      event(R"({{"ph":"C","name":"memory","pid":{},"ts":{},"args":{{"activations":{},"buffers":{}}}}})",
            process(d), micros(point.time), point.activations.value(), point.buffers.value());
  }

  /// Returns a thread of this role that is free at the span's start.
  int thread_for(std::size_t device, ThreadRole role, const Span& span) {
    core::require(device < threads_.size(), "a span names devices of its trace");
    RoleThreads& threads = threads_[device][role];
    const std::size_t i = threads.rows.place(span.start, span.end);
    if (i == threads.ids.size()) {
      threads.ids.push_back(next_thread_++);
      const std::string number = i > 0 ? fmt::format(" {}", i + 1) : "";
      name("thread", device, threads.ids[i], fmt::format("{}{}", kRoleNames[role], number), role * 1000 + i);
    }
    return threads.ids[i];
  }

  void slice(std::size_t device, ThreadRole role, const std::string& label, const Span& span) {
    const int thread = thread_for(device, role, span);
    event(R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
          R"("args":{{"stage":{},"micro-batch":{},"bytes":{}}}}})",
          label, trace::name(span.kind), process(device), thread, micros(span.start),
          micros(nanoseconds(span.end) - nanoseconds(span.start)), span.stage.index(), span.micro_batch,
          span.bytes.value());
  }

  void add_span(const Span& span) {
    const std::size_t device = span.device.index();
    switch (span.kind) {
      case TaskKind::forward:
        return slice(device, compute, fmt::format("F{}", span.micro_batch), span);
      case TaskKind::backward:
        return slice(device, compute, fmt::format("B{}", span.micro_batch), span);
      case TaskKind::input_gradient:
        return slice(device, compute, fmt::format("I{}", span.micro_batch), span);
      case TaskKind::weight_gradient:
        return slice(device, compute, fmt::format("W{}", span.micro_batch), span);
      case TaskKind::recompute:
        return slice(device, compute, fmt::format("R{}", span.micro_batch), span);
      case TaskKind::step:
        return slice(device, compute, "step", span);
      case TaskKind::all_reduce:
        return slice(device, all_reduce, "all-reduce", span);
      case TaskKind::transfer:
      case TaskKind::collective:
        break;
    }
    const std::size_t peer = span.peer.index();
    slice(device, send, fmt::format("{} to device {}", span.micro_batch, peer), span);
    slice(peer, receive, fmt::format("{} from device {}", span.micro_batch, device), span);
  }

  std::string text_;
  std::vector<std::array<RoleThreads, 4>> threads_;  ///< [device][role]
  int next_thread_ = 1;
};

}  // namespace

std::string to_perfetto_json(const trace::Trace& trace) {
  return EventWriter(trace).finish();
}

void write_perfetto(const std::string& path, const trace::Trace& trace, const cluster::Cluster* cluster) {
  const bool json = path.ends_with(".json");
  if (json && trace.spans.size() > kMostJsonSpans)
    throw core::Error(
        core::ExitCode::limit,
        fmt::format("{}: {} spans are too many for a JSON trace, which viewers open up to {}; use "
                    "another ending for the native form, such as .pftrace",
                    path, trace.spans.size(), kMostJsonSpans));
  core::FileWriter file(path);
  if (json) {
    file.write(to_perfetto_json(trace));
  } else {
    write_track_events(trace, cluster, [&](std::string_view bytes) { file.write(bytes); });
  }
  file.commit();
}

}  // namespace penstock::report
