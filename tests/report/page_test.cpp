#include "penstock/report/page.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "penstock/core/files.hpp"
#include "penstock/report/comparison.hpp"
#include "support/checkout.hpp"
#include "support/unpacked.hpp"

using namespace penstock;
using Json = nlohmann::json;

namespace {

report::CellResult row_of(const std::string& planner, std::optional<double> rate, std::int64_t devices = 4) {
  report::CellResult row;
  row.model = "mmt";
  row.cluster = "summit";
  row.planner = planner;
  row.devices = devices;
  row.mini_batch = 32;
  row.status = rate ? "ok" : "infeasible: no room";
  row.samples_per_s = rate;
  if (rate) row.iteration_s = 32 / *rate;
  return row;
}

report::Page page_of(const std::string& text) {
  report::Page page;
  page.title = page.summary = page.advice = text;
  report::CellResult row = row_of(text, 12.5);
  row.model = row.cluster = row.status = text;
  page.results.rows = {row};
  page.results.provenance.command = text;
  page.cells = {{"", text}};
  page.validation = {{text, 1, 0.9, 1.1, 1.05, 0.05}};
  page.claims = {{text, text, "1", "2", text, text}};
  return page;
}

report::Page page_of(std::vector<report::CellResult> rows) {
  report::Page page;
  page.results.rows = std::move(rows);
  page.cells.resize(page.results.rows.size());
  return page;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
  return out;
}

/// The data that the page's scripts read from an element.
Json packed_in(const std::string& html, const std::string& id) {
  const std::string head = "<script type=\"text/plain\" id=\"" + id + "\">";
  const std::size_t from = html.find(head);
  REQUIRE(from != html.npos);
  const std::size_t begin = from + head.size();
  return Json::parse(support::unpacked(html.substr(begin, html.find('<', begin) - begin)));
}

/// A column of the packed rows: its words, with its values as "values".
Json column(const Json& rows, const std::string& name) {
  for (std::size_t c = 0; c < rows["columns"].size(); ++c)
    if (rows["columns"][c]["name"] == name) {
      Json out = rows["columns"][c];
      out["values"] = rows["values"][c];
      return out;
    }
  return {};
}

}  // namespace

TEST_CASE("the page holds its style and every script as they are in the sources") {
  const std::string html = report::to_html(page_of("plain"));
  const std::string folder = support::checkout("/src/report/page/");
  for (const char* file : {"style.css", "elements.js", "values.js", "table.js", "bars.js", "chart.js",
                           "compare.js", "standings.js", "claims.js", "scatter.js", "stage_graph.js",
                           "stage_table.js", "timeline.js", "waterfall.js", "cell.js", "page.js"}) {
    CAPTURE(file);
    CHECK(count(html, core::read_file(folder + file)) == 1);
  }
  CHECK(count(html, "{{title}}") == 0);
  CHECK(count(html, "<title>plain</title>") == 1);
}

TEST_CASE("nothing in the page is fetched from elsewhere") {
  const std::string html = report::to_html(page_of("plain"));
  for (const char* reference : {" src=", "<link", "@import", "url(http", "fetch("})
    CHECK(count(html, reference) == 0);
  CHECK(count(html, "default-src 'none'") == 1);
}

TEST_CASE("names cannot open or close elements, at any place") {
  const std::string evil = "</script><img src=x onerror=\"alert(1)\">&{{script}}";
  const std::string plain = report::to_html(page_of("plain")), html = report::to_html(page_of(evil));
  CHECK(count(html, "<img") == 0);
  CHECK(count(html, "</script>") == count(plain, "</script>"));
  CHECK(count(html, "onerror=\"") == 0);
  // An inserted text is not a frame itself: the name's own {{script}} stays, the script is there once.
  CHECK(count(html, "&amp;{{script}}") == 5);  // title twice, summary, provenance, advice
  CHECK(count(html, "kMostListed = ") == 1);
  CHECK(column(packed_in(html, "rows-data"), "model")["values"][0] == evil);
  CHECK(packed_in(html, "rows-data")["notes"][0] == evil);
  CHECK(packed_in(html, "validation-data")[0]["plan"] == evil);
  CHECK(packed_in(html, "claims-data")[0]["reason"] == evil);
}

TEST_CASE("every column of the results is in the page, with words, kind and priority") {
  const Json rows =
      packed_in(report::to_html(page_of({row_of("spp", 12.5), row_of("piper", {})})), "rows-data");
  CHECK(rows["study"] == "plans");
  const Json rate = column(rows, "samples_per_s");
  CHECK(rate["title"] == "Samples/s");
  CHECK(rate["kind"] == "rate");
  CHECK(rate["values"] == Json::parse("[12.5, null]"));
  CHECK(column(rows, "iteration_s")["values"][0] == 2.56);
  CHECK(column(rows, "status")["values"][1] == "infeasible: no room");
  CHECK(column(rows, "schedule")["values"] == Json::parse("[null, null]"));
  const report::TextRows all = report::to_rows(page_of("plain").results.rows, true);
  for (const std::string& name : all.columns) CHECK_FALSE(column(rows, name).is_null());
  CHECK(rows["columns"].size() == all.columns.size());
}

TEST_CASE("the headline names the fastest planner, how often and by how much, and those without a plan") {
  const std::string html = report::to_html(
      page_of({row_of("spp", 10), row_of("graphpipe", 15), row_of("spp", 40, 8), row_of("graphpipe", 40, 8),
               row_of("spp", 90, 16), row_of("graphpipe", 95, 16), row_of("piper", {})}));
  CHECK(
      count(html,
            "<p class=\"headline\">graphpipe is fastest, or equal, on 3 of 3 problems; at most 1.50 times as "
            "fast as the next (spp, mmt on 4 devices of summit, mini-batch 32).</p>") == 1);
  CHECK(count(html, "6 of 7 rows have a plan; 1 without: 1 infeasible.") == 1);
}

TEST_CASE("planners that are fastest as often share the headline") {
  const auto html = [](int count) {
    std::vector<report::CellResult> rows = {row_of("spp", 5)};
    for (int i = 0; i < count; ++i) rows.push_back(row_of("p" + std::to_string(i), 10));
    return report::to_html(page_of(rows));
  };
  CHECK(count(html(2), "p0 and p1 are fastest, equally fast.</p>") == 1);
  CHECK(count(html(3), "p0, p1 and p2 are fastest, equally fast.</p>") == 1);
  CHECK(count(html(4), "p0, p1 and 2 more are fastest, equally fast.</p>") == 1);
  CHECK(count(report::to_html(page_of({row_of("p0", 10), row_of("p1", 10)})),
              "p0 and p1 are equally fast.</p>") == 1);
  CHECK(count(report::to_html(
                  page_of({row_of("p0", 10), row_of("p1", 10), row_of("p0", 9, 8), row_of("p1", 9, 8)})),
              "p0 and p1 are each fastest, or equal, on 2 of 2 problems.</p>") == 1);
}

TEST_CASE("one planner is not compared, and one row is no plural") {
  const std::string html = report::to_html(page_of({row_of("spp", 10)}));
  CHECK(count(html, "fastest, or equal") == 0);
  CHECK(count(html, "<p class=\"headline\">All 1 row has a plan.</p>") == 0);
  CHECK(count(html, "<p class=\"headline\">-: 10.0 samples/s, 3.20 s per iteration, ") == 1);
  const std::string pair = report::to_html(page_of({row_of("spp", 10), row_of("graphpipe", 12.5)}));
  CHECK(count(pair,
              "<p class=\"headline\">graphpipe is fastest: 1.25 times as fast as the next (spp).</p>") == 1);
}

TEST_CASE("a study of schedules has its own columns and headline") {
  report::Page page;
  page.schedules = {{"schedule", "pipeline", "ranks", "micro_batches", "bubble", "status"},
                    {"schedule", "pipeline", "ranks", "micro_batches"},
                    {{"1f1b", "1.5", "8", "24", "0.25", "ok"},
                     {"zb_2p", "1.5", "8", "24", "0.04", "ok"},
                     {"zb_h1", "1.5", "8", "24", "", "bad input: no room"}}};
  const std::string html = report::to_html(page);
  const Json rows = packed_in(html, "rows-data");
  CHECK(rows["study"] == "schedules");
  CHECK(column(rows, "bubble")["values"] == Json::parse("[0.25, 0.04, null]"));
  CHECK(column(rows, "pipeline")["values"][0] == "1.5");  // a name that looks like a number stays a name
  CHECK(count(html, "zb_2p has the smallest bubble, or the same, on 1 of 1 pipelines.") == 1);
  CHECK(count(html, "2 of 3 rows have a bubble; 1 without: 1 bad input.") == 1);
}

TEST_CASE("subject of the experiment and verdicts of claims come first") {
  report::Page page = page_of({row_of("spp", 10)});
  page.summary = "rows < graphs";
  page.claims = {{"c", "s", "1", "1", "reproduced", ""}, {"d", "s", "1", "2", "not reproduced", "why"}};
  const std::string html = report::to_html(page);
  CHECK(count(html, "<p class=\"summary\">rows &lt; graphs</p>") == 1);
  CHECK(count(html, "Of 2 published claims: 1 reproduced, 1 not reproduced.") == 1);
  CHECK(html.find("rows &lt; graphs") < html.find("id=\"charts\""));
  CHECK(html.find("id=\"charts\"") < html.find("id=\"results\""));
}

TEST_CASE("a row has drawings only where there is data") {
  report::Page page = page_of({row_of("spp", 10), row_of("graphpipe", 12)});
  page.cells[1].data = "QUJD";
  const std::string html = report::to_html(page);
  CHECK(count(html, "<script type=\"text/plain\" id=\"data-1\">QUJD</script>") == 1);
  CHECK(count(html, "id=\"data-0\"") == 0);
}

TEST_CASE("a page of many rows stays small") {
  std::vector<report::CellResult> rows;
  for (int i = 0; i < 2000; ++i) {
    report::CellResult row = row_of("planner " + std::to_string(i % 7), 10 + 0.37 * i, 4 << i % 5);
    row.status = i % 3 ? "ok" : "timed out: the best plan found until then";
    rows.push_back(row);
  }
  const std::size_t small = report::to_html(page_of({row_of("spp", 10)})).size();
  CHECK(report::to_html(page_of(rows)).size() - small < 2000 * 60);  // 64,000 rows of sixty bytes are 4 MB
}

TEST_CASE("rows have their ratio to the baseline, and search times have a note that cells shared the cores") {
  report::Page page = page_of({row_of("spp", 10), row_of("graphpipe", 12.5)});
  page.results.baseline = "spp";
  report::add_ratios(page.results.rows, "spp");
  for (report::CellResult& row : page.results.rows) row.search_s = 1;
  const Json rows = packed_in(report::to_html(page), "rows-data");
  CHECK(column(rows, "ratio")["values"] == Json::parse("[null, 1.25]"));
  CHECK(column(rows, "ratio")["meaning"] == "throughput over that of spp on the same problem");
  CHECK(column(rows, "search_s").contains("caveat"));
  for (report::CellResult& row : page.results.rows) row.search_memory_bytes = 1;
  CHECK_FALSE(column(packed_in(report::to_html(page), "rows-data"), "search_s").contains("caveat"));
}
