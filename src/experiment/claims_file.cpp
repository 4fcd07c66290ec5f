#include "claims_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "at_node.hpp"
#include "penstock/core/files.hpp"
#include "penstock/report/claim_map.hpp"

namespace penstock::experiment {
namespace {

using core::Yaml;

constexpr double kTolerance = 0.1;  ///< default
constexpr std::size_t kMostClaims = 1000;

/// Parses a number, [low, high], {at_least: low} or {at_most: high}.
report::ClaimInterval read_interval(const Yaml& node) {
  report::ClaimInterval out;
  if (node.is_scalar()) return {node.number(), node.number()};
  if (node.is_list()) {
    const auto ends = node.items();
    if (ends.size() != 2 || ends[0].number() > ends[1].number()) node.fail("expected [low, high]");
    return {ends[0].number(), ends[1].number()};
  }
  node.only({"at_least", "at_most"});
  if (node.entries().size() != 1) node.fail("expected at_least or at_most");
  if (const auto low = node.find("at_least")) out.low = low->number();
  if (const auto high = node.find("at_most")) out.high = high->number();
  return out;
}

/// Parses one text or a list of texts.
std::vector<std::string> read_texts(const Yaml& node) {
  if (node.is_scalar()) return {node.text()};
  std::vector<std::string> out;
  for (const Yaml& item : node.items()) out.push_back(item.text());
  if (out.empty()) node.fail("expected at least one value");
  return out;
}

report::Selector read_selector(const Yaml& node) {
  report::Selector out;
  for (const auto& [column, texts] : node.entries()) out[column] = read_texts(texts);
  return out;
}

report::ClaimMeasure read_measure(const Yaml& node) {
  node.only({"column", "of", "over", "same", "best", "along", "reduce"});
  report::ClaimMeasure out;
  out.column = node.at("column").text();
  if (const auto of = node.find("of")) out.of = read_selector(*of);
  if (const auto over = node.find("over")) out.over = read_selector(*over);
  if (const auto same = node.find("same")) out.same = read_texts(*same);
  if (const auto best = node.find("best")) out.best = best->text();
  if (const auto along = node.find("along")) out.along = read_texts(*along);
  if (const auto reduce = node.find("reduce"))
    out.reduce = at_node(*reduce, [&] { return report::reduction(reduce->text()); });
  return out;
}

report::ClaimMap read_map(const Yaml& node) {
  node.only({"across", "up", "panels"});
  report::ClaimMap out{node.at("across").text(), node.at("up").text(), {}};
  constexpr std::size_t kMost = 2;
  if (const auto panels = node.find("panels")) {
    out.panels = read_texts(*panels);
    if (out.panels.size() > kMost) panels->fail("expected at most two columns");
  }
  return out;
}

report::Claim read_claim(const Yaml& node, const report::TextRows& rows) {
  node.only({"what", "source", "paper", "measure", "tolerance", "even", "reason", "map"});
  report::Claim out;
  out.what = node.at("what").text();
  out.source = node.at("source").text();
  out.paper = read_interval(node.at("paper"));
  out.measure = read_measure(node.at("measure"));
  if (out.measure.over || !out.measure.along.empty()) out.even = 1;
  if (const auto even = node.find("even")) out.even = even->number();
  const auto tolerance = node.find("tolerance");
  out.tolerance = tolerance ? tolerance->share() : kTolerance;
  if (const auto reason = node.find("reason")) out.reason = reason->text();
  at_node(node.at("measure"), [&] { report::check(out, rows); });
  if (const auto map = node.find("map")) {
    out.map = read_map(*map);
    at_node(*map, [&] { report::check(out, rows); });
  }
  return out;
}

bool is_map(const std::string& file) {
  for (std::size_t claim = 0; claim < kMostClaims; ++claim)
    if (file == report::map_file(claim)) return true;
  return false;
}

}  // namespace

std::vector<report::Claim> read_claims(const Yaml& root, const report::TextRows& rows) {
  std::vector<report::Claim> out;
  if (const auto list = root.find("claims"))
    for (const Yaml& node : list->items()) {
      if (out.size() == kMostClaims) list->fail(fmt::format("expected at most {} claims", kMostClaims));
      out.push_back(read_claim(node, rows));
    }
  return out;
}

void remove_claims(const std::string& folder) {
  std::error_code fault;
  for (const char* file : {"/claims.csv", "/claims.json"}) std::filesystem::remove(folder + file, fault);
  for (const auto& entry : std::filesystem::directory_iterator(folder, fault))
    if (is_map(entry.path().filename().string())) std::filesystem::remove(entry.path(), fault);
}

std::string write_claims(const std::string& folder, const std::string& experiment, const std::string& summary,
                         std::span<const report::Claim> claims, const report::TextRows& rows) {
  remove_claims(folder);
  if (claims.empty()) return "";
  std::vector<report::ClaimFinding> findings;
  for (const report::Claim& claim : claims) findings.push_back(report::judge(claim, rows));
  for (std::size_t i = 0; i < claims.size(); ++i)
    if (claims[i].map)
      core::write_file(folder + "/" + report::map_file(i), report::claim_map_svg(claims[i], rows));
  core::write_file(folder + "/claims.csv", report::claims_csv(claims, findings));
  core::write_file(folder + "/claims.json", report::claims_json(experiment, summary, claims, findings));
  return report::claims_table(claims, findings);
}

}  // namespace penstock::experiment
