#include "run/traced.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "links/reductions.hpp"
#include "penstock/program/instruction.hpp"
#include "penstock/schedule/plan_order.hpp"

namespace penstock::replay {
namespace {

using core::Picoseconds;
using core::Seconds;
using plan::MemoryKind;
using trace::TaskKind;

/// Interval of everything that a trace shows.
TimeInterval extent(const DevicePrograms& program, const IterationRecord& record) {
  TimeInterval out{Seconds(std::numeric_limits<double>::max()), Seconds(0)};
  const auto include = [&](const TimeInterval& when) {
    if (!when.happened()) return;
    out.start = std::min(out.start, when.start);
    out.end = std::max(out.end, when.end);
  };
  for (std::size_t d = 0; d < program.devices.size(); ++d)
    for (std::size_t p = 0; p < program.devices[d].size(); ++p)
      include(program::computes(program.devices[d][p].kind) ? record.instructions[d][p]
                                                            : record.reductions[d][p]);
  for (const TimeInterval& when : record.messages) include(when);
  return out;
}

/// Time at which the first `count` mini-batches have passed all stages.
Seconds end_of(std::int64_t count, const DevicePrograms& program, const plan::Plan& plan,
               const IterationRecord& record) {
  Seconds end;
  for (std::size_t d = 0; d < program.devices.size(); ++d)
    for (std::size_t p = 0; p < program.devices[d].size(); ++p) {
      const DeviceInstruction& instruction = program.devices[d][p];
      if (program::releases(instruction.kind) &&
          instruction.samples.end() <= count * plan.training.mini_batch)
        end = std::max(end, record.instructions[d][p].end);
    }
  return end;
}

class TraceBuilder {
 public:
  TraceBuilder(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
               const IterationRecord& record, const std::vector<DevicePeak>& peaks)
      : program_(program),
        problem_(problem),
        plan_(plan),
        record_(record),
        peaks_(peaks),
        origin_(extent(program, record).start) {}

  trace::Trace trace() {
    out_.mini_batch = plan_.training.mini_batch;
    out_.mini_batches = program_.mini_batches;
    out_.iteration = to_picoseconds(iteration_time(program_, plan_, record_));
    out_.devices.resize(problem_.cluster.size());
    for (std::size_t d = 0; d < program_.devices.size(); ++d) add_passes(d);
    for (std::size_t m = 0; m < program_.messages.size(); ++m) add_message(m);
    for (const GradientReduction& sum : ReductionList(program_, problem_.graph, plan_).list) add_sum(sum);
    std::stable_sort(out_.spans.begin(), out_.spans.end(), [](const trace::Span& a, const trace::Span& b) {
      return std::tie(a.start, a.device, a.kind, a.stage, a.micro_batch) <
             std::tie(b.start, b.device, b.kind, b.stage, b.micro_batch);
    });
    for (std::size_t d = 0; d < program_.devices.size(); ++d) add_memory(d);
    return std::move(out_);
  }

 private:
  Picoseconds at(Seconds time) const { return to_picoseconds(time - origin_); }

  trace::Span& add(TaskKind kind, core::DeviceId device, core::StageId stage, const TimeInterval& when) {
    trace::Span span;
    span.kind = kind;
    span.device = device;
    span.stage = stage;
    span.start = at(when.start);
    span.end = at(when.end);
    out_.spans.push_back(span);
    return out_.spans.back();
  }

  void add_passes(std::size_t d) {
    for (std::size_t p = 0; p < program_.devices[d].size(); ++p) {
      const DeviceInstruction& i = program_.devices[d][p];
      if (!program::computes(i.kind)) continue;
      trace::Span& span =
          add(program::traced(i.kind), core::DeviceId(d), i.stage, record_.instructions[d][p]);
      span.micro_batch = i.micro_batch;
      span.collective = to_picoseconds(record_.collectives[d][p]);
    }
  }

  void add_message(std::size_t m) {
    const DeviceMessage& message = program_.messages[m];
    if (!record_.messages[m].happened()) return;
    trace::Span& span = add(TaskKind::transfer, message.sender, message.from, record_.messages[m]);
    span.peer = message.receiver;
    span.micro_batch = message.sent_in;
    span.bytes = message.bytes;
  }

  /// Adds a sum; nothing moves for a single device.
  void add_sum(const GradientReduction& sum) {
    if (sum.devices.size() < 2) return;
    Seconds start;
    for (std::size_t r = 0; r < sum.devices.size(); ++r)
      start = std::max(start, record_.reductions[sum.devices[r].index()][sum.position[r]].start);
    for (std::size_t r = 0; r < sum.devices.size(); ++r) {
      const TimeInterval& own = record_.reductions[sum.devices[r].index()][sum.position[r]];
      trace::Span& span =
          add(TaskKind::all_reduce, sum.devices[r], sum.stage, {start, std::max(start, own.end)});
      span.bytes = sum.bytes;
      span.shared = sum.shared.has_value();
    }
  }

  void add_memory(std::size_t d) {
    trace::DeviceTrace& device = out_.devices[d];
    device.capacity = problem_.cluster.type(core::DeviceId(d)).memory;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      if (std::count(plan_.stages[s].devices.begin(), plan_.stages[s].devices.end(), core::DeviceId(d)) > 0)
        device.stages.push_back(core::StageId(s));
    const DevicePeak& peak = peaks_[d];
    device.fixed = peak.memory;
    const HeldMemory most{plan::at(peak.memory, MemoryKind::activations),
                          plan::at(peak.memory, MemoryKind::buffers)};
    plan::at(device.fixed, MemoryKind::activations) = plan::at(device.fixed, MemoryKind::buffers) =
        core::Bytes(0);
    device.memory = {{}};
    const auto& instructions = record_.instructions[d];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      if (p == peak.position) add_point(device, instructions[p].start, most);
      add_point(device, instructions[p].end, within(most, record_.held[d][p]));
    }
  }

  static HeldMemory within(const HeldMemory& most, HeldMemory held) {
    const core::Bytes excess = held.activations + held.buffers - most.activations - most.buffers;
    held.activations -= std::clamp(excess, core::Bytes(0), held.activations);
    return held;
  }

  /// Points at one time are merged.
  void add_point(trace::DeviceTrace& device, Seconds time, const HeldMemory& held) const {
    const Picoseconds moment = std::max(Picoseconds(0), at(time));
    const trace::MemoryPoint point{moment, held.activations, held.buffers};
    if (device.memory.back().time == moment)
      device.memory.back() = point;
    else
      device.memory.push_back(point);
  }

  const DevicePrograms& program_;
  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const IterationRecord& record_;
  const std::vector<DevicePeak>& peaks_;
  const Seconds origin_;
  trace::Trace out_;
};

}  // namespace

Seconds iteration_time(const DevicePrograms& program, const plan::Plan& plan, const IterationRecord& record) {
  if (program.mini_batches == 1) {
    const TimeInterval whole = extent(program, record);
    return whole.end - whole.start;
  }
  const auto [begin, end] = schedule::steady_part(plan);
  return (end_of(end, program, plan, record) - end_of(begin, program, plan, record)) /
         static_cast<double>(end - begin);
}

trace::Trace trace_of(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                      const IterationRecord& record, const std::vector<DevicePeak>& peaks) {
  return TraceBuilder(program, problem, plan, record, peaks).trace();
}

}  // namespace penstock::replay
