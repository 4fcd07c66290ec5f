#pragma once
// Published claims, held against results: what a paper states, what came out here, and a verdict by rule.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/report/rows.hpp"

namespace penstock::report {

/// Both ends belong to it; equal for a single number, infinite where it is open.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
/// "1.61", "1.25 to 1.61", "at least 9", "at most 60", in four digits.
std::string text(Interval interval);

/// Rows whose cell of each column is one of the texts.
using Selector = std::map<std::string, std::vector<std::string>>;

/// What becomes of many values: from the least to the greatest, one of them, their mean, how many there are,
/// or the share above `Claim::even`.
enum class Reduction : std::uint8_t { all, max, min, mean, count, wins };
std::string_view name(Reduction reduction);
Reduction reduction(std::string_view name);  ///< throws BadInput for an unknown name

/// A number, or a range of numbers, out of rows. Every row of `of` gives the value of its column; with
/// `over`, divided by that of every row of `over` that agrees with it in `same`; with `best`, only rows of
/// `over` count that no other beats which differs in this column alone. With `along`, values that differ in
/// these columns alone are put in the order of the first, and each but the first is divided by the one
/// before.
struct Measure {
  std::string column;
  Selector of;
  std::optional<Selector> over;
  std::vector<std::string> same;     ///< empty: all axes that `over` does not name
  std::string best{};                ///< empty, or a column
  std::vector<std::string> along{};  ///< empty, or a column of numbers and those that change with it
  Reduction reduce = Reduction::all;
};

/// How a claim's values are drawn (claim_map.hpp): names of columns.
struct ClaimMap {
  std::string across, up;
  std::vector<std::string> panels;  ///< at most two: the panels' rows, and their columns
};

struct Claim {
  std::string what;    ///< in words
  std::string source;  ///< paper, and the figure, table or section in it
  Interval paper;      ///< interval that the paper states
  Measure measure;
  double tolerance = 0;        ///< share by which a number may miss the paper's
  std::optional<double> even;  ///< the value that speaks for neither side: 1 for ratios
  std::string reason;          ///< established cause, shown where the claim is not reproduced
  std::optional<ClaimMap> map{};
};

enum class Verdict : std::uint8_t {
  reproduced,      ///< all of ours lies in the paper's interval, widened by the tolerance
  same_direction,  ///< it does not, but all of it is on the paper's side of `even`
  not_reproduced,  ///< neither; also where the paper's interval is on no side of `even`
  ambiguous,       ///< there is no value, or values lie on both sides of `even` and the paper's on one
};
std::string_view name(Verdict verdict);

struct Finding {
  std::optional<Interval> ours;  ///< none: no row had a value
  std::size_t values = 0;        ///< how many it is made of
  std::size_t missing = 0;       ///< how many more there would be if every row had a value
  Verdict verdict = Verdict::ambiguous;
};

/// One of the numbers that a claim is made of.
struct ClaimValue {
  std::size_t row;  ///< of `Measure::of`
  double value;
};
/// Values of a claim before `along` and `reduce`. Throws as check.
std::vector<ClaimValue> values(const Claim& claim, const Rows& rows);
/// What a row has in a column. Throws BadInput for a column that rows do not have.
const std::string& text_of(const Rows& rows, std::size_t row, const std::string& column);
/// Whether a number lies in what the paper states, widened by the tolerance.
bool holds(const Claim& claim, double value);

/// Throws BadInput for a column that rows do not have, and for a selector that no row's axes meet.
void check(const Claim& claim, const Rows& rows);
/// Throws as check, and for two values at one place `along` a column.
Finding judge(const Claim& claim, const Rows& rows);

/// One line per claim, as to_csv writes; and the table of a terminal. Both take as many findings as claims.
std::string claims_csv(std::span<const Claim> claims, std::span<const Finding> findings);
std::string claims_table(std::span<const Claim> claims, std::span<const Finding> findings);
/// {"experiment": ..., "summary": ..., "claims": [...]}; open ends of intervals are null.
std::string claims_json(const std::string& experiment, const std::string& summary,
                        std::span<const Claim> claims, std::span<const Finding> findings);

}  // namespace penstock::report
