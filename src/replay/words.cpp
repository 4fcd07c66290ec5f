#include "words.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"

namespace penstock::replay {
namespace {

using schedule::ActionKind;

std::string_view name(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return "forward";
    case ActionKind::backward:
      return "backward";
    case ActionKind::input_gradient:
      return "input gradient";
    case ActionKind::weight_gradient:
      return "weight gradient";
    case ActionKind::recompute:
      return "recomputation";
    case ActionKind::reduce_gradient:
      return "sum of gradients";
    case ActionKind::step:
      return "update";
    default:
      return "barrier";
  }
}

}  // namespace

std::string task_name(core::DeviceId device, const DeviceInstruction& instruction) {
  std::string out = fmt::format("device {}, {}", device.index(), name(instruction.kind));
  if (instruction.micro_batch >= 0) out += fmt::format(" of micro-batch {}", instruction.micro_batch);
  if (instruction.stage.valid()) out += fmt::format(" on stage {}", instruction.stage.index());
  return out;
}

std::string name(const DeviceMessage& message) {
  return fmt::format("the {} of micro-batch {} on stage {} from device {}",
                     message.gradient ? "gradients" : "tensors", message.sent_in, message.from.index(),
                     message.sender.index());
}

std::exception_ptr told(const std::string& task) {
  try {
    throw;
  } catch (const core::InterruptedError&) {
    return std::current_exception();
  } catch (const core::LimitHit&) {
    return std::current_exception();
  } catch (const core::Error& error) {
    return std::make_exception_ptr(core::Error(error.code(), task + ": " + error.what()));
  } catch (const std::exception& error) {
    return std::make_exception_ptr(core::Error(core::ExitCode::device_failed, task + ": " + error.what()));
  } catch (...) {
    return std::make_exception_ptr(core::Error(core::ExitCode::device_failed, task + ": unknown failure"));
  }
}

}  // namespace penstock::replay
