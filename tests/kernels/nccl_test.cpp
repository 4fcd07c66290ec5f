// What NCCL is asked for, by a library that only pretends.

#include "cuda/nccl.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "penstock/core/error.hpp"

using namespace penstock;
using kernels::Buffer;
using kernels::Element;

namespace {

struct Pretended {
  std::string broken;
  std::vector<std::string> log;
  int alive = 0;
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
  out.init = [](ncclComm_t* ranks, int count, const int* devices) {
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

struct Fake : Buffer {
  Fake(Element element, std::int64_t count) : Buffer(element, count) {}
  void* data() const override { return nullptr; }
};

struct NoStream : kernels::Stream {
  std::unique_ptr<kernels::Mark> mark() override { return nullptr; }
  void wait(const kernels::Mark&) override {}
  void synchronise() override {}
  void evict_caches() override {}
  std::function<void()> bundle(int, const std::function<void()>& body) override { return body; }
} stream;

/// Of two GPUs, numbers 2 and 5. Which device a call selects is in the log.
std::unique_ptr<kernels::Collectives> two() {
  const auto queue = [](int device, kernels::Stream&) -> cudaStream_t {
    library.log.push_back(fmt::format("select {}", device));
    return nullptr;
  };
  return kernels::cuda::make_collectives({2, 5}, queue, pretended());
}

using Log = std::vector<std::string>;

}  // namespace

TEST_CASE("a rank's call goes to its device, and counts what the library counts") {
  library = {};
  {
    const auto collectives = two();
    Fake whole(Element::fp32, 6), part(Element::fp32, 3);
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
    Fake values(element, 1);
    collectives->all_reduce(0, values, stream);
    CHECK(library.log.back() ==
          fmt::format("100 reduces 1 of type {} by {} in place", int{type}, int{ncclSum}));
  }
  Fake whole_numbers(Element::int64, 1);
  CHECK_THROWS_AS(collectives->all_reduce(0, whole_numbers, stream), core::Error);
}

TEST_CASE("parts that do not make the whole are refused") {
  library = {};
  const auto collectives = two();
  Fake whole(Element::fp32, 6), part(Element::fp32, 2), narrow(Element::bf16, 3);
  CHECK_THROWS_AS(collectives->reduce_scatter(0, whole, part, stream), core::Error);
  CHECK_THROWS_AS(collectives->all_gather(0, narrow, whole, stream), core::Error);
}

TEST_CASE("a call that fails is named") {
  library = {};
  library.broken = "all_reduce";
  const auto collectives = two();
  Fake values(Element::fp32, 1);
  CHECK_THROWS_WITH_AS(collectives->all_reduce(0, values, stream), "ncclAllReduce: it pretends", core::Error);
  library = {};
  library.broken = "init";
  CHECK_THROWS_WITH_AS(two(), "ncclCommInitAll: it pretends", core::Error);
}
