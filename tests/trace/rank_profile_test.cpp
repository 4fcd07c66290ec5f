#include "penstock/trace/rank_profile.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <fstream>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "support/kineto_text.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using support::kineto_event;
using trace::announced_pass;
using trace::parse_rank_profile;
using trace::TaskKind;

namespace {

std::string document(const std::string& events) {
  return "{\"traceEvents\": [" + events + "{}], \"baseTimeNanoseconds\": 1000}";
}

std::string fault(const std::string& text) {
  try {
    parse_rank_profile(text, "rank0.json");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("names of torch.distributed.pipelining, optimizers and Megatron-LM are passes") {
  struct NamedCase {
    const char* name;
    TaskKind kind;
    int stage, micro_batch;
  };
  for (const NamedCase& c :
       {NamedCase{"PP:1F0", TaskKind::forward, 1, 0},
        {"PP:12B345", TaskKind::backward, 12, 345},
        {"PP:0I7", TaskKind::input_gradient, 0, 7},
        {"PP:3W2", TaskKind::weight_gradient, 3, 2},
        {"Forward 3", TaskKind::forward, -1, 3},
        {"Backward 10", TaskKind::backward, -1, 10},
        {"Optimizer.step#AdamW.step", TaskKind::step, -1, -1},
        {"forward_step", TaskKind::forward, -1, -1},
        {"megatron/core/pipeline_parallel/schedules.py(401): backward_step", TaskKind::backward, -1, -1}}) {
    CAPTURE(c.name);
    const auto found = announced_pass(c.name, {});
    REQUIRE(found);
    CHECK(found->kind == c.kind);
    CHECK(found->stage == c.stage);
    CHECK(found->micro_batch == c.micro_batch);
  }
  for (const char* name : {"PP:1RECV_F0", "PP:1SEND_B0", "PP:1UNSHARD", "PP:1WAIT_SEND_F0", "PP:F0", "PP:1F",
                           "PP:", "PP:1F0x", "Forward", "Forward x", "Forward 1 2", "PP:99999999999F0",
                           "aten::linear", "my_forward_step", "Optimizer.zero_grad#SGD.zero_grad"}) {
    CAPTURE(name);
    CHECK_FALSE(announced_pass(name, {}));
  }
  CHECK(announced_pass("fwd", {"fwd", "bwd"})->kind == TaskKind::forward);
  CHECK_FALSE(announced_pass("forward_step", {"fwd", "bwd"}));
}

TEST_CASE("a profile holds passes, operators, kernels with their launches, and waits") {
  const std::string text = document(
      kineto_event("user_annotation", "PP:0F0", 10, 5.5) + kineto_event("cpu_op", "aten::mm", 11, 1) +
      kineto_event("cpu_op", "c10d::send", 12, 1) + kineto_event("user_annotation", "gloo:send", 12, 3) +
      kineto_event("kernel", "gemm", 20, 2, ", \"correlation\": 9") +
      kineto_event("kernel", "orphan", 20, 2) +
      kineto_event("kernel", "ncclKernel", 25, 2, ", \"correlation\": 10") +
      kineto_event("cuda_runtime", "cudaLaunchKernel", 11.5, 1, ", \"correlation\": 9") +
      kineto_event("user_annotation", "PP:(0F7;7B3)OVERLAP_F_B", 30, 1) +
      kineto_event("gpu_user_annotation", "PP:0F0", 40, 1) +
      kineto_event("user_annotation", "ProfilerStep#3", 1, 90));
  const auto found = parse_rank_profile(text, "rank0.json");
  REQUIRE(found.passes.size() == 1);
  CHECK(found.passes[0].time == trace::HostInterval{11'000, 16'500});
  REQUIRE(found.operators.size() == 1);
  CHECK(found.operators[0] == trace::HostInterval{12'000, 13'000});
  REQUIRE(found.kernels.size() == 1);
  CHECK(found.kernels[0].launch == 12'500);
  CHECK(found.kernels[0].time == trace::HostInterval{21'000, 23'000});
  CHECK(found.host_waits == std::vector<trace::HostInterval>{{13'000, 16'000}});
  CHECK(found.gpu_waits == std::vector<trace::HostInterval>{{26'000, 28'000}});
  CHECK(found.paired == "PP:(0F7;7B3)OVERLAP_F_B");
  REQUIRE(found.steps.size() == 1);
  CHECK(found.steps[0].number == 3);
  CHECK_FALSE(found.rank);
}

TEST_CASE("a packed profile is read as an unpacked one, and a damaged one is refused") {
  const support::ScratchFolder scratch("rank_profile");
  const std::string text = document(kineto_event("user_annotation", "PP:0F0", 10, 5.5)),
                    plain = scratch.path("a.json"), packed = scratch.path("a.json.gz");
  core::write_file(plain, text);
  gzFile out = gzopen(packed.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  CHECK(trace::read_rank_profile(plain).passes.size() == 1);
  CHECK(trace::read_rank_profile(packed).passes.size() == 1);
  const std::string bytes = core::read_file(packed);
  core::write_file(packed, bytes.substr(0, bytes.size() - 12));
  CHECK_THROWS_WITH_AS(trace::read_rank_profile(packed), (packed + ": the packed file ends early").c_str(),
                       core::BadInput);
  CHECK_THROWS_AS(trace::read_rank_profile(scratch.path("none.json")), core::BadInput);
}

TEST_CASE("a file that is no profile is refused, with the event") {
  CHECK(has(fault("{\"traceEvents\": [{\"ph\": "), "not valid JSON at byte"));
  CHECK(has(fault("[]"), "no list 'traceEvents'"));
  CHECK(has(fault("{\"traceEvents\": {}}"), "no list 'traceEvents'"));
  CHECK(has(fault(document(kineto_event("cpu_op", "aten::mm", 1, 1) +
                           kineto_event("user_annotation", "PP:0F0", 10, -1))),
            "traceEvents[1]: event 'PP:0F0': 'dur' is -1, but must not be negative"));
  CHECK(has(fault(document(kineto_event("user_annotation", "PP:0F0", 1e17, 1))), "no time in microseconds"));
  CHECK(has(fault(document(R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": "3", "dur": 1},)")),
            "event 'aten::mm' has no number 'ts'"));
  CHECK(has(fault(document(kineto_event("user_annotation", "ProfilerStep#x", 1, 1))), "no number of a step"));
  CHECK(has(fault("{\"baseTimeNanoseconds\": -5, \"traceEvents\": []}"), "'baseTimeNanoseconds' is -5"));
}
