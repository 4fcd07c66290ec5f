#pragma once
// Published claims compared with results: the paper's statement, our value, and a verdict by rule.

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

/// A closed interval; equal ends for a single number, infinite if open.
struct ClaimInterval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
/// Returns "1.61", "1.25 to 1.61", "at least 9" or "at most 60", with four digits.
std::string text(ClaimInterval interval);

/// Selects rows whose cell of each column is one of the texts.
using Selector = std::map<std::string, std::vector<std::string>>;

/// Reduction of many values: none (minimum to maximum), one of them, their mean, their number, or the share
/// above `Claim::even`.
enum class ValueReduction : std::uint8_t { all, max, min, mean, count, wins };
std::string_view name(ValueReduction reduction);
ValueReduction reduction(std::string_view name);  ///< throws BadInput for an unknown name

/// A number, or a range of numbers, from rows. Every row of `of` gives the value of its column. With `over`,
/// it is divided by the value of every row of `over` that agrees with it in `same`. With `best`, only rows of
/// `over` count that are the largest among those that differ only in this column. With `along`, values that
/// differ only in these columns are sorted by the first, and each except the first is divided by the one
/// before.
struct ClaimMeasure {
  std::string column;
  Selector of;
  std::optional<Selector> over;
  std::vector<std::string> same;     ///< empty: all axes that `over` does not state
  std::string best{};                ///< empty, or a column
  std::vector<std::string> along{};  ///< empty, or a column of numbers and the columns that change with it
  ValueReduction reduce = ValueReduction::all;
};

/// Drawing of a claim's values (claim_map.hpp): names of columns.
struct ClaimMap {
  std::string across, up;
  std::vector<std::string> panels;  ///< at most two: rows and columns of panels
};

struct Claim {
  std::string what;     ///< in words
  std::string source;   ///< paper, with its figure, table or section
  ClaimInterval paper;  ///< interval that the paper states
  ClaimMeasure measure;
  double tolerance = 0;        ///< share by which a number may differ from the paper's
  std::optional<double> even;  ///< neutral value: 1 for ratios
  std::string reason;          ///< established cause, shown if the claim is not reproduced
  std::optional<ClaimMap> map{};
};

enum class Verdict : std::uint8_t {
  reproduced,      ///< all our values lie in the paper's interval, widened by the tolerance
  same_direction,  ///< not all do, but all are on the paper's side of `even`
  not_reproduced,  ///< otherwise; also if the paper's interval is on no side of `even`
  ambiguous,       ///< there is no value, or values lie on both sides of `even` and the paper's on one
};
std::string_view name(Verdict verdict);

struct ClaimFinding {
  std::optional<ClaimInterval> ours;  ///< none: no row has a value
  std::size_t values = 0;             ///< number of values
  std::size_t missing = 0;            ///< number of values that rows without a value would add
  Verdict verdict = Verdict::ambiguous;
};

/// One of a claim's numbers.
struct ClaimValue {
  std::size_t row;  ///< row of `ClaimMeasure::of`
  double value;
};
/// Values of a claim before `along` and `reduce`. Throws like check.
std::vector<ClaimValue> values(const Claim& claim, const TextRows& rows);
/// Cell of a row. Throws BadInput for a column that rows do not have.
const std::string& text_of(const TextRows& rows, std::size_t row, const std::string& column);
/// True if a number lies in the paper's interval, widened by the tolerance.
bool holds(const Claim& claim, double value);

/// Throws BadInput for a column that rows do not have, and for a selector that matches no row's axes.
void check(const Claim& claim, const TextRows& rows);
/// Throws like check, and for two values at one place `along` a column.
ClaimFinding judge(const Claim& claim, const TextRows& rows);

/// One line per claim, in the form of to_csv; and the table for a terminal. Both need as many findings as
/// claims.
std::string claims_csv(std::span<const Claim> claims, std::span<const ClaimFinding> findings);
std::string claims_table(std::span<const Claim> claims, std::span<const ClaimFinding> findings);
/// JSON {"experiment": ..., "summary": ..., "claims": [...]}; open ends of intervals are null.
std::string claims_json(const std::string& experiment, const std::string& summary,
                        std::span<const Claim> claims, std::span<const ClaimFinding> findings);

}  // namespace penstock::report
