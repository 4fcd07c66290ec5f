#include "penstock/trace/comparison.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "support/drawn_trace.hpp"
#include "support/near.hpp"

using namespace penstock;
using trace::compare;
using trace::QuantityPair;
using trace::TaskKind;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

trace::Span span(TaskKind kind, std::size_t device, std::int32_t micro_batch, std::int64_t from,
                 std::int64_t to) {
  return {kind,
          core::DeviceId(device),
          {},
          core::StageId(device),
          micro_batch,
          core::Picoseconds(from * kSecond),
          core::Picoseconds(to * kSecond),
          {}};
}

trace::DeviceTrace device(std::size_t stage, std::int64_t weights, std::int64_t activations) {
  return {{core::StageId(stage)},
          core::Bytes(1000),
          {core::Bytes(weights)},
          {{{}, core::Bytes(activations), {}}}};
}

/// Two devices, a stage each; one second of work and a transfer of one second that nothing hides, then two
/// seconds.
trace::Trace two_stages(std::int64_t slow_by) {
  trace::Trace out;
  out.mini_batch = 1;
  out.spans = {span(TaskKind::forward, 0, 0, 0, 1 + slow_by),
               span(TaskKind::transfer, 0, 0, 1 + slow_by, 2 + slow_by),
               span(TaskKind::forward, 1, 0, 2 + slow_by, 4 + slow_by)};
  out.spans[1].peer = core::DeviceId(1);
  out.iteration = core::Picoseconds((4 + slow_by) * kSecond);
  out.devices = {device(0, 100, 10), device(1, 200, 50)};
  return out;
}

}  // namespace

TEST_CASE("an error is the excess of the simulation") {
  CHECK(QuantityPair{2, 3}.error() == 0.5);
  CHECK(QuantityPair{4, 3}.error() == -0.25);
  CHECK(QuantityPair{0, 0}.error() == 0);
  CHECK(std::isinf(QuantityPair{0, 1}.error()));
}

TEST_CASE("a trace beside itself shows every task and no error") {
  const trace::Trace drawn = support::drawn_trace();
  const auto c = compare(drawn, drawn);
  CHECK(c.tasks.size() == drawn.spans.size());
  CHECK(c.only_measured + c.only_simulated == 0);
  for (const auto& task : c.tasks) CHECK((task.start.error() == 0 && task.duration.error() == 0));
  for (const auto& kind : c.kinds) CHECK((kind.worst == 0 && kind.start_shift == 0));
  CHECK(c.iteration.error() == 0);
  CHECK(c.stages.size() == 4);
}

TEST_CASE("a slower first stage shows in its pass, in what starts later, and in the iteration") {
  const auto c = compare(two_stages(1), two_stages(0));
  CHECK(c.iteration.measured == support::near(5));
  CHECK(c.iteration.error() == support::near(-0.2));  // 4 s of 5 s
  CHECK(c.tasks[0].duration.error() == support::near(-0.5));
  CHECK(c.tasks[2].start.measured == support::near(3));
  CHECK(c.tasks[2].start.simulated == support::near(2));
  CHECK(c.stages[0].compute.measured == support::near(2));
  CHECK(c.stages[1].compute.error() == 0);
  // Passes: errors of -50 % and 0 %, starts 0 s and 1 s late.
  const auto& forward = c.kinds[0];
  CHECK(forward.kind == TaskKind::forward);
  CHECK(forward.count == 2);
  CHECK(forward.total.measured == support::near(4));
  CHECK(forward.mean_error == support::near(0.25));
  CHECK(forward.worst == support::near(-0.5));
  CHECK(forward.start_shift == support::near(0.5));
}

TEST_CASE("exposed communication and the fullest device, in total and per stage") {
  trace::Trace measured = two_stages(0);
  measured.devices[1].memory[0].activations = core::Bytes(150);
  const auto c = compare(measured, two_stages(0));
  CHECK(c.exposed.measured == support::near(1));  // both devices idle while the second passes
  CHECK(c.peak.measured == 350);
  CHECK(c.peak.simulated == 250);
  CHECK(c.stages[0].peak.error() == 0);
  const auto activations = static_cast<std::size_t>(plan::MemoryKind::activations);
  CHECK(c.at_peak[activations].measured == 150);  // the kinds of that peak
  CHECK(c.stages[1].at_peak[activations].simulated == 50);
  CHECK(c.at_peak[static_cast<std::size_t>(plan::MemoryKind::weights)].error() == 0);
  CHECK(c.stages[1].peak.error() == support::near(-100. / 350));
}

TEST_CASE("where the clock of a trace begins does not matter") {
  trace::Trace late = two_stages(0);
  for (auto& s : late.spans) s.start += core::Picoseconds(kSecond), s.end += core::Picoseconds(kSecond);
  for (const auto& task : compare(late, two_stages(0)).tasks) CHECK(task.start.error() == 0);
}

TEST_CASE("tasks without a counterpart are counted, tasks with equal keys are matched in their order") {
  trace::Trace measured = two_stages(0), simulated = two_stages(0);
  measured.spans.push_back(span(TaskKind::step, 1, -1, 4, 5));
  simulated.spans.push_back(span(TaskKind::backward, 1, 0, 4, 5));
  simulated.spans.push_back(span(TaskKind::backward, 1, 0, 5, 6));
  auto c = compare(measured, simulated);
  CHECK(c.only_measured == 1);
  CHECK(c.only_simulated == 2);
  measured.spans.back() = span(TaskKind::backward, 1, 0, 4, 7);
  c = compare(measured, simulated);
  CHECK(c.only_simulated == 1);
  CHECK(c.tasks.back().start.simulated == support::near(4));  // the first of the two
}

TEST_CASE("quantities of several mini-batches are per mini-batch") {
  trace::Trace many = two_stages(0);
  many.mini_batches = 2;
  const auto c = compare(many, many);
  CHECK(c.stages[1].compute.measured == support::near(1));  // 2 s over two mini-batches
  CHECK(c.kinds[0].total.measured == support::near(1.5));
}

TEST_CASE("accuracy: the mean without signs, the worst with its sign") {
  const auto a = trace::accuracy({0.1, -0.3, 0.2});
  CHECK(a.mean_error == support::near(0.2));
  CHECK(a.worst == -0.3);
  CHECK(trace::accuracy({}).mean_error == 0);
}
