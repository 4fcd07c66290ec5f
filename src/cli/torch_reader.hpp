#pragma once
// `penstock import hf --through torch`: the Python package reads the config.

#include <cstdint>
#include <string>

namespace penstock::cli {

/// Arguments of penstock.torch.hf. `tokens` 0: as many as the config has positions; `output` "": printed.
struct TorchReading {
  std::string file, output;
  std::int64_t tokens = 0;
};

/// Replaces this process by Python, so that its exit code and Ctrl-C are Python's. The interpreter is that of
/// the variable PENSTOCK_PYTHON, or python3. Throws core::BadInput if there is none.
[[noreturn]] void read_through_torch(const TorchReading& reading);

}  // namespace penstock::cli
