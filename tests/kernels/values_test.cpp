#include "penstock/kernels/values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/half.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/devices.hpp"

using namespace penstock;
using kernels::Element;
using Values = std::vector<double>;

namespace {

Values through(Element element, const Values& values) {
  const auto host = kernels::open_device("host", 1);
  const auto buffer = host->allocate(element, std::ssize(values));
  kernels::write_values(*host, *buffer, values);
  return kernels::read_values(*host, *buffer);
}

}  // namespace

TEST_CASE("values are rounded to the nearest number of the buffer, ties to even") {
  // bf16 near 1 counts in steps of 1/128, fp16 in 1/1024.
  CHECK(through(Element::bf16, {1 + 1.0 / 256, 1 + 3.0 / 256, 1 + 1.1 / 256}) ==
        Values{1, 1 + 4.0 / 256, 1 + 2.0 / 256});
  CHECK(through(Element::fp16, {1 + 1.0 / 2048, 1 + 3.0 / 2048, -1.5}) == Values{1, 1 + 4.0 / 2048, -1.5});
  CHECK(through(Element::fp32, {0.1, -2}) == Values{static_cast<double>(0.1f), -2});
  CHECK(through(Element::int64, {-3, 9007199254740991.0}) == Values{-3, 9007199254740991.0});
}

TEST_CASE("fp16 ends at 65504, and reaches down to 2^-24") {
  CHECK(through(Element::fp16, {65504, 65519, 65520}) ==
        Values{65504, 65504, std::numeric_limits<double>::infinity()});
  CHECK(through(Element::fp16, {0x1p-24, 0x1p-25, 0x1.8p-25}) == Values{0x1p-24, 0, 0x1p-24});
  CHECK(through(Element::fp16, {0x1.ffep-15}) == Values{0x1p-14});  // carries into the first normal number
}

TEST_CASE("every 16-bit number survives being read and written") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(kernels::from_bf16(half))) CHECK(kernels::to_bf16(kernels::from_bf16(half)) == half);
    if (!std::isnan(kernels::from_fp16(half))) CHECK(kernels::to_fp16(kernels::from_fp16(half)) == half);
  }
}

TEST_CASE("poison is not a number, random values are not zeros, and the same by seed") {
  const auto host = kernels::open_device("host", 1);
  for (const Element element : {Element::fp32, Element::bf16, Element::fp16}) {
    const auto buffer = host->allocate(element, 50);
    kernels::poison(*host, *buffer);
    for (const double v : kernels::read_values(*host, *buffer)) CHECK(std::isnan(v));
    kernels::write_random(*host, *buffer, 1, 2, 3);
    const Values first = kernels::read_values(*host, *buffer);
    for (const double v : first) CHECK((v >= 2 && v <= 3));
    kernels::write_random(*host, *buffer, 1, 2, 3);
    CHECK(kernels::read_values(*host, *buffer) == first);
    kernels::write_random(*host, *buffer, 2, 2, 3);
    CHECK(kernels::read_values(*host, *buffer) != first);
  }
}

TEST_CASE("number formats have names") {
  for (const auto n : {kernels::Precision::fp32, kernels::Precision::tf32, kernels::Precision::bf16,
                       kernels::Precision::fp16})
    CHECK(kernels::precision(kernels::name(n)) == n);
  CHECK_THROWS_AS(kernels::precision("fp8"), core::BadInput);
  CHECK(kernels::storage(kernels::Precision::tf32) == Element::fp32);
}

TEST_CASE("numbers in fp32 go into buffers of every element, and come back as these hold them") {
  const auto host = kernels::open_device("host", 1);
  std::vector<float> given(9001), found(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = 1.0f / static_cast<float>(i + 1);
  for (const Element element : {Element::fp32, Element::bf16, Element::fp16}) {
    const auto buffer = host->allocate(element, std::ssize(given));
    kernels::write_floats(*host, *buffer, given);
    kernels::read_floats(*host, *buffer, found);
    const Values held = kernels::read_values(*host, *buffer);
    CHECK(std::equal(found.begin(), found.end(), held.begin(), held.end()));
    if (element == Element::fp32) CHECK(found == given);
    if (element == Element::bf16) CHECK(found[2] == kernels::from_bf16(kernels::to_bf16(given[2])));
    CHECK_THROWS_AS(kernels::write_floats(*host, *buffer, std::span(given).first(5)), core::Error);
  }
}

TEST_CASE("values that are not in memory are produced piece by piece, also into buffers of another element") {
  const auto host = kernels::open_device("host", 1);
  const std::int64_t count = 10001;
  const auto wide = host->allocate(Element::fp32, count), narrow = host->allocate(Element::bf16, count);
  kernels::write_pieces(*host, *narrow, [](std::int64_t begin, std::span<double> out) {
    for (double& value : out) value = static_cast<double>(begin++) + 0.25;
  });
  kernels::write_values(*host, *wide, *narrow);
  const Values found = kernels::read_values(*host, *wide);
  CHECK(found == kernels::read_values(*host, *narrow));
  for (const std::size_t i : {0u, 100u, 4095u, 4096u, 10000u})
    CHECK(found[i] ==
          static_cast<double>(kernels::from_bf16(kernels::to_bf16(static_cast<float>(i) + 0.25f))));
  CHECK_THROWS_AS(kernels::write_values(*host, *host->allocate(Element::fp32, 3), *narrow), core::Error);
}
