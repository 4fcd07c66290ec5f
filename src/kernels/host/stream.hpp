#pragma once
// A host stream: work is done when its call returns, so events are readings of the clock.

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels::host {

std::unique_ptr<Stream> make_host_stream(int threads);

}  // namespace penstock::kernels::host
