#pragma once
// Names of tasks in messages.

#include <exception>
#include <string>

#include "penstock/replay/program.hpp"

namespace penstock::replay {

/// Returns a text such as "device 2, forward of micro-batch 3 on stage 1".
std::string task_name(core::DeviceId device, const DeviceInstruction& instruction);
/// Returns a text such as "the tensors of micro-batch 3 on stage 0 from device 1".
std::string name(const DeviceMessage& message);

/// Returns the exception being handled, with `task` in front of its text; requests to stop are unchanged.
/// Foreign exceptions become Error(device_failed).
std::exception_ptr told(const std::string& task);

}  // namespace penstock::replay
