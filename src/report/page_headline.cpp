#include "page_headline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "shown.hpp"

namespace penstock::report {
namespace {

/// A result on one problem; the larger score is better.
struct ProblemScore {
  std::string name, problem;
  std::optional<double> score;
};

struct ScoreStandings {
  std::set<std::string> names;
  std::map<std::string, std::vector<const ProblemScore*>> problems;
  std::map<std::string, std::size_t> firsts;  ///< number of problems on which no other score is larger
};

bool reaches(double score, double best) {
  constexpr double kRounding = 1e-9;
  return score >= best - kRounding * std::abs(best);
}

ScoreStandings standings(const std::vector<ProblemScore>& entries) {
  ScoreStandings out;
  for (const ProblemScore& entry : entries) {
    out.names.insert(entry.name);
    if (entry.score) out.problems[entry.problem].push_back(&entry);
  }
  for (const auto& [problem, all] : out.problems) {
    double best = *all.front()->score;
    for (const ProblemScore* entry : all) best = std::max(best, *entry->score);
    std::set<std::string> first;
    for (const ProblemScore* entry : all)
      if (reaches(*entry->score, best)) first.insert(entry->name);
    for (const std::string& name : first) ++out.firsts[name];
  }
  return out;
}

/// Names that are first most often; there may be several.
std::vector<std::string> leaders(const ScoreStandings& standings) {
  std::size_t most = 0;
  for (const auto& [name, times] : standings.firsts) most = std::max(most, times);
  std::vector<std::string> out;
  for (const auto& [name, times] : standings.firsts)
    if (times == most) out.push_back(name);
  return out;
}

/// Returns "graphpipe is" or "dapple, megatron and 2 more are each", with these verbs.
std::string subject(const std::vector<std::string>& names, std::string_view one, std::string_view several) {
  constexpr std::size_t kNamed = 3;
  if (names.size() == 1) return fmt::format("{} {}", names.front(), one);
  if (names.size() > kNamed)
    return fmt::format("{}, {} and {} more {}", names[0], names[1], names.size() - 2, several);
  const auto last = names.end() - 1;
  return fmt::format("{} and {} {}", fmt::join(names.begin(), last, ", "), *last, several);
}

/// Largest lead of a leader over the next.
struct ScoreLead {
  double times = 0;
  const ProblemScore* next = nullptr;
};
ScoreLead largest_lead(const ScoreStandings& standings, const std::string& name) {
  ScoreLead out;
  for (const auto& [problem, all] : standings.problems) {
    double own = 0;
    const ProblemScore* next = nullptr;
    for (const ProblemScore* entry : all)
      if (entry->name == name)
        own = std::max(own, *entry->score);
      else if (!next || *entry->score > *next->score)
        next = entry;
    if (next && *next->score > 0 && own / *next->score > out.times) out = {own / *next->score, next};
  }
  return out;
}

std::string problem_text(const CellResult& row) {
  return fmt::format("{} on {} devices of {}, mini-batch {}{}", row.model, row.devices, row.cluster,
                     row.mini_batch, row.setting.empty() ? "" : ", " + row.setting);
}

/// Sentence on the fastest of a single problem.
std::string fastest_of_one(const ScoreStandings& all, const std::string& first) {
  const ScoreLead lead = largest_lead(all, first);
  if (lead.times <= 1) return first + " is fastest.";
  return fmt::format("{} is fastest: {:.2f} times as fast as the next ({}).", first, lead.times,
                     lead.next->name);
}

/// Sentence on the only plan.
std::string only_plan(const CellResult& row) {
  return fmt::format("{}: {:.1f} samples/s, {} per iteration, {} on the fullest device.",
                     shown::text(row.strategy), row.samples_per_s.value_or(0), shown::time(row.iteration_s),
                     shown::bytes(row.peak_memory_bytes));
}

std::string planners(const std::vector<CellResult>& rows) {
  std::vector<ProblemScore> entries;
  for (const CellResult& row : rows) entries.push_back({row.planner, problem_text(row), row.samples_per_s});
  const ScoreStandings all = standings(entries);
  if (all.names.size() < 2 || all.firsts.empty()) return "";
  const std::vector<std::string> first = leaders(all);
  if (all.problems.size() == 1 && first.size() == 1) return fastest_of_one(all, first.front());
  if (all.problems.size() == 1)
    return subject(first, "is", "are") +
           (first.size() == all.names.size() ? " equally fast." : " fastest, equally fast.");
  std::string out =
      fmt::format("{} fastest, or equal, on {} of {} problems", subject(first, "is", "are each"),
                  all.firsts.at(first.front()), all.problems.size());
  if (first.size() > 1) return out + ".";
  const ScoreLead lead = largest_lead(all, first.front());
  if (lead.times <= 1) return out + ".";
  return out + fmt::format("; at most {:.2f} times as fast as the next ({}, {}).", lead.times,
                           lead.next->name, lead.next->problem);
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Sentence on the number of rows, and the reasons why some have no result.
std::string rows_without(std::size_t count, std::string_view what,
                         const std::map<std::string, std::size_t>& reasons) {
  std::size_t without = 0;
  std::vector<std::string> parts;
  for (const auto& [reason, times] : reasons) {
    without += times;
    parts.push_back(fmt::format("{} {}", times, reason));
  }
  if (without == 0 && count == 1) return fmt::format("The row has a {}.", what);
  if (without == 0) return fmt::format("All {} rows have a {}.", count, what);
  return fmt::format("{} of {} have a {}; {} without: {}.", count - without, plural(count, "row"), what,
                     without, fmt::join(parts, ", "));
}

std::string failures(const std::vector<CellResult>& rows) {
  std::map<std::string, std::size_t> reasons;
  for (const CellResult& row : rows)
    if (!row.iteration_s) ++reasons[shown::status(row)];
  return rows_without(rows.size(), "plan", reasons);
}

/// Cells of a text table by column.
class CellReader {
 public:
  explicit CellReader(const TextRows& rows) : rows_(rows) {}
  std::string text(const std::vector<std::string>& cells, std::string_view column) const {
    const auto at = std::find(rows_.columns.begin(), rows_.columns.end(), column);
    return at == rows_.columns.end() ? "" : cells.at(static_cast<std::size_t>(at - rows_.columns.begin()));
  }
  std::optional<double> number(const std::vector<std::string>& cells, std::string_view column) const {
    const std::string cell = text(cells, column);
    double out = 0;
    const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), out);
    return fault == std::errc() && end == cell.data() + cell.size() ? std::optional(out) : std::nullopt;
  }

 private:
  const TextRows& rows_;
};

std::vector<std::string> schedules(const TextRows& rows) {
  const CellReader reader(rows);
  std::vector<ProblemScore> entries;
  std::map<std::string, std::size_t> reasons;
  for (const auto& cells : rows.cells) {
    const auto bubble = reader.number(cells, "bubble");
    const std::string status = reader.text(cells, "status");
    if (!bubble) ++reasons[status.substr(0, status.find(':'))];
    entries.push_back({reader.text(cells, "schedule"),
                       fmt::format("{}, {} ranks, {} micro-batches", reader.text(cells, "pipeline"),
                                   reader.text(cells, "ranks"), reader.text(cells, "micro_batches")),
                       bubble ? std::optional(-*bubble) : std::nullopt});
  }
  const ScoreStandings all = standings(entries);
  std::vector<std::string> out;
  if (all.names.size() > 1 && !all.firsts.empty())
    out.push_back(fmt::format("{} the smallest bubble, or the same, on {} of {} pipelines.",
                              subject(leaders(all), "has", "each have"), all.firsts.at(leaders(all).front()),
                              all.problems.size()));
  out.push_back(rows_without(rows.cells.size(), "bubble", reasons));
  return out;
}

std::string verdicts(const std::vector<PageClaim>& claims) {
  std::map<std::string, std::size_t> count;
  for (const PageClaim& claim : claims) ++count[claim.verdict];
  std::vector<std::string> parts;
  for (const char* verdict : {"reproduced", "same direction", "not reproduced", "ambiguous"})
    if (count.contains(verdict)) parts.push_back(fmt::format("{} {}", count[verdict], verdict));
  return fmt::format("Of {}: {}.", plural(claims.size(), "published claim"), fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> headline(const Page& page) {
  std::vector<std::string> out;
  const auto& rows = page.results.rows;
  if (!page.schedules.cells.empty()) out = schedules(page.schedules);
  if (rows.size() == 1 && rows.front().iteration_s)
    out = {page.winner.empty() ? only_plan(rows.front()) : page.winner};
  else if (!rows.empty())
    out = {page.winner.empty() ? planners(rows) : page.winner, failures(rows)};
  if (!page.claims.empty()) out.push_back(verdicts(page.claims));
  std::erase(out, "");
  return out;
}

}  // namespace penstock::report
