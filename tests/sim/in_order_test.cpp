// Messages one at a time on each device, in the order in which PyTorch's runtime posts them.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "penstock/check/trace_violations.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/lowering.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/random_plan.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using sim::MessageOrder;
using trace::TaskKind;

namespace {

/// A chain of one operator per stage, stage s on device rank[s]; messages take half a second, passes one forward
/// and two back.
struct StageChain {
  StageChain(const std::string& schedule, const std::vector<std::int32_t>& rank, std::int64_t micro_batches)
      : graph(support::tiny_graph(rank.size(), edges(rank.size()))),
        cluster(support::tiny_cluster(static_cast<std::size_t>(*std::ranges::max_element(rank)) + 1,
                                      std::int64_t{1} << 40, 2000)),
        costs(support::FixedCosts::uniform(rank.size(), 1, 2)) {
    plan.training.mini_batch = micro_batches;
    plan.schedule = schedule;
    for (std::size_t s = 0; s < rank.size(); ++s)
      plan.stages.push_back({{OpId(s)}, {core::DeviceId(static_cast<std::size_t>(rank[s]))}, 1, 1, 0, {}});
    score::derive_in_flight(problem(), plan);
  }
  static std::vector<std::pair<int, int>> edges(std::size_t size) {
    std::vector<std::pair<int, int>> out;
    for (int s = 0; s + 1 < static_cast<int>(size); ++s) out.emplace_back(s, s + 1);
    return out;
  }
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  trace::Trace run(MessageOrder order) const {
    const auto scheduled = score::scheduled(problem(), plan);
    sim::SimulationOptions options;
    options.message_order = order;
    auto out = sim::simulate(problem(), scheduled, options);
    for (const auto& violation : check::trace_violations(problem(), scheduled, out, options))
      FAIL_CHECK(violation);
    return out;
  }

  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::FixedCosts costs;
  plan::Plan plan;
};

double start_of(const trace::Trace& trace, TaskKind kind, std::size_t stage, int micro_batch) {
  const auto found = std::ranges::find_if(trace.spans, [&](const trace::Span& span) {
    return span.kind == kind && span.stage == core::StageId(stage) && span.micro_batch == micro_batch;
  });
  REQUIRE(found != trace.spans.end());
  return core::to_seconds(found->start).value();
}

/// Sends and receives of a device in the order in which they travelled, as schedule files name them.
std::vector<std::string> travelled(const trace::Trace& trace, core::DeviceId device) {
  std::vector<const trace::Span*> spans;
  for (const trace::Span& span : trace.spans)
    if (span.kind == TaskKind::transfer && (span.device == device || span.peer == device))
      spans.push_back(&span);
  std::ranges::stable_sort(spans, {}, &trace::Span::start);
  std::vector<std::string> out;
  for (const trace::Span* span : spans)
    out.push_back(fmt::format("{} of {} by {}", span->device == device ? "sends" : "receives",
                              span->micro_batch, span->stage.index()));
  return out;
}

/// Messages of a rank, lowered by schedule::add_messages. A message back is named by the stage that makes it.
std::vector<std::string> posted(const schedule::Schedule& lowered, std::size_t rank) {
  using enum schedule::ActionKind;
  std::vector<std::string> out;
  for (const schedule::Action& action : lowered.ranks[rank]) {
    const bool sends = action.kind == send_forward || action.kind == send_backward;
    const int by = action.kind == receive_forward    ? action.stage - 1
                   : action.kind == receive_backward ? action.stage + 1
                                                     : action.stage;
    if (sends || action.kind == receive_forward || action.kind == receive_backward)
      out.push_back(fmt::format("{} of {} by {}", sends ? "sends" : "receives", action.micro_batch, by));
  }
  return out;
}

}  // namespace

TEST_CASE("an early receive delays a send that is ready") {
  // Device 0 has stages 0 and 2, device 1 stages 1 and 3. Device 0 computes micro-batch 1 of stage 0 from 1 to 2, and
  // could send it from 2 to 2.5. But it has posted the receive of stage 2 before, which waits for stage 1:
  //   device 1: stage 1, micro-batch 0, from 1.5 to 2.5; its message to stage 2 travels from 2.5 to 3,
  //   then the message to stage 1 from 3 to 3.5.
  const StageChain chain("interleaved_1f1b", {0, 1, 0, 1}, 2);
  CHECK(start_of(chain.run(MessageOrder::free), TaskKind::forward, 1, 1) == support::near(2.5, 1e-9));
  CHECK(start_of(chain.run(MessageOrder::in_order), TaskKind::forward, 1, 1) == support::near(3.5, 1e-9));
}

TEST_CASE("messages travel in the order that schedule files have") {
  for (const char* family : {"1f1b", "gpipe", "zb_h1", "interleaved_1f1b", "looped_bfs", "zbv", "hanayo"})
    for (const int ranks : {2, 3, 4})
      for (const std::int64_t micro_batches : {ranks, 2 * ranks, 3 * ranks}) {
        CAPTURE(family);
        CAPTURE(ranks);
        CAPTURE(micro_batches);
        const std::set<std::string> loops = {"interleaved_1f1b", "looped_bfs"}, zigzags = {"zbv", "hanayo"};
        const auto placement = loops.contains(family)     ? schedule::loop_placement(ranks, 2)
                               : zigzags.contains(family) ? schedule::zigzag_placement(ranks, 2)
                                                          : schedule::loop_placement(ranks, 1);
        const StageChain chain(family, placement, micro_batches);
        const auto trace = chain.run(MessageOrder::in_order);
        schedule::Schedule order = schedule::plan_order(chain.plan);
        for (auto& row : order.ranks)
          std::erase_if(row, [](const auto& a) {
            return a.kind == schedule::ActionKind::idle || a.kind == schedule::ActionKind::step ||
                   a.kind == schedule::ActionKind::reduce_gradient;
          });
        const auto lowered = schedule::add_messages(order);
        for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
          CHECK(travelled(trace, core::DeviceId(r)) == posted(lowered, r));
      }
}

TEST_CASE("random plans in order break no rule") {
  for (const int most_group : {1, 3})
    for (std::uint64_t seed = 0; seed < 240; ++seed) {
      support::RandomPlan random = support::random_plan(seed, most_group);
      random.options.message_order = MessageOrder::in_order;
      const auto scheduled = score::scheduled(random.problem(), random.plan);
      const auto trace = sim::simulate(random.problem(), scheduled, random.options);
      CAPTURE(seed);
      CAPTURE(most_group);
      for (const auto& violation :
           check::trace_violations(random.problem(), scheduled, trace, random.options))
        FAIL_CHECK(violation);
    }
}

TEST_CASE("the verifier distinguishes free messages from messages in order") {
  int told = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const support::RandomPlan random = support::random_plan(seed);
    const auto scheduled = score::scheduled(random.problem(), random.plan);
    sim::SimulationOptions options = random.options;
    const auto free = sim::simulate(random.problem(), scheduled, options);
    options.message_order = MessageOrder::in_order;
    const auto violations = check::trace_violations(random.problem(), scheduled, free, options);
    told += std::ranges::any_of(violations, [](const std::string& violation) {
      return violation.find("two messages at a time") != std::string::npos;
    });
  }
  CHECK(told > 10);
}
