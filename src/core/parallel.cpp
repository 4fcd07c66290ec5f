#include "penstock/core/parallel.hpp"

#include <tbb/parallel_for.h>

#include <atomic>

// ThreadSanitizer cannot look into the distribution's oneTBB and would report races in its templates. So this
// file is compiled without it and annotates what the loop guarantees: earlier code happens before each body,
// each body before later code, and bodies are unordered.
#ifdef PENSTOCK_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

namespace penstock::core {
namespace {

/// Calls `tell` at the end of the scope, also after an exception.
struct AtEnd {
  void (*tell)(void*);
  void* address;
  ~AtEnd() { tell(address); }
};

}  // namespace

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  char start = 0, done = 0;
  const AtEnd joined{[](void* a) { __tsan_acquire(a); }, &done};
  __tsan_release(&start);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    __tsan_acquire(&start);
    const AtEnd finished{[](void* a) { __tsan_release(a); }, &done};
    body(i);
  });
}

void parallel_in_order(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  parallel_for(count, [&](std::size_t) { body(next++); });
}

}  // namespace penstock::core
