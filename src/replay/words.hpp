#pragma once
// How tasks are called in messages.

#include <exception>
#include <string>

#include "penstock/replay/program.hpp"

namespace penstock::replay {

/// "device 2, forward of micro-batch 3 on stage 1".
std::string task_name(core::DeviceId device, const Instruction& instruction);
/// "the tensors of micro-batch 3 on stage 0 from device 1".
std::string name(const Message& message);

/// The exception being handled, with `task` in front of its text; a request to stop as it is. What is none of
/// ours becomes Error(device_failed).
std::exception_ptr told(const std::string& task);

}  // namespace penstock::replay
