#pragma once
// A device cut into equal partitions by green contexts: streams made in one run their work on that
// partition's multiprocessors alone. Memory, its bandwidth and the L2 cache are everybody's. (CUDA Driver
// API, "Green Contexts"; work is bound to a partition by its stream, whatever context is current.)

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.hpp"

namespace penstock::kernels::cuda {

/// Partitions have `least` multiprocessors or more, a multiple of `step`.
struct Granularity {
  int least = 1, step = 1;
};
/// As the driver's documentation has it, by compute capability (90 is 9.0).
Granularity usual_granularity(int capability);

/// The most multiprocessors that each of `partitions` equal ones can have. Throws BadInput when that is less
/// than allowed, saying how many partitions there can be.
int partition_size(int multiprocessors, int partitions, Granularity granularity);

/// One green context.
class GreenContext {
 public:
  GreenContext(const Driver& driver, CUdevice device, CUdevResource resource);
  ~GreenContext();
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;
  /// Non-blocking; the caller destroys it, before the context goes.
  CUstream make_stream() const;
  int multiprocessors() const;  ///< as granted

 private:
  const Driver& driver_;
  CUgreenCtx context_ = nullptr;
};

/// A whole device in equal partitions.
class Split {
 public:
  /// Where the driver makes fewer partitions of the size that should fit, smaller ones are tried. Throws
  /// BadInput when there are none of any size. `usual` is for drivers that do not tell.
  Split(const Driver& driver, int device, int partitions, Granularity usual);

  const GreenContext& at(int index) const { return *contexts_[static_cast<std::size_t>(index)]; }
  int multiprocessors() const { return contexts_.front()->multiprocessors(); }  ///< of each

  /// The partition that fewest use, the first of these; any thread.
  int take();
  void give_back(int index);

 private:
  std::vector<std::unique_ptr<GreenContext>> contexts_;
  std::mutex mutex_;
  std::vector<int> users_;
};

}  // namespace penstock::kernels::cuda
