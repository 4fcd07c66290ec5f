#include "penstock/sim/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "penstock/cost/stage_load.hpp"
#include "penstock/plan/stage_graph.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::Picoseconds;
using core::StageId;
using schedule::Pass;
using trace::Span;
using trace::TaskKind;

/// What one replica computes of one micro-batch: samples [begin, end) of the mini-batch.
struct Share {
  std::int32_t micro_batch;
  DeviceId device;
  std::int64_t begin, end;
};

std::vector<Share> shares_of(const plan::Stage& stage, std::int64_t samples, bool in_turn) {
  const auto replicas = static_cast<std::int64_t>(stage.devices.size());
  std::vector<Share> out;
  for (std::int64_t m = 0; in_turn && m < samples / stage.micro_batch; ++m)
    out.push_back({static_cast<std::int32_t>(m), stage.devices[static_cast<std::size_t>(m % replicas)], m * stage.micro_batch,
                   (m + 1) * stage.micro_batch});
  for (std::int64_t m = 0; !in_turn && m < samples / stage.micro_batch; ++m)
    for (std::int64_t r = 0; r < replicas; ++r) {
      const std::int64_t first = m * stage.micro_batch;
      out.push_back({static_cast<std::int32_t>(m), stage.devices[static_cast<std::size_t>(r)],
                     first + stage.micro_batch * r / replicas,
                     first + stage.micro_batch * (r + 1) / replicas});
    }
  return out;
}

/// Messages that cannot be told apart: they carry as many bytes of one pass between the same two devices.
using MessageKey =
    std::tuple<DeviceId, DeviceId, StageId, std::int32_t, std::int64_t>;  ///< from, to, stage, micro-batch, bytes
struct Messages {
  Picoseconds computed;             ///< when the sender has the bytes
  std::vector<Picoseconds> needed;  ///< when receivers start
  std::vector<const Span*> sent;
};

class Verifier {
 public:
  Verifier(const cost::Problem& problem, const plan::Plan& plan, const schedule::Grid& order,
           const trace::Trace& trace)
      : problem_(problem), plan_(plan), order_(order), trace_(trace) {}

  std::vector<std::string> faults() {
    sort_spans();
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const auto r = static_cast<std::size_t>(order_.rank_of_stage[s]);
      for (std::size_t a = 0; a < plan_.stages[s].devices.size(); ++a)
        if (seen_.insert(plan_.stages[s].devices[a]).second) check_compute(r, plan_.stages[s].devices[a], a);
    }
    if (!faults_.empty()) return faults_;  // the rest asks when passes ran
    const plan::StageGraph stages(problem_.graph, plan_);
    for (const plan::Boundary& boundary : stages.boundaries()) expect_messages(boundary);
    for (const auto& [key, messages] : messages_) check_messages(key, messages);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) check_all_reduce(s);
    for (std::size_t d = 0; d < trace_.devices.size(); ++d) check_memory(d);
    check_end();
    return faults_;
  }

 private:
  template <class... Args>
  void fault(fmt::format_string<Args...> text, Args&&... args) {
    faults_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void sort_spans() {
    for (const Span& span : trace_.spans) {
      if (span.start < Picoseconds(0) || span.end < span.start)
        fault("a {} ends before it starts", name(span.kind));
      if (span.kind == TaskKind::all_reduce) {
        reduces_[span.device].push_back(&span);
        travelled_ = travelled_ || span.peer.valid();
      } else if (span.kind == TaskKind::transfer) {
        messages_[{span.device, span.peer, span.stage, span.micro_batch, span.bytes.value()}].sent.push_back(&span);
      } else {
        passes_[span.device].push_back(&span);
        pass_[{span.device, span.stage, span.kind, span.micro_batch}] = &span;
      }
    }
  }

  /// What the row makes a replica compute. Updates are there only where there are weights.
  struct Expected {
    TaskKind kind;
    StageId stage;
    std::int32_t micro_batch;
  };
  std::vector<Expected> expected(std::size_t rank, std::size_t replica) const {
    std::vector<Expected> out;
    for (const schedule::Action& action : order_.ranks[rank])
      for (const schedule::Action& part : parts(action)) {
        if (part.stage < 0) continue;
        const plan::Stage& stage = plan_.stages[static_cast<std::size_t>(part.stage)];
        const auto turns = plan::asynchronous(plan_) ? static_cast<std::int32_t>(stage.devices.size()) : 1;
        const std::int32_t m = turns == 1 ? part.micro_batch : part.micro_batch * turns + static_cast<std::int32_t>(replica);
        const StageId id(static_cast<std::size_t>(part.stage));
        if (part.pass == Pass::forward) out.push_back({TaskKind::forward, id, m});
        if (part.pass == Pass::backward) out.push_back({TaskKind::backward, id, m});
        if (part.pass == Pass::input_gradient) out.push_back({TaskKind::input_gradient, id, m});
        if (part.pass == Pass::weight_gradient) out.push_back({TaskKind::weight_gradient, id, m});
        if (part.pass == Pass::recompute) out.push_back({TaskKind::recompute, id, m});
        if (part.pass == Pass::step && cost::stage_load(problem_.graph, stage.operators).parameters.value() > 0)
          out.push_back({TaskKind::step, id, -1});
      }
    return out;
  }

  void check_compute(std::size_t rank, DeviceId device, std::size_t replica) {
    auto& passes = passes_[device];
    std::stable_sort(passes.begin(), passes.end(), [](const Span* a, const Span* b) {
      return std::tie(a->start, a->end) < std::tie(b->start, b->end);
    });
    const auto order = expected(rank, replica);
    if (passes.size() != order.size())
      return fault("device {} runs {} passes where its order has {}", device.index(), passes.size(), order.size());
    for (std::size_t p = 0; p < passes.size(); ++p) {
      if (passes[p]->kind != order[p].kind || passes[p]->stage != order[p].stage ||
          passes[p]->micro_batch != order[p].micro_batch)
        return fault("device {} leaves its order at pass {}", device.index(), p);
      if (p > 0 && passes[p]->start < passes[p - 1]->end)
        return fault("device {} runs passes {} and {} at once", device.index(), p - 1, p);
    }
  }

  /// The pass that makes what is sent: a forward, or the backward pass or input gradient.
  const Span& pass(StageId stage, const Share& share, TaskKind kind) const {
    const auto found = pass_.find({share.device, stage, kind, share.micro_batch});
    if (found != pass_.end()) return *found->second;
    return *pass_.at({share.device, stage, TaskKind::input_gradient, share.micro_batch});
  }

  /// Every overlap of a sender's and a receiver's share is a message ahead and one back.
  void expect_messages(const plan::Boundary& boundary) {
    const std::int64_t samples_in_all = plan_.training.mini_batch * trace_.mini_batches;
    const auto from = shares_of(plan_.stages[boundary.from.index()], samples_in_all, plan::asynchronous(plan_));
    const auto to = shares_of(plan_.stages[boundary.to.index()], samples_in_all, plan::asynchronous(plan_));
    for (std::size_t x = 0, y = 0; x < from.size() && y < to.size();) {
      const std::int64_t samples = std::min(from[x].end, to[y].end) - std::max(from[x].begin, to[y].begin);
      if (samples > 0) {
        expect({boundary.from, from[x]}, {boundary.to, to[y]}, TaskKind::forward, boundary.bytes.value() * samples);
        expect({boundary.to, to[y]}, {boundary.from, from[x]}, TaskKind::backward, boundary.bytes.value() * samples);
      }
      from[x].end < to[y].end ? ++x : ++y;
    }
  }

  using Side = std::pair<StageId, Share>;
  void expect(const Side& from, const Side& to, TaskKind kind, std::int64_t bytes) {
    const auto& [sender_stage, sender] = from;
    const auto& [receiver_stage, receiver] = to;
    const Span &computes = pass(sender_stage, sender, kind), &waits = pass(receiver_stage, receiver, kind);
    if (bytes == 0 || sender.device == receiver.device) {  // nothing moves
      if (waits.start < computes.end)
        fault("device {} starts a {} pass before device {} is done", receiver.device.index(), name(kind),
              sender.device.index());
      return;
    }
    Messages& messages = messages_[{sender.device, receiver.device, sender_stage, sender.micro_batch, bytes}];
    messages.computed = computes.end;
    messages.needed.push_back(waits.start);
  }

  /// The first to arrive serves the first that needs one: if any assignment is in time, this one is.
  void check_messages(const MessageKey& key, Messages messages) {
    const auto& [from, to, stage, micro_batch, bytes] = key;
    const std::string what = fmt::format("device {} to {}, micro-batch {}, {} bytes", from.index(),
                                         to.index(), micro_batch, bytes);
    if (messages.sent.size() != messages.needed.size())
      return fault("{}: {} messages where {} are needed", what, messages.sent.size(), messages.needed.size());
    std::sort(messages.needed.begin(), messages.needed.end());
    std::sort(messages.sent.begin(), messages.sent.end(),
              [](const Span* a, const Span* b) { return a->end < b->end; });
    const core::Seconds alone = problem_.cluster.route(from, to).time(core::Bytes(bytes));
    for (std::size_t i = 0; i < messages.sent.size(); ++i) {
      const Span& sent = *messages.sent[i];
      if (sent.start < messages.computed) fault("{}: sent before it is computed", what);
      if (sent.end > messages.needed[i]) fault("{}: arrives after it is used", what);
      if (sent.end - sent.start + Picoseconds(1) < core::to_picoseconds(alone))
        fault("{}: faster than its route", what);
    }
  }

  /// When the last pass that makes gradients of the stage ends on a device.
  Picoseconds computed(StageId stage, DeviceId device) const {
    Picoseconds end;
    for (const Span* pass : passes_.at(device))
      if (pass->stage == stage && (pass->kind == TaskKind::backward || pass->kind == TaskKind::weight_gradient))
        end = std::max(end, pass->end);
    return end;
  }

  void check_all_reduce(std::size_t s) {
    if (trace_.mini_batches > 1 || travelled_) return;
    const plan::Stage& stage = plan_.stages[s];
    const core::Bytes gradients = cost::stage_load(problem_.graph, stage.operators).parameters;
    const core::Bytes expected = stage.devices.size() > 1 ? gradients : core::Bytes(0);
    Picoseconds ready;
    for (const DeviceId device : stage.devices) ready = std::max(ready, computed(StageId(s), device));
    for (const DeviceId device : stage.devices) {
      core::Bytes sum;
      Picoseconds last;
      for (const Span* reduce : reduces_[device])
        if (reduce->stage == StageId(s)) sum += reduce->bytes, last = std::max(last, reduce->start);
      if (sum != expected) fault("device {} reduces {} bytes of {}", device.index(), sum.value(), expected.value());
      if (sum.value() > 0 && last < ready) fault("device {} reduces gradients that are still computed", device.index());
    }
  }

  void check_memory(std::size_t device) {
    const auto& points = trace_.devices[device].memory;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i].activations < core::Bytes(0) || points[i].buffers < core::Bytes(0))
        fault("device {} holds a negative number of bytes at {} ps", device, points[i].time.value());
      if (i > 0 && points[i].time <= points[i - 1].time) fault("device {}: memory goes back in time", device);
    }
    if (points.empty()) return;
    if (points.back().activations != core::Bytes(0) || points.back().buffers != core::Bytes(0))
      fault("device {} still holds bytes in the end", device);
    if (trace_.mini_batches == 1 && points.back().time > trace_.iteration) fault("device {}: memory changes after the iteration", device);
  }

  void check_end() {
    Picoseconds last;
    for (const Span& span : trace_.spans) last = std::max(last, span.end);
    if (trace_.mini_batches == 1 && trace_.iteration != last)
      fault("the iteration takes {} ps, its last task ends at {} ps", trace_.iteration.value(), last.value());
  }

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const schedule::Grid& order_;
  const trace::Trace& trace_;
  std::vector<std::string> faults_;
  std::map<DeviceId, std::vector<const Span*>> passes_, reduces_;
  std::map<std::tuple<DeviceId, StageId, TaskKind, std::int32_t>, const Span*> pass_;
  std::set<DeviceId> seen_;
  bool travelled_ = false;  ///< all-reduces went message by message
  std::map<MessageKey, Messages> messages_;
};

}  // namespace

std::vector<std::string> trace_faults(const cost::Problem& problem, const plan::Plan& plan,
                                      const schedule::Grid& order, const trace::Trace& trace) {
  return Verifier(problem, plan, order, trace).faults();
}

}  // namespace penstock::sim
