#include "rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/graph/ties.hpp"

namespace penstock::replay {
namespace {

using schedule::Action;
using schedule::ActionKind;
using schedule::RankOrder;

bool runs(ActionKind kind) {
  return kind == ActionKind::forward || kind == ActionKind::backward || kind == ActionKind::input_gradient ||
         kind == ActionKind::weight_gradient || kind == ActionKind::recompute;
}

bool updates(ActionKind kind) {
  return kind == ActionKind::reduce_gradient || kind == ActionKind::step || kind == ActionKind::barrier;
}

std::int32_t& slot(std::vector<std::int32_t>& list, std::int32_t micro_batch) {
  const auto m = static_cast<std::size_t>(micro_batch);
  if (m >= list.size()) list.resize(m + 1, -1);
  return list[m];
}

}  // namespace

std::vector<RankOrder> plain_rows(const schedule::Schedule& order) {
  std::vector<RankOrder> out;
  for (const RankOrder& row : order.ranks) {
    RankOrder& plain = out.emplace_back();
    for (const Action& action : row)
      for (const Action& part : parts(action)) {
        if (part.kind == ActionKind::idle) continue;
        if (!runs(part.kind) && !updates(part.kind))
          throw core::BadInput(fmt::format("{} is not replayed", token(part)));
        plain.push_back(part);
      }
  }
  return out;
}

bool needless(const graph::OpGraph& graph, const plan::Plan& plan,
              const std::vector<plan::SharedParameters>& shared, const Action& action) {
  if (action.kind != ActionKind::step && action.kind != ActionKind::reduce_gradient) return false;
  const plan::Stage& stage = plan.stages[static_cast<std::size_t>(action.stage)];
  const auto weigh = [&](const std::vector<core::OpId>& operators) {
    return std::any_of(operators.begin(), operators.end(),
                       [&](core::OpId op) { return graph.parameter_bytes(op).value() > 0; });
  };
  if (action.kind == ActionKind::reduce_gradient)
    return !plan::reduces_gradients(stage) || !weigh(plan::unshared(stage.operators, shared));
  return !weigh(stage.operators) && graph::borrowed(graph, stage.operators).empty();
}

std::size_t place_of(const plan::SharedParameters& shared, const RankOrder& row, std::size_t from) {
  std::size_t updated = row.size();
  for (std::size_t p = row.size(); p-- > 0;) {
    const Action& action = row[p];
    const bool shares =
        action.stage >= 0 && std::count(shared.stages.begin(), shared.stages.end(),
                                        core::StageId(static_cast<std::size_t>(action.stage))) > 0;
    if (shares && action.kind == ActionKind::step) updated = p;
    const bool gradient = action.kind == ActionKind::backward || action.kind == ActionKind::weight_gradient;
    if (action.kind == ActionKind::reduce_gradient || (shares && gradient)) from = std::max(from, p + 1);
  }
  if (from > updated)
    throw core::BadInput(
        fmt::format("{} stands before the sum of what the stage shares with others", token(row[updated])));
  return from;
}

Places places(const RankOrder& row, std::int32_t stage, bool late) {
  Places out;
  std::vector<std::int32_t> forwards, backwards, releases;  // micro-batches in the order of the row
  std::size_t most = 0;                                     // held at once
  for (std::int32_t p = 0; p < static_cast<std::int32_t>(row.size()); ++p) {
    const Action& action = row[static_cast<std::size_t>(p)];
    if (action.stage != stage || !runs(action.kind)) continue;
    const std::int32_t m = action.micro_batch;
    if (action.kind == ActionKind::forward) {
      slot(out.forward, m) = p;
      forwards.push_back(m);
      most = std::max(most, forwards.size() - releases.size());
    }
    if (action.kind == ActionKind::backward || action.kind == ActionKind::input_gradient) {
      slot(out.backward, m) = p;
      if (slot(out.gradient, m) < 0) out.gradient[static_cast<std::size_t>(m)] = p;
      backwards.push_back(m);
    }
    if (action.kind == ActionKind::recompute && late) slot(out.gradient, m) = p;
    if (action.kind == ActionKind::backward || action.kind == ActionKind::weight_gradient) {
      slot(out.release, m) = p;
      releases.push_back(m);
    }
  }
  for (std::size_t j = 0; j < forwards.size(); ++j)
    slot(out.room_forward, forwards[j]) = j > most ? slot(out.release, releases[j - most - 1]) : -1;
  for (std::size_t j = 0; j < backwards.size(); ++j)
    slot(out.room_backward, backwards[j]) = j > 1 ? slot(out.backward, backwards[j - 2]) : -1;
  return out;
}

}  // namespace penstock::replay
