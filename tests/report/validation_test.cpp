#include "penstock/report/validation.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"

using namespace penstock;

namespace {

const std::string kHeader = "plan,measured_s,measured_low_s,measured_high_s,simulated_s,error";

std::string fault(const std::string& text) {
  try {
    report::parse_validation(text, "v.csv");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a row per plan; quotes, more columns, and line ends of either kind are understood") {
  const auto rows = report::parse_validation(
      kHeader + ",note\r\n\"a, \"\"b\"\"\",2,1.5,2.5,2.2,0.1,x\r\nc,1e-3,1e-3,1e-3,5e-4,-0.5,\n", "v.csv");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].plan == "a, \"b\"");
  CHECK(rows[0].measured_s == 2);
  CHECK(rows[0].measured_low_s == 1.5);
  CHECK(rows[0].measured_high_s == 2.5);
  CHECK(rows[0].simulated_s == 2.2);
  CHECK(rows[1].plan == "c");
  CHECK(rows[1].simulated_s == 5e-4);
  CHECK(rows[1].error == -0.5);
  CHECK(report::parse_validation(kHeader, "v.csv").empty());
}

TEST_CASE("faults name file, line and column") {
  CHECK(fault("plan,time\na,1\n").find("v.csv:1") == 0);
  CHECK(fault(kHeader + "\na,1,1,1,1,0\nb,1,1,1,fast,0\n").find("v.csv:3: simulated_s: expected a number") ==
        0);
  CHECK(fault(kHeader + "\na,0,1,1,1,0\n").find("v.csv:2: measured_s: expected a time above zero") == 0);
  CHECK(fault(kHeader + "\na,1,1\n").find("v.csv:2: measured_high_s") == 0);
  CHECK(fault(kHeader + "\na,1,1,1,1,nan\n").find("v.csv:2: error") == 0);
}
