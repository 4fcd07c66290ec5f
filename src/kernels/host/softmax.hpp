#pragma once
// Softmax along rows, as steps of a program.

#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// Softmax of rows x width; y may be x.
void softmax_forward(Program& program, const Desc& layout, Where x, Where y);
/// x_gradient may be y_gradient.
void softmax_gradient(Program& program, const Desc& layout, Where y, Where y_gradient, Where x_gradient);

}  // namespace penstock::kernels::host
