#include "penstock/report/page.hpp"

#include <doctest/doctest.h>

#include "penstock/core/files.hpp"

using namespace penstock;

namespace {

report::Page page_of(const std::string& text) {
  report::Page page;
  page.title = text;
  report::CellResult row;
  row.model = row.cluster = row.planner = row.status = text;
  row.devices = 4;
  row.mini_batch = 32;
  row.samples_per_s = 12.5;
  row.iteration_s = 2.56;
  page.results.rows = {row};
  page.results.provenance.command = text;
  page.cells = {{"", text}};
  page.validation = {{text, 1, 0.9, 1.1, 1.05, 0.05}};
  return page;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
  return out;
}

}  // namespace

TEST_CASE("the page holds its style and every script as they are in the sources") {
  const std::string html = report::to_html(page_of("plain"));
  const std::string folder = PENSTOCK_SOURCE "/src/report/page/";
  for (const char* file : {"style.css", "elements.js", "table.js", "bars.js", "planners.js", "scatter.js",
                           "stage_graph.js", "timeline.js", "cell.js", "page.js"}) {
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

TEST_CASE("names cannot open or close elements, wherever they stand") {
  const std::string evil = "</script><img src=x onerror=\"alert(1)\">&{{script}}";
  const std::string plain = report::to_html(page_of("plain")), html = report::to_html(page_of(evil));
  CHECK(count(html, "<img") == 0);
  CHECK(count(html, "</script>") == count(plain, "</script>"));
  CHECK(count(html, "onerror=\"") == 0);
  // What is put in is not a frame itself: the name's own {{script}} stays, the script is there once.
  CHECK(count(html, "&amp;{{script}}") >= 5);
  CHECK(count(html, "kMostPrinted = ") == 1);
  // In JSON the same text is spelled without "<", and reads back equal.
  CHECK(count(html, "\\u003c/script>\\u003cimg src=x onerror=\\\"alert(1)\\\">") >= 5);
}

TEST_CASE("the table carries numbers to sort by, and a dash without one where there is no value") {
  report::Page page = page_of("plain");
  const std::string html = report::to_html(page);
  CHECK(count(html, R"(<td><a href="#cell-0">plain</a></td>)") == 1);
  CHECK(count(html, R"(<td class="number" data-value="12.5">12.5</td>)") == 1);
  CHECK(count(html, R"(<td class="number" data-value="2.56">2.56 s</td>)") == 1);
  CHECK(count(html, R"(<td class="number">-</td>)") == 8);  // 12 columns of numbers, 4 of them known
}

TEST_CASE("a page without rows, such as that of a validation, shows neither table nor plans") {
  const auto hidden = [](const report::Page& page) {
    return count(report::to_html(page), "<section hidden>\n<h2>Results") +
           count(report::to_html(page), "<section id=\"cells\" hidden>");
  };
  CHECK(hidden(page_of("plain")) == 0);
  CHECK(hidden({"Penstock: validation", {}, {}, {}}) == 2);
}

TEST_CASE("a section has its data only where there is any") {
  report::Page page = page_of("plain");
  CHECK(count(report::to_html(page), "text/plain") == 0);
  page.cells.front() = {"QUJD", ""};
  const std::string html = report::to_html(page);
  CHECK(count(html, "<script type=\"text/plain\">QUJD</script>") == 1);
  CHECK(count(html, "<p class=\"note\">plain</p>") == 0);
}

TEST_CASE("the further axes of an experiment have a column, and are part of a section's heading") {
  report::Page page = page_of("plain");
  CHECK(count(report::to_html(page), ">Setting</button>") == 0);
  page.results.rows.front().setting = "network=fifo";
  const std::string html = report::to_html(page);
  CHECK(count(html, ">Setting</button>") == 1);
  CHECK(count(html, "<td>network=fifo</td><td>plain</td>") == 1);
  CHECK(count(html, "<h3>plain · 4 devices of plain · mini-batch 32 · network=fifo · plain</h3>") == 1);
  CHECK(count(html, "\"setting\": \"network=fifo\"") == 1);
}

TEST_CASE("a cell that has its date says when and on what it was searched") {
  report::Page page = page_of("plain");
  CHECK(count(report::to_html(page), "Searched") == 0);
  page.results.rows.front().date = "2000-01-01";
  page.results.rows.front().hardware = "a machine";
  CHECK(count(report::to_html(page), " Searched 2000-01-01 on a machine.</p>") == 1);
}
