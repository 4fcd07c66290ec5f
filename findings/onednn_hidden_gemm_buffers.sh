#!/usr/bin/env bash
# question: oneDNN with scratchpad_mode::user, so that the caller owns all scratch memory: how does the scratchpad of a
#   linear layer's weight gradient (f32, AVX2) grow with threads?
# guess: Linearly.
# saw: It is 0 bytes at every number of threads. The product allocates its packing buffers itself, in every call and
#   outside the scratchpad: 0.5 MB or more on one thread, and over twice that on four threads.
# matters: A memory limit that counts weights, activations and scratchpads misses these buffers. A replay that accounts
#   for every byte is below the truth, by an amount that grows with threads.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install onednn-cpu-gomp==2023.2.0 onednn-devel-cpu-gomp==2023.2.0
root=$(dirname "$(dirname "$python")")
cat > "$work/check.cpp" <<'CPP'
#include <dlfcn.h>
#include <omp.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dnnl.hpp>

using namespace dnnl;

namespace {
std::atomic<std::size_t> asked = 0;
}

// Counts what the library asks for; oneDNN allocates by this function alone.
extern "C" int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  static const auto original = reinterpret_cast<int (*)(void**, std::size_t, std::size_t)>(dlsym(RTLD_NEXT, "posix_memalign"));
  asked += bytes;
  return original(result, alignment, bytes);
}

int main() {
  if (get_effective_cpu_isa() != cpu_isa::avx2) return std::puts("skipped: no AVX2"), 77;
  const engine cpu(engine::kind::cpu, 0);
  stream queue(cpu);
  primitive_attr attributes;
  attributes.set_scratchpad_mode(scratchpad_mode::user);
  const auto tag = memory::format_tag::ab;
  const memory::desc x({512, 1024}, memory::data_type::f32, tag), w({1024, 1024}, memory::data_type::f32, tag),
      y({512, 1024}, memory::data_type::f32, tag);
  const memory input(x, cpu), output(y, cpu), gradient(w, cpu);
  std::size_t of_one = 0;
  bool as_seen = true;
  for (const int threads : {1, 2, 4}) {
    omp_set_num_threads(threads);
    const inner_product_forward::primitive_desc forward(cpu, prop_kind::forward_training, x, w, y, attributes);
    const inner_product_backward_weights::primitive_desc backward(cpu, x, w, y, forward, attributes);
    const inner_product_backward_weights product(backward);
    const auto run = [&] {
      asked = 0;
      product.execute(queue, {{DNNL_ARG_SRC, input}, {DNNL_ARG_DIFF_DST, output}, {DNNL_ARG_DIFF_WEIGHTS, gradient}});
      queue.wait();
      return asked.load();
    };
    run();  // the first call may make more
    const std::size_t hidden = run(), scratchpad = backward.scratchpad_desc().get_size();
    std::printf("%d threads, %s: scratchpad %zu bytes, allocated in each later call %zu bytes\n", threads, backward.impl_info_str(),
                scratchpad, hidden);
    if (threads == 1) of_one = hidden;
    as_seen = as_seen && scratchpad == 0 && hidden >= 500'000 && run() == hidden;
    if (threads == 4) as_seen = as_seen && hidden > 2 * of_one;
  }
  return as_seen ? 0 : 1;
}
CPP
g++ -O1 -std=c++20 -fopenmp "-I$root/include" "$work/check.cpp" "-L$root/lib" "-Wl,-rpath,$root/lib" -ldnnl -ldl -o "$work/check"
ONEDNN_MAX_CPU_ISA=AVX2 OMP_DYNAMIC=false "$work/check"
