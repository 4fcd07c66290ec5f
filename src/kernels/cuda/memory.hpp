#pragma once
// Memory of a device.

#include <cstdint>

namespace penstock::kernels::cuda {

class DeviceMemory {
 public:
  /// On the current device; throws BadInput if memory does not suffice. 0 bytes: null.
  explicit DeviceMemory(std::int64_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

}  // namespace penstock::kernels::cuda
