#!/usr/bin/env bash
# question: oneDNN 2.6 chooses the format of a linear layer's weights (format any, f32, AVX2). Do forward and backward by
#   data choose the same one, so that one copy serves both?
# guess: The same. (The guess was for oneDNN 3; 3.2 chooses one blocked format for both.)
# saw: Opposite orders. At 512 samples forward has the weights transposed (output features adjacent) and backward plain;
#   at one sample it is the other way round. With 4096 output features and many samples both are plain. No format is
#   blocked.
# matters: The best layout of a weight depends on the micro-batch size. A planner that changes it, or times forward and
#   backward apart with formats chosen by each, leaves out transpositions of all weights in every step. Debian 12 ships
#   2.6.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install onednn-cpu-gomp==2022.2.1 onednn-devel-cpu-gomp==2022.2.1
root=$(dirname "$(dirname "$python")")
cat > "$work/check.cpp" <<'CPP'
#include <omp.h>

#include <cstdio>
#include <dnnl.hpp>
#include <string>

using namespace dnnl;

namespace {

constexpr memory::dim kIn = 512;

std::string order(const memory::desc& weights, memory::dim out) {
  const auto plain = [&](memory::format_tag tag) { return memory::desc({out, kIn}, memory::data_type::f32, tag); };
  if (weights == plain(memory::format_tag::ab)) return "plain";
  if (weights == plain(memory::format_tag::ba)) return "transposed";
  return "other";
}

bool check(const engine& cpu, memory::dim samples, memory::dim out, const std::string& forward_order, const std::string& backward_order) {
  const auto type = memory::data_type::f32;
  const memory::desc x({samples, kIn}, type, memory::format_tag::ab), w({out, kIn}, type, memory::format_tag::any),
      y({samples, out}, type, memory::format_tag::ab);
  const inner_product_forward::primitive_desc forward({prop_kind::forward_training, x, w, y}, cpu);
  const inner_product_backward_data::primitive_desc backward({x, w, y}, cpu, forward);
  const std::string one = order(forward.weights_desc(), out), two = order(backward.weights_desc(), out);
  std::printf("%4d samples, %4d x %d: forward %s, backward by data %s\n", int(samples), int(out), int(kIn), one.c_str(), two.c_str());
  return one == forward_order && two == backward_order;
}

}  // namespace

int main() {
  if (get_effective_cpu_isa() != cpu_isa::avx2) return std::puts("skipped: no AVX2"), 77;
  const engine cpu(engine::kind::cpu, 0);
  bool as_seen = true;
  for (const int threads : {1, 4}) {
    omp_set_num_threads(threads);
    for (const memory::dim out : {128, 1000}) {
      as_seen = check(cpu, 1, out, "plain", "transposed") && as_seen;
      as_seen = check(cpu, 512, out, "transposed", "plain") && as_seen;
    }
    as_seen = check(cpu, 512, 4096, "plain", "plain") && as_seen;
  }
  return as_seen ? 0 : 1;
}
CPP
g++ -O1 -std=c++20 -fopenmp "-I$root/include" "$work/check.cpp" "-L$root/lib" "-Wl,-rpath,$root/lib" -ldnnl -o "$work/check"
ONEDNN_MAX_CPU_ISA=AVX2 OMP_DYNAMIC=false "$work/check"
