#include "penstock/report/claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "numbers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::report {
namespace {

using ClaimRow = std::vector<std::string>;

std::size_t index_of(const TextRows& rows, const std::string& column) {
  const auto it = std::find(rows.columns.begin(), rows.columns.end(), column);
  if (it == rows.columns.end())
    throw core::BadInput("unknown column '" + column + "'; " + core::did_you_mean(column, rows.columns));
  return static_cast<std::size_t>(it - rows.columns.begin());
}

const std::string& cell(const TextRows& rows, const ClaimRow& row, const std::string& column) {
  return row[index_of(rows, column)];
}

bool is_axis(const TextRows& rows, const std::string& column) {
  return std::find(rows.axes.begin(), rows.axes.end(), column) != rows.axes.end();
}

bool meets(const TextRows& rows, const ClaimRow& row, const Selector& selector, bool axes_only = false) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& entry) {
    const auto& [column, texts] = entry;
    if (axes_only && !is_axis(rows, column)) return true;
    return std::find(texts.begin(), texts.end(), cell(rows, row, column)) != texts.end();
  });
}

bool agree(const TextRows& rows, const ClaimRow& a, const ClaimRow& b,
           const std::vector<std::string>& columns) {
  return std::all_of(columns.begin(), columns.end(), [&](const std::string& column) {
    return cell(rows, a, column) == cell(rows, b, column);
  });
}

/// Columns in which the rows of a ratio agree.
std::vector<std::string> shared(const ClaimMeasure& measure, const TextRows& rows) {
  if (!measure.same.empty() || !measure.over) return measure.same;
  std::vector<std::string> out;
  for (const std::string& axis : rows.axes)
    if (!measure.over->contains(axis)) out.push_back(axis);
  return out;
}

/// Rows of `over`; among those that differ only in `best`, the one with the largest value.
std::vector<const ClaimRow*> bases(const ClaimMeasure& measure, const TextRows& rows) {
  std::vector<std::string> others = rows.axes;
  std::erase(others, measure.best);
  const auto value = [&](const ClaimRow& row) {
    return number(cell(rows, row, measure.column)).value_or(-INFINITY);
  };
  std::vector<const ClaimRow*> out;
  for (const ClaimRow& row : rows.cells) {
    if (!meets(rows, row, *measure.over)) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const ClaimRow* other) {
      return !measure.best.empty() && agree(rows, row, *other, others);
    });
    if (same == out.end())
      out.push_back(&row);
    else if (value(row) > value(**same))
      *same = &row;
  }
  return out;
}

struct RowValue {
  const ClaimRow* row;  ///< row of the numerator
  double value;
};

/// Values before `along`; `missing` counts those left out because a row has no number.
std::vector<RowValue> raw_values(const ClaimMeasure& measure, const TextRows& rows, std::size_t& missing) {
  std::vector<RowValue> out;
  const auto keep = [&](const ClaimRow& row, std::optional<double> value) {
    if (value && std::isfinite(*value))
      out.push_back({&row, *value});
    else
      ++missing;
  };
  const auto same = shared(measure, rows);
  const auto over = measure.over ? bases(measure, rows) : std::vector<const ClaimRow*>{};
  for (const ClaimRow& row : rows.cells) {
    if (!meets(rows, row, measure.of)) continue;
    const auto value = number(cell(rows, row, measure.column));
    if (!measure.over) keep(row, value);
    for (const ClaimRow* other : over) {
      if (!agree(rows, row, *other, same)) continue;
      const auto base = number(cell(rows, *other, measure.column));
      keep(row, value && base ? std::optional(*value / *base) : std::nullopt);
    }
  }
  return out;
}

/// Each value over the one before it along the first column, within rows that agree in all axes except the
/// columns.
std::vector<double> steps(const TextRows& rows, const std::vector<std::string>& columns,
                          std::vector<RowValue> values) {
  std::vector<std::string> others = rows.axes;
  for (const std::string& column : columns) std::erase(others, column);
  const std::string& along = columns.front();
  const auto place = [&](const RowValue& v) { return number(cell(rows, *v.row, along)).value_or(0); };
  std::stable_sort(values.begin(), values.end(),
                   [&](const RowValue& a, const RowValue& b) { return place(a) < place(b); });
  std::vector<double> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto next =
        std::find_if(values.begin() + static_cast<std::ptrdiff_t>(i) + 1, values.end(),
                     [&](const RowValue& v) { return agree(rows, *values[i].row, *v.row, others); });
    if (next == values.end()) continue;
    if (place(*next) == place(values[i]))
      throw core::BadInput(
          fmt::format("two values at {} {}: select fewer rows", along, cell(rows, *next->row, along)));
    out.push_back(next->value / values[i].value);
  }
  return out;
}

std::vector<double> plain(const std::vector<RowValue>& values) {
  std::vector<double> out;
  for (const RowValue& value : values) out.push_back(value.value);
  return out;
}

ClaimInterval reduced(ValueReduction how, const std::vector<double>& values, double even) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double sum = 0, wins = 0;
  for (const double value : values) sum += value, wins += value > even;
  switch (how) {
    case ValueReduction::all:
      return {*low, *high};
    case ValueReduction::max:
      return {*high, *high};
    case ValueReduction::min:
      return {*low, *low};
    case ValueReduction::mean:
      return {sum / count, sum / count};
    case ValueReduction::wins:
      return {wins / count, wins / count};
    case ValueReduction::count:
      break;
  }
  return {count, count};
}

/// Returns 1 above `even`, -1 below, 0 on both sides or at it.
int side(ClaimInterval interval, double even) {
  return interval.low > even ? 1 : interval.high < even ? -1 : 0;
}

/// Widens an interval; an open end stays open.
ClaimInterval widened(ClaimInterval interval, double tolerance) {
  if (std::isfinite(interval.low)) interval.low -= std::abs(interval.low) * tolerance;
  if (std::isfinite(interval.high)) interval.high += std::abs(interval.high) * tolerance;
  return interval;
}

bool within(const Claim& claim, ClaimInterval ours) {
  const ClaimInterval paper = widened(claim.paper, claim.tolerance);
  return ours.low >= paper.low && ours.high <= paper.high;
}

Verdict verdict(const Claim& claim, ClaimInterval ours) {
  if (within(claim, ours)) return Verdict::reproduced;
  const ValueReduction how = claim.measure.reduce;
  const bool counted =
      how == ValueReduction::count || how == ValueReduction::wins;  // these have no direction
  if (counted || !claim.even || side(claim.paper, *claim.even) == 0) return Verdict::not_reproduced;
  if (side(ours, *claim.even) == side(claim.paper, *claim.even)) return Verdict::same_direction;
  const bool both = ours.low < *claim.even && ours.high > *claim.even;
  return both ? Verdict::ambiguous : Verdict::not_reproduced;
}

void check_selector(const TextRows& rows, const Selector& selector) {
  for (const auto& [column, texts] : selector) index_of(rows, column);
  const auto met = [&](const ClaimRow& row) { return meets(rows, row, selector, true); };
  if (std::none_of(rows.cells.begin(), rows.cells.end(), met)) {
    std::string words;
    for (const auto& [column, texts] : selector)
      words += fmt::format(" {} {}", column, fmt::join(texts, " or "));
    throw core::BadInput("no row has" + words);
  }
}

constexpr std::array<std::string_view, 6> kReductions = {"all", "max", "min", "mean", "count", "wins"};

}  // namespace

std::string text(ClaimInterval interval) {
  if (interval.low == interval.high) return fmt::format("{:.4g}", interval.low);
  if (std::isinf(interval.high)) return fmt::format("at least {:.4g}", interval.low);
  if (std::isinf(interval.low)) return fmt::format("at most {:.4g}", interval.high);
  return fmt::format("{:.4g} to {:.4g}", interval.low, interval.high);
}

std::string_view name(ValueReduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}

ValueReduction reduction(std::string_view name) {
  return static_cast<ValueReduction>(core::index_of(name, kReductions, "reduction"));
}

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames = {"reproduced", "same direction", "not reproduced",
                                                      "ambiguous"};
  return kNames[static_cast<std::size_t>(verdict)];
}

void check(const Claim& claim, const TextRows& rows) {
  const ClaimMeasure& measure = claim.measure;
  index_of(rows, measure.column);
  for (const std::string& column : measure.same) index_of(rows, column);
  if (!measure.best.empty()) index_of(rows, measure.best);
  for (const std::string& column : measure.along) index_of(rows, column);
  check_selector(rows, measure.of);
  if (measure.over) check_selector(rows, *measure.over);
  if (!claim.map) return;
  for (const std::string* column : {&claim.map->across, &claim.map->up}) index_of(rows, *column);
  for (const std::string& column : claim.map->panels) index_of(rows, column);
}

std::vector<ClaimValue> values(const Claim& claim, const TextRows& rows) {
  check(claim, rows);
  std::size_t missing = 0;
  std::vector<ClaimValue> out;
  for (const RowValue& value : raw_values(claim.measure, rows, missing))
    out.push_back({static_cast<std::size_t>(value.row - rows.cells.data()), value.value});
  return out;
}

const std::string& text_of(const TextRows& rows, std::size_t row, const std::string& column) {
  return cell(rows, rows.cells[row], column);
}

bool holds(const Claim& claim, double value) {
  return within(claim, {value, value});
}

ClaimFinding judge(const Claim& claim, const TextRows& rows) {
  check(claim, rows);
  ClaimFinding out;
  const auto raw = raw_values(claim.measure, rows, out.missing);
  const auto values = claim.measure.along.empty() ? plain(raw) : steps(rows, claim.measure.along, raw);
  out.values = values.size();
  if (values.empty() && claim.measure.reduce != ValueReduction::count) return out;
  out.ours = reduced(claim.measure.reduce, values, claim.even.value_or(1));
  out.verdict = verdict(claim, *out.ours);
  return out;
}

}  // namespace penstock::report
