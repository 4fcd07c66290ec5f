#include "penstock/core/quantity_text.hpp"

#include <doctest/doctest.h>

#include "support/near.hpp"

using namespace penstock::core;

TEST_CASE("a quantity is a number and a unit; a bare number is refused") {
  CHECK(parse_bytes("16GiB") == Bytes(17179869184));
  CHECK(parse_bytes("1.5 kB") == Bytes(1500));
  CHECK(!parse_bytes("16"));
  CHECK(!parse_bytes("16 gib"));
  CHECK(!parse_bytes("-1B"));
  CHECK(!parse_bytes("nanB"));
  CHECK(!parse_bytes("1e300TB"));
  CHECK(parse_seconds("3us")->value() == penstock::support::near(3e-6));
  CHECK(!parse_seconds("3 u s"));
  CHECK(parse_seconds("2777h"));   // 9,997,200 s
  CHECK(!parse_seconds("2778h"));  // 10,000,800 s
  // EDR InfiniBand: 100 gigabits per second are 12.5 gigabytes per second.
  CHECK(parse_bandwidth("100Gb/s") == parse_bandwidth("12.5GB/s"));
  CHECK(parse_flop_rate("15.7TFLOP/s")->value() == penstock::support::near(15.7e12));
  CHECK(parse_share("12.5 %") == 0.125);
  CHECK(!parse_share("0.1"));
}

TEST_CASE("a share is shown in percent") {
  CHECK(show_share(0.1234) == "12.3 %");
  CHECK(show_share(-1) == "-100.0 %");
}

TEST_CASE("no quantity is so large that what follows from it is no number") {
  CHECK(parse_bandwidth("1e9GB/s") == Bandwidth(1e18));
  CHECK(!parse_bandwidth("1.001e9GB/s"));
  CHECK(!parse_bandwidth("1e308GB/s"));
  CHECK(parse_flop_rate("1000PFLOP/s") == FlopRate(1e18));
  CHECK(!parse_flop_rate("1001PFLOP/s"));
  CHECK(!parse_flop_rate("1e308FLOP/s"));
  CHECK(!parse_flop_rate("infFLOP/s"));
  CHECK(parse_bytes("1048576TiB") == Bytes(std::int64_t{1} << 60));
  CHECK(!parse_bytes("1048577TiB"));
  CHECK(parse_share("1e8%") == 1e6);
  CHECK(!parse_share("1.1e8%"));
}

TEST_CASE("quantities are shown with three digits") {
  CHECK(show(Bytes(1610612736)) == "1.50 GiB");
  CHECK(show(Bytes(17)) == "17.0 B");
  CHECK(show(Seconds(0.0372)) == "37.2 ms");
  CHECK(show(Seconds(0)) == "0.00 ns");
}
