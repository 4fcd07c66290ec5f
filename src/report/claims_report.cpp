// Judged claims as CSV, JSON and a table.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "penstock/report/claim_map.hpp"
#include "penstock/report/claims.hpp"
#include "penstock/report/table.hpp"

namespace penstock::report {
namespace {

using Json = nlohmann::ordered_json;

std::string ours(const ClaimFinding& finding) {
  return finding.ours ? text(*finding.ours) : "";
}

/// Returns "12", or "9 of 12" if rows have no value.
std::string values(const ClaimFinding& finding) {
  const std::string count = std::to_string(finding.values);
  return finding.missing == 0 ? count : fmt::format("{} of {}", count, finding.values + finding.missing);
}

/// Reason, for claims that are not reproduced.
std::string reason(const Claim& claim, const ClaimFinding& finding) {
  return finding.verdict == Verdict::reproduced ? "" : claim.reason;
}

Json ends(ClaimInterval interval) {
  const auto end = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {end(interval.low), end(interval.high)};
}

Json json(const Claim& claim, const ClaimFinding& finding) {
  return {{"claim", claim.what},
          {"source", claim.source},
          {"paper", ends(claim.paper)},
          {"ours", finding.ours ? ends(*finding.ours) : Json()},
          {"values", finding.values},
          {"missing", finding.missing},
          {"tolerance", claim.tolerance},
          {"verdict", name(finding.verdict)},
          {"reason", reason(claim, finding)}};
}

}  // namespace

std::string claims_csv(std::span<const Claim> claims, std::span<const ClaimFinding> findings) {
  TextRows rows{{"claim", "source", "paper", "ours", "values", "verdict", "reason"}, {"claim"}, {}};
  for (std::size_t i = 0; i < claims.size(); ++i)
    rows.cells.push_back({claims[i].what, claims[i].source, text(claims[i].paper), ours(findings[i]),
                          values(findings[i]), std::string(name(findings[i].verdict)),
                          reason(claims[i], findings[i])});
  return to_csv(rows);
}

std::string claims_table(std::span<const Claim> claims, std::span<const ClaimFinding> findings) {
  Table table({{"claim"}, {"source"}, {"paper", Align::right}, {"ours", Align::right}, {"verdict"}});
  for (std::size_t i = 0; i < claims.size(); ++i)
    table.add({claims[i].what, claims[i].source, text(claims[i].paper), ours(findings[i]),
               std::string(name(findings[i].verdict))});
  return table.text();
}

std::string claims_json(const std::string& experiment, const std::string& summary,
                        std::span<const Claim> claims, std::span<const ClaimFinding> findings) {
  Json list = Json::array();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    list.push_back(json(claims[i], findings[i]));
    if (claims[i].map) list.back()["map"] = map_file(i);
  }
  const Json out = {{"experiment", experiment}, {"summary", summary}, {"claims", std::move(list)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace penstock::report
