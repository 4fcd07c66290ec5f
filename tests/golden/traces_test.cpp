// Digests of time and memory of thousands of random plans prove that a refactoring changes no result. A
// change of behaviour is accepted with PENSTOCK_ACCEPT=1, and its commit gives the reason.

#include <fmt/format.h>

#include <map>

#include "penstock/core/digest.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/score/order.hpp"
#include "replay/cases.hpp"
#include "support/golden.hpp"
#include "support/random_plan.hpp"

using namespace penstock;

namespace {

/// -1: none.
template <class Id>
std::int64_t index(Id id) {
  return id.valid() ? static_cast<std::int64_t>(id.index()) : -1;
}

/// Numbers as eight bytes each: text would take most of the test's time.
class PackedNumbers {
 public:
  template <class... Numbers>
  PackedNumbers& add(Numbers... numbers) {
    (append(static_cast<std::int64_t>(numbers)), ...);
    return *this;
  }
  /// Adds the number of values, then the values.
  template <class T>
  PackedNumbers& list(const std::vector<T>& values) {
    add(values.size());
    for (const T value : values)
      if constexpr (std::is_integral_v<T>)
        add(value);
      else
        add(index(value));
    return *this;
  }
  std::string digest() const { return core::digest(bytes_); }

 private:
  void append(std::int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  std::string bytes_;
};

PackedNumbers packed(const trace::Trace& trace) {
  PackedNumbers out;
  out.add(trace.iteration.value(), trace.mini_batch, trace.mini_batches, trace.spans.size());
  for (const auto& span : trace.spans)
    out.add(span.kind, index(span.device), index(span.peer), index(span.stage), span.micro_batch,
            span.start.value(), span.end.value(), span.bytes.value(), span.collective.value(), span.shared);
  for (const auto& device : trace.devices) {
    out.list(device.stages).add(device.capacity.value(), device.memory.size());
    for (std::size_t k = 0; k <= static_cast<std::size_t>(plan::MemoryKind::versions); ++k)
      out.add(device.fixed[k].value());  // no framework runs these plans, so there is no other kind
    for (const auto& point : device.memory)
      out.add(point.time.value(), point.activations.value(), point.buffers.value());
  }
  return out;
}

PackedNumbers packed(const replay::DevicePrograms& program) {
  PackedNumbers out;
  for (const auto& m : program.messages)
    out.add(m.gradient, index(m.from), index(m.to), index(m.sender), index(m.receiver), m.samples.first,
            m.samples.count, m.part, m.parts, m.bytes.value(), m.sent_in, m.needed_in)
        .list(m.tensors);
  for (const auto& device : program.devices) {
    out.add(device.size());
    for (const auto& i : device)
      out.add(i.kind, index(i.stage), i.shared, i.micro_batch, i.samples.first, i.samples.count, i.weights)
          .list(i.receives)
          .list(i.sends)
          .list(i.opens);
  }
  for (const auto& open : program.open_at_start) out.list(open);
  return out;
}

struct PlanGroup {
  int plans = 0;
  std::string digests;  ///< of all, one after the other
};

/// By schedule, network, collective and what divides the stages.
using Groups = std::map<std::string, PlanGroup>;

void add(Groups& groups, const std::string& group, const std::string& digest) {
  ++groups[group].plans;
  groups[group].digests += digest;
}

std::string written(const Groups& groups) {
  std::string out;
  for (const auto& [name, group] : groups)
    out += fmt::format("{}: {} plans, {}\n", name, group.plans, core::digest(group.digests));
  return out;
}

/// The group of plans, and its digest.
using Named = std::pair<std::string, std::string>;

Named simulated(std::uint64_t seed, int most_group) {
  const auto random = support::random_plan(seed, most_group);
  const auto trace =
      sim::simulate(random.problem(), score::scheduled(random.problem(), random.plan), random.options);
  return {fmt::format("{} {} {} {}", random.plan.schedule, name(random.options.network),
                      name(random.options.collective), most_group > 1 ? "sharded" : "replicas"),
          packed(trace).digest()};
}

void simulate_plans(Groups& groups, std::size_t plans, int most_group) {
  std::vector<Named> done(plans);
  core::parallel_for(plans, [&](std::size_t seed) { done[seed] = simulated(seed, most_group); });
  for (const auto& [group, digest] : done) add(groups, group, digest);
}

}  // namespace

TEST_CASE("6,000 random plans take as long as ever, and hold as much") {
  Groups groups;
  simulate_plans(groups, 3000, 1);
  simulate_plans(groups, 3000, 4);
  support::check_golden("traces.txt", written(groups));
}

TEST_CASE("1,400 random plans are replayed by the same instructions as ever") {
  Groups groups;
  for (const auto& family : replay::test::families())
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const auto random = replay::test::random_case(family, seed);
      add(groups, family.name,
          packed(replay::lower(random.graph, {random.graph, random.plan, random.order})).digest());
    }
  support::check_golden("programs.txt", written(groups));
}
