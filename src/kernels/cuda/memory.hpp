#pragma once
// Memory of a device.

#include <cstdint>

namespace penstock::kernels::cuda {

class Memory {
 public:
  /// On the current device; throws BadInput if memory does not suffice. 0 bytes: null.
  explicit Memory(std::int64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  Memory& operator=(Memory&&) = delete;
  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

}  // namespace penstock::kernels::cuda
