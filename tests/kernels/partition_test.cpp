// Devices cut into partitions: the sizes, and the calls to an imitation of the driver.

#include "cuda/partition.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "penstock/core/error.hpp"

using namespace penstock;
using namespace penstock::kernels::cuda;

namespace {

/// A device of `all` multiprocessors that come in blocks of `block`, and the calls to it.
struct FakeDevice {
  unsigned all = 132, block = 8;
  unsigned told_least = 0, told_step = 0;
  unsigned most_in_full_number = 0;  ///< larger partitions come one fewer than fit; 0: none do
  bool unequal = false;
  std::string broken;  ///< the call that fails
  std::vector<std::string> log;
  std::set<CUgreenCtx> alive;
  std::map<CUgreenCtx, unsigned> size;
} device;

CUresult answer(const std::string& call, const std::string& said) {
  device.log.push_back(said);
  return device.broken == call ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

unsigned groups_of(unsigned least) {
  const unsigned each = (least + device.block - 1) / device.block * device.block;
  const unsigned fit = device.all / each;
  return each > device.most_in_full_number && device.most_in_full_number > 0 ? fit - 1 : fit;
}

DriverCalls pretended() {
  DriverCalls out;
  out.get_device = [](CUdevice* handle, int ordinal) {
    *handle = 100 + ordinal;
    return answer("get", fmt::format("get {}", ordinal));
  };
  out.resource_of_device = [](CUdevice handle, CUdevResource* out, CUdevResourceType) {
    out->type = CU_DEV_RESOURCE_TYPE_SM;
    out->sm.smCount = device.all;
#if CUDA_VERSION >= 13000
    out->sm.minSmPartitionSize = device.told_least;
    out->sm.smCoscheduledAlignment = device.told_step;
#endif
    return answer("resource", fmt::format("resource of {}", handle));
  };
  out.split = [](CUdevResource* out, unsigned* groups, const CUdevResource* in, CUdevResource*,
                 unsigned flags, unsigned least) {
    REQUIRE(in->sm.smCount == device.all);
    REQUIRE(flags == 0);
    if (out == nullptr) {
      *groups = groups_of(least);
      return answer("ask", fmt::format("ask for {}", least));
    }
    *groups = std::min(*groups, groups_of(least));
    for (unsigned i = 0; i < *groups; ++i) {
      out[i].type = CU_DEV_RESOURCE_TYPE_SM;
      out[i].sm.smCount = least + (device.unequal && i > 0 ? device.block : 0);
    }
    return answer("split", fmt::format("split {} of {}", *groups, least));
  };
  out.describe = [](CUdevResourceDesc* description, CUdevResource* resources, unsigned count) {
    *description = reinterpret_cast<CUdevResourceDesc>(static_cast<std::uintptr_t>(resources->sm.smCount));
    return answer("describe", fmt::format("describe {} of {}", count, resources->sm.smCount));
  };
  out.create = [](CUgreenCtx* context, CUdevResourceDesc description, CUdevice handle, unsigned flags) {
    REQUIRE(flags == CU_GREEN_CTX_DEFAULT_STREAM);
    if (device.broken == fmt::format("create {}", device.alive.size())) return CUDA_ERROR_OUT_OF_MEMORY;
    *context = reinterpret_cast<CUgreenCtx>(static_cast<std::uintptr_t>(0x1000 + device.size.size()));
    device.alive.insert(*context);
    device.size[*context] = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(description));
    return answer("create", fmt::format("create on {}", handle));
  };
  out.destroy = [](CUgreenCtx context) {
    REQUIRE(device.alive.erase(context) == 1);
    return CUDA_SUCCESS;
  };
  out.resource_of_context = [](CUgreenCtx context, CUdevResource* out, CUdevResourceType) {
    out->sm.smCount = device.size.at(context);
    return CUDA_SUCCESS;
  };
  out.make_stream = [](CUstream* stream, CUgreenCtx context, unsigned flags, int) {
    REQUIRE(flags == CU_STREAM_NON_BLOCKING);
    *stream = reinterpret_cast<CUstream>(context);  // so that it shows where it was made
    return answer("stream", "stream");
  };
  out.error_string = [](CUresult, const char** why) {
    *why = "it pretends";
    return CUDA_SUCCESS;
  };
  return out;
}

constexpr PartitionGranularity kHopper{8, 8};

/// The error of cutting `device`.
std::string refusal(int partitions) {
  const DriverCalls driver = pretended();
  try {
    const DevicePartitions split(driver, 0, partitions, kHopper);
  } catch (const core::Error& e) {
    return e.what();
  }
  return "cut";
}

}  // namespace

TEST_CASE("partitions are as large as the granularity allows: 132 in eights make 8 x 16, 4 x 32, 2 x 64") {
  CHECK(partition_size(132, 1, kHopper) == 128);
  CHECK(partition_size(132, 2, kHopper) == 64);
  CHECK(partition_size(132, 3, kHopper) == 40);
  CHECK(partition_size(132, 4, kHopper) == 32);
  CHECK(partition_size(132, 8, kHopper) == 16);
  CHECK(partition_size(132, 16, kHopper) == 8);
  CHECK_THROWS_WITH_AS(partition_size(132, 17, kHopper),
                       "132 multiprocessors make at most 16 partitions of 8, not 17", core::BadInput);
  CHECK(partition_size(108, 27, {4, 2}) == 4);  // an A100
  CHECK(partition_size(108, 10, {4, 2}) == 10);
  CHECK_THROWS_AS(partition_size(108, 28, {4, 2}), core::BadInput);
}

TEST_CASE("granularity by compute capability, on both sides of each change") {
  CHECK(usual_granularity(90).least == 8);
  CHECK(usual_granularity(89).least == 4);
  CHECK(usual_granularity(80).step == 2);
  CHECK(usual_granularity(75).least == 2);
}

TEST_CASE("a device is cut by one split, one description and one context per partition") {
  device = {};
  const DriverCalls driver = pretended();
  {
    const DevicePartitions split(driver, 3, 2, kHopper);
    CHECK(device.log == std::vector<std::string>{"get 3", "resource of 103", "ask for 64", "split 2 of 64",
                                                 "describe 1 of 64", "create on 103", "describe 1 of 64",
                                                 "create on 103"});
    CHECK(split.multiprocessors() == 64);
    CHECK(device.alive.size() == 2);
    CHECK(split.at(0).make_stream() != split.at(1).make_stream());
  }
  CHECK(device.alive.empty());
}

#if CUDA_VERSION >= 13000
TEST_CASE("granularity of the driver has priority over the usual one") {
  device = {};
  device.block = 2;
  device.told_least = 4;
  device.told_step = 2;
  const DriverCalls driver = pretended();
  CHECK(DevicePartitions(driver, 0, 3, kHopper).multiprocessors() == 44);
}
#endif

TEST_CASE("where the driver makes fewer, smaller ones are tried") {
  device = {};
  device.most_in_full_number = 48;  // two of 64 do not fit: one
  const DriverCalls driver = pretended();
  CHECK(DevicePartitions(driver, 0, 2, kHopper).multiprocessors() == 48);
  CHECK(std::ranges::count(device.log, "split 2 of 48") == 1);
}

TEST_CASE("too many partitions, none of any size and unequal ones are refused") {
  device = {};
  CHECK(refusal(17) == "132 multiprocessors make at most 16 partitions of 8, not 17");
  CHECK(refusal(2'000'000'000) == "132 multiprocessors make at most 16 partitions of 8, not 2000000000");
  device.most_in_full_number = 1;
  CHECK(refusal(16) == "the driver makes no 16 equal partitions of 132 multiprocessors");
  device = {};
  device.unequal = true;
  CHECK(refusal(2) == "the driver made 2 partitions instead of 2 equal ones");
}

TEST_CASE("a call that fails is named, and what was made before is given back") {
  for (const auto& [call, name] :
       std::map<std::string, std::string>{{"get", "cuDeviceGet"},
                                          {"resource", "cuDeviceGetDevResource"},
                                          {"ask", "cuDevSmResourceSplitByCount"},
                                          {"split", "cuDevSmResourceSplitByCount"},
                                          {"describe", "cuDevResourceGenerateDesc"},
                                          {"create 1", "cuGreenCtxCreate"}}) {
    device = {};
    device.broken = call;
    CHECK(refusal(4) == name + ": it pretends");
    CHECK(device.alive.empty());
  }
}

TEST_CASE("a new user takes the partition with the fewest users, and gives it back") {
  device = {};
  const DriverCalls driver = pretended();
  DevicePartitions split(driver, 0, 3, kHopper);
  CHECK(split.take() == 0);
  CHECK(split.take() == 1);
  CHECK(split.take() == 2);
  CHECK(split.take() == 0);
  split.give_back(1);
  CHECK(split.take() == 1);
}
