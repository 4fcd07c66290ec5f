// Calls to NCCL, recorded by an imitation of the library.

#include "cuda/nccl.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "penstock/core/error.hpp"

using namespace penstock;
using kernels::Buffer;
using kernels::Element;

namespace {

struct FakeLibrary {
  std::string broken;
  std::vector<std::string> log;
  int alive = 0;
  int pending = 0;  ///< number of calls for which it is not yet ready
} library;

ncclResult_t answer(const std::string& call, const std::string& said) {
  library.log.push_back(said);
  return library.broken == call ? ncclSystemError : ncclSuccess;
}

std::uintptr_t rank_of(ncclComm_t rank) {
  return reinterpret_cast<std::uintptr_t>(rank);
}

kernels::cuda::NcclCalls pretended() {
  kernels::cuda::NcclCalls out;
  out.init_all = [](ncclComm_t* ranks, int count, const int* devices) {
    std::string said = "init";
    for (int r = 0; r < count; ++r) {
      ranks[r] = reinterpret_cast<ncclComm_t>(static_cast<std::uintptr_t>(100 + r));
      said += fmt::format(" {}", devices[r]);
    }
    library.alive += count;
    return answer("init", said);
  };
  out.destroy = [](ncclComm_t) {
    --library.alive;
    return ncclSuccess;
  };
  out.unique_id = [](ncclUniqueId* id) {
    std::fill(std::begin(id->internal), std::end(id->internal), 'x');
    return answer("unique_id", "id");
  };
  out.init_rank = [](ncclComm_t* comm, int count, ncclUniqueId id, int rank, ncclConfig_t* config) {
    *comm = reinterpret_cast<ncclComm_t>(static_cast<std::uintptr_t>(100 + rank));
    ++library.alive;
    return answer("init_rank", fmt::format("init {} of {}, {}, {}blocking", rank, count, id.internal[127],
                                           config->blocking == 0 ? "non-" : ""));
  };
  out.abort = [](ncclComm_t rank) {
    --library.alive;
    return answer("abort", fmt::format("abort {}", rank_of(rank)));
  };
  out.state = [](ncclComm_t, ncclResult_t* state) {
    *state = library.broken == "state" ? ncclRemoteError
             : library.pending-- > 0   ? ncclInProgress
                                       : ncclSuccess;
    return ncclSuccess;
  };
  out.group_start = [] { return answer("group_start", "("); };
  out.group_end = [] {
    library.log.push_back(")");
    return library.broken == "group_end" ? ncclSystemError : ncclInProgress;
  };
  out.send = [](const void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t rank,
                cudaStream_t) {
    return answer("send", fmt::format("{} sends {} of {} to {}", rank_of(rank), count, int{type}, peer));
  };
  out.receive = [](void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t rank, cudaStream_t) {
    return answer("receive",
                  fmt::format("{} receives {} of {} from {}", rank_of(rank), count, int{type}, peer));
  };
  out.all_reduce = [](const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                      ncclComm_t rank, cudaStream_t) {
    return answer("all_reduce", fmt::format("{} reduces {} of type {} by {}{}", rank_of(rank), count,
                                            int{type}, int{op}, from == to ? " in place" : ""));
  };
  out.reduce_scatter = [](const void*, void*, std::size_t count, ncclDataType_t, ncclRedOp_t, ncclComm_t rank,
                          cudaStream_t) {
    return answer("reduce_scatter", fmt::format("{} scatters parts of {}", rank_of(rank), count));
  };
  out.all_gather = [](const void*, void*, std::size_t count, ncclDataType_t, ncclComm_t rank, cudaStream_t) {
    return answer("all_gather", fmt::format("{} gathers parts of {}", rank_of(rank), count));
  };
  out.error_string = [](ncclResult_t) { return "it pretends"; };
  return out;
}

struct FakeBuffer : Buffer {
  FakeBuffer(Element element, std::int64_t count) : Buffer(element, count) {}
  void* data() const override { return nullptr; }
};

struct NoStream : kernels::Stream {
  std::unique_ptr<kernels::Event> record_event() override { return nullptr; }
  void wait(const kernels::Event&) override {}
  void synchronise() override {}
  void evict_caches() override {}
  std::function<void()> bundle(int, const std::function<void()>& body) override { return body; }
} stream;

/// The log has the device that each call selects.
std::unique_ptr<kernels::Collectives> collectives(const std::vector<std::optional<int>>& devices,
                                                  const kernels::Invitation& invitation) {
  const auto select = [](int device) { library.log.push_back(fmt::format("select {}", device)); };
  const auto queue = [select](int device, kernels::Stream&) -> cudaStream_t {
    select(device);
    return nullptr;
  };
  return kernels::cuda::make_collectives(devices, invitation, select, queue, pretended());
}

/// Collectives of two GPUs, numbers 2 and 5.
std::unique_ptr<kernels::Collectives> two() {
  return collectives({2, 5}, {});
}

/// Collectives of three ranks, of which the first and last are of this process, on GPUs 4 and 6.
std::unique_ptr<kernels::Collectives> far() {
  return collectives({4, {}, 6}, kernels::cuda::make_invitation(pretended()));
}

using Log = std::vector<std::string>;

}  // namespace

TEST_CASE("a rank's call goes to its device, and counts what the library counts") {
  library = {};
  {
    const auto collectives = two();
    FakeBuffer whole(Element::fp32, 6), part(Element::fp32, 3);
    collectives->all_reduce(1, whole, stream);
    collectives->reduce_scatter(0, whole, part, stream);
    collectives->all_gather(1, part, whole, stream);
    CHECK(library.log ==
          Log{"init 2 5", "select 5",
              fmt::format("101 reduces 6 of type {} by {} in place", int{ncclFloat32}, int{ncclSum}),
              "select 2", "100 scatters parts of 3", "select 5", "101 gathers parts of 3"});
  }
  CHECK(library.alive == 0);
}

TEST_CASE("elements are the library's, whole numbers are not summed") {
  library = {};
  const auto collectives = two();
  for (const auto& [element, type] : {std::pair(Element::bf16, ncclBfloat16), {Element::fp16, ncclFloat16}}) {
    FakeBuffer values(element, 1);
    collectives->all_reduce(0, values, stream);
    CHECK(library.log.back() ==
          fmt::format("100 reduces 1 of type {} by {} in place", int{type}, int{ncclSum}));
  }
  FakeBuffer whole_numbers(Element::int64, 1);
  CHECK_THROWS_AS(collectives->all_reduce(0, whole_numbers, stream), core::Error);
}

TEST_CASE("parts that do not make the whole are refused") {
  library = {};
  const auto collectives = two();
  FakeBuffer whole(Element::fp32, 6), part(Element::fp32, 2), narrow(Element::bf16, 3);
  CHECK_THROWS_AS(collectives->reduce_scatter(0, whole, part, stream), core::Error);
  CHECK_THROWS_AS(collectives->all_gather(0, narrow, whole, stream), core::Error);
}

TEST_CASE("a call that fails is named") {
  library = {};
  library.broken = "all_reduce";
  const auto collectives = two();
  FakeBuffer values(Element::fp32, 1);
  CHECK_THROWS_WITH_AS(collectives->all_reduce(0, values, stream), "ncclAllReduce: it pretends", core::Error);
  library = {};
  library.broken = "init";
  CHECK_THROWS_WITH_AS(two(), "ncclCommInitAll: it pretends", core::Error);
}

TEST_CASE("ranks of this process join those of others without waiting, and leave so") {
  library = {};
  {
    library.pending = 1;
    const auto joined = far();
    CHECK(library.log == Log{"id", "(", "select 4", "init 0 of 3, x, non-blocking", "select 6",
                             "init 2 of 3, x, non-blocking", ")"});
    CHECK(library.alive == 2);
    CHECK_FALSE(joined->settled(0));
    CHECK(joined->settled(0));
    CHECK(joined->settled(2));
    library.log.clear();
  }
  CHECK(library.log == Log{"abort 100", "abort 102"});  // no wait for a process that may have died
  CHECK(library.alive == 0);
}

TEST_CASE("values are sent as one group, and the caller does not wait") {
  library = {};
  const auto joined = far();
  FakeBuffer some(Element::fp32, 3), more(Element::bf16, 5);
  library.log.clear();
  joined->send(0, 1, {&some, &more}, stream);
  joined->receive(2, 1, {&more}, stream);
  CHECK(library.log == Log{"select 4", "(", fmt::format("100 sends 12 of {} to 1", int{ncclInt8}),
                           fmt::format("100 sends 10 of {} to 1", int{ncclInt8}), ")", "select 6", "(",
                           fmt::format("102 receives 10 of {} from 1", int{ncclInt8}), ")"});
}

TEST_CASE("a sum is on its stream when the call returns") {
  library = {};
  const auto joined = far();
  FakeBuffer values(Element::fp32, 3);
  library.pending = 5;
  joined->all_reduce(0, values, stream);
  CHECK(library.pending == -1);
}

TEST_CASE("an asynchronous failure is thrown at the next query, and a failed start leaves nothing") {
  library = {};
  const auto joined = far();
  FakeBuffer values(Element::fp32, 1);
  library.broken = "send";
  CHECK_THROWS_WITH_AS(joined->send(0, 1, {&values}, stream), "ncclSend: it pretends", core::Error);
  CHECK(library.log.back() == ")");
  library.broken = "group_end";
  CHECK_THROWS_WITH_AS(joined->receive(0, 1, {&values}, stream), "ncclRecv: it pretends", core::Error);
  library.broken = "state";
  CHECK_THROWS_WITH_AS(joined->settled(0), "NCCL: it pretends", core::Error);
  library = {};
  library.broken = "group_end";
  CHECK_THROWS_WITH_AS(far(), "ncclCommInitRankConfig: it pretends", core::Error);
  CHECK(library.alive == 0);
  library.broken = "unique_id";
  CHECK_THROWS_WITH_AS(far(), "ncclGetUniqueId: it pretends", core::Error);
}

TEST_CASE("after an abort nothing is called, and nothing ended twice") {
  library = {};
  const auto joined = far();
  FakeBuffer values(Element::fp32, 1);
  joined->abort();
  CHECK(library.alive == 0);
  library.log.clear();
  CHECK_THROWS_AS(joined->all_reduce(0, values, stream), core::Error);
  CHECK_THROWS_AS(joined->settled(2), core::Error);
  joined->abort();
  CHECK(library.log == Log{});
}
