#include <charconv>

#include "penstock/trace/rank_profile.hpp"

namespace penstock::trace {
namespace {

/// Takes a number from the front of `text`; none if there is none, or one beyond 32 bits.
std::optional<std::int32_t> take_number(std::string_view& text) {
  std::int32_t out = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (fault != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return out;
}

std::optional<TaskKind> kind_of(char letter) {
  switch (letter) {
    case 'F':
      return TaskKind::forward;
    case 'B':
      return TaskKind::backward;
    case 'I':
      return TaskKind::input_gradient;
    case 'W':
      return TaskKind::weight_gradient;
    default:
      return std::nullopt;
  }
}

/// "1F0" of "PP:1F0". Names such as "1RECV_F0" are no passes.
std::optional<AnnouncedPass> runtime_action(std::string_view action) {
  const auto stage = take_number(action);
  if (!stage || action.empty()) return std::nullopt;
  const auto kind = kind_of(action.front());
  action.remove_prefix(1);
  const auto micro_batch = take_number(action);
  if (!kind || !micro_batch || !action.empty()) return std::nullopt;
  return AnnouncedPass{*kind, *stage, *micro_batch, {}};
}

/// "3" of "Forward 3".
std::optional<AnnouncedPass> numbered(TaskKind kind, std::string_view number) {
  const auto micro_batch = take_number(number);
  if (!micro_batch || !number.empty()) return std::nullopt;
  return AnnouncedPass{kind, -1, *micro_batch, {}};
}

/// The function of "megatron/core/pipeline_parallel/schedules.py(401): forward_step"; other names as they are.
std::string_view function_of(std::string_view name) {
  const std::size_t colon = name.rfind("): ");
  return colon == name.npos ? name : name.substr(colon + 3);
}

}  // namespace

std::optional<AnnouncedPass> announced_pass(std::string_view name, const PassFunctions& functions) {
  constexpr std::string_view kRuntime = "PP:", kForward = "Forward ", kBackward = "Backward ",
                             kStep = "Optimizer.step#";
  if (name.starts_with(kRuntime)) return runtime_action(name.substr(kRuntime.size()));
  if (name.starts_with(kForward)) return numbered(TaskKind::forward, name.substr(kForward.size()));
  if (name.starts_with(kBackward)) return numbered(TaskKind::backward, name.substr(kBackward.size()));
  if (name.starts_with(kStep)) return AnnouncedPass{TaskKind::step, -1, -1, {}};
  const std::string_view function = function_of(name);
  if (function == functions.forward) return AnnouncedPass{TaskKind::forward, -1, -1, {}};
  if (function == functions.backward) return AnnouncedPass{TaskKind::backward, -1, -1, {}};
  return std::nullopt;
}

}  // namespace penstock::trace
