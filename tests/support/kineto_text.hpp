#pragma once
// Profiles as torch.profiler writes them, made of a trace whose times are known.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "penstock/trace/trace.hpp"

namespace penstock::support {

struct KinetoSetting {
  bool gpu = false;        ///< passes are kernels, which the host launched long before
  std::string host = "a";  ///< name of the machine
  bool step = true;        ///< with ProfilerStep#7
  double shift_us = 0;     ///< of this machine's clock
  bool names_rank = true;
};

inline std::string pass_name(const trace::Span& span) {
  using trace::TaskKind;
  if (span.kind == TaskKind::step) return "Optimizer.step#SGD.step";
  const char letter = span.kind == TaskKind::forward          ? 'F'
                      : span.kind == TaskKind::backward       ? 'B'
                      : span.kind == TaskKind::input_gradient ? 'I'
                                                              : 'W';
  return fmt::format("PP:{}{}{}", span.stage.index(), letter, span.micro_batch);
}

/// Times in microseconds.
inline std::string kineto_event(const std::string& category, const std::string& name, double start,
                                double duration, const std::string& args = "") {
  return fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3f}, \"dur\": {:.3f}, "
      "\"args\": {{\"External id\": 5{}}}}},\n",
      category, name, start, duration, args);
}

/// Events of one rank, in the order of its passes.
class KinetoText {
 public:
  explicit KinetoText(const KinetoSetting& setting) : setting_(setting), zero_(5e12 + setting.shift_us) {}

  void add(const trace::Span& span) {
    const auto on_clock = [&](core::Picoseconds time) {
      return zero_ + std::round(static_cast<double>(time.value()) * 1e-3) * 1e-3;
    };
    const double start = on_clock(span.start), end = on_clock(span.end);
    setting_.gpu ? add_kernels(span, start, end) : add_operators(span, start, end);
    end_ = end;
  }

  /// A host announces a pass up to 5 us before its operators, and waits for a message first.
  void add_operators(const trace::Span& span, double start, double end) {
    const double announced = std::max(start - 5, end_);
    if (announced < start)
      events_ += kineto_event("user_annotation", "gloo:recv", announced, start - announced);
    events_ += kineto_event("user_annotation", pass_name(span), announced, end - announced);
    if (announced < start)
      events_ += kineto_event("cpu_op", "c10d::recv_", announced, (start - announced) / 2);
    events_ += kineto_event("cpu_op", "aten::linear", start, end - start);
    events_ += kineto_event("cpu_op", "aten::addmm", start, (end - start) / 2);
  }

  /// A host that waits for nothing announces and launches all passes at the beginning.
  void add_kernels(const trace::Span& span, double start, double end) {
    const double launch = zero_ + 2 * ++number_;
    const auto correlation = [](int id) { return fmt::format(", \"correlation\": {}", id); };
    events_ += kineto_event("kernel", "ncclDevKernel_SendRecv", start - 3, 3, correlation(-number_));
    events_ += kineto_event("kernel", "gemm", start, (end - start) / 2, correlation(number_));
    events_ +=
        kineto_event("kernel", "relu", end - (end - start) / 4, (end - start) / 4, correlation(number_));
    events_ += kineto_event("cuda_runtime", "cudaLaunchKernel", launch + 0.5, 0.2, correlation(number_));
    events_ += kineto_event("user_annotation", pass_name(span), launch, 1);
  }

  std::string document(std::size_t rank) const {
    std::string events = events_;
    if (setting_.step)
      events += kineto_event("user_annotation", "ProfilerStep#7", zero_ - 10, end_ - zero_ + 20);
    events +=
        "{\"ph\": \"M\", \"name\": \"process_name\", \"ts\": 1.5, \"pid\": 1, \"args\": {\"name\": \"python\"}}";
    const std::string info =
        setting_.names_rank ? fmt::format("\"distributedInfo\": {{\"rank\": {}, \"world_size\": 4}},\n", rank)
                            : "";
    return fmt::format(
        "{{\"schemaVersion\": 1, \"deviceProperties\": [],\n{}\"host_name\": \"{}\",\n"
        "\"baseTimeNanoseconds\": 1790857026000000000,\n\"traceEvents\": [\n{}\n]}}\n",
        info, setting_.host, events);
  }

 private:
  KinetoSetting setting_;
  double zero_;     ///< us
  double end_ = 0;  ///< us, of the pass before
  int number_ = 0;
  std::string events_;
};

/// The computation of one device.
inline std::string kineto_text(const trace::Trace& trace, std::size_t rank,
                               const KinetoSetting& setting = {}) {
  std::vector<trace::Span> spans;
  for (const trace::Span& span : trace.spans)
    if (span.device.index() == rank && trace::computes(span.kind)) spans.push_back(span);
  std::ranges::stable_sort(spans, {},
                           [](const trace::Span& span) { return std::pair(span.start, span.end); });
  KinetoText text(setting);
  for (const trace::Span& span : spans) text.add(span);
  return text.document(rank);
}

}  // namespace penstock::support
