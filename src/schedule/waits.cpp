#include "waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace penstock::schedule {
namespace {

constexpr std::string_view kWait = "WAIT_";

bool is_send(const Action& action) {
  return action.kind == ActionKind::send_forward || action.kind == ActionKind::send_backward;
}

/// "0WAIT_SEND_F1" of 0SEND_F1.
std::string wait_for(const Action& action) {
  const std::string name = token(action);
  return fmt::format("{}{}{}", action.stage, kWait, name.substr(std::to_string(action.stage).size()));
}

}  // namespace

std::vector<std::string> cells_with_waits(const RankOrder& row) {
  std::vector<std::string> out;
  std::vector<Action> sends;
  std::vector<bool> waited;                                                   // [send]
  std::multimap<std::pair<std::int32_t, std::int32_t>, std::size_t> forward;  // sends of F without a wait
  for (const Action& action : row) {
    out.push_back(token(action));
    if (action.kind == ActionKind::reduce_gradient) out.push_back(wait_for(action));
    if (action.kind == ActionKind::send_forward)
      forward.emplace(std::pair(action.stage, action.micro_batch), sends.size());
    if (is_send(action)) {
      sends.push_back(action);
      waited.push_back(false);
    }
    for (const Action& part : parts(action)) {
      if (part.kind != ActionKind::backward && part.kind != ActionKind::input_gradient) continue;
      const auto [begin, end] = forward.equal_range(std::pair(part.stage, part.micro_batch));
      for (auto it = begin; it != end; ++it) {
        out.push_back(wait_for(sends[it->second]));
        waited[it->second] = true;
      }
      forward.erase(begin, end);
    }
  }
  for (std::size_t i = 0; i < sends.size(); ++i)
    if (!waited[i]) out.push_back(wait_for(sends[i]));
  return out;
}

void WaitReader::pass(const Action& action) {
  if (is_send(action) || action.kind == ActionKind::reduce_gradient) open_.insert(wait_for(action));
}

std::optional<std::string> WaitReader::read(std::string_view cell) {
  const std::size_t letters = std::min(cell.find_first_not_of("0123456789"), cell.size());
  if (!cell.substr(letters).starts_with(kWait)) return {};
  const auto found = open_.find(cell);
  if (found == open_.end())
    return fmt::format("'{}' waits for nothing: no {}{} without a wait is before it on this rank",
                       cell.substr(0, 40), cell.substr(0, letters),
                       cell.substr(letters + kWait.size()).substr(0, 40));
  open_.erase(found);
  return "";
}

}  // namespace penstock::schedule
