#pragma once
// Quantities as people write them: "12.5GB/s", "16GiB", "3us", "15.7TFLOP/s".

#include <optional>
#include <string>
#include <string_view>

#include "penstock/core/units.hpp"

namespace penstock::core {

/// Each parser takes a non-negative number and a unit, with or without a blank between. Decimal prefixes (k M
/// G T P) and, for bytes, binary ones (Ki Mi Gi Ti) are allowed. Returns nothing without a unit, or beyond
/// the bounds given here; within them, sums, products and quotients of a plan's quantities stay finite.
std::optional<Seconds> parse_seconds(std::string_view text);      ///< ps ns us ms s min h; to 10^7 s
std::optional<Bytes> parse_bytes(std::string_view text);          ///< B kB KiB MB MiB ...; to 2^60 B
std::optional<Bandwidth> parse_bandwidth(std::string_view text);  ///< B/s ... GB/s, Gb/s; to 10^18 B/s
std::optional<FlopRate> parse_flop_rate(std::string_view text);   ///< FLOP/s ... TFLOP/s; to 10^18 FLOP/s
std::optional<double> parse_share(std::string_view text);         ///< "10%" is 0.1; to 10^6

/// Short human forms with three significant digits: "1.50 GiB", "37.2 ms".
std::string show(Bytes bytes);
std::string show(Seconds time);
/// Formats a share as a percentage: 0.1234 becomes "12.3 %".
std::string show_share(double share);

}  // namespace penstock::core
