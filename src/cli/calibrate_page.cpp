#include "calibrate_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "penstock/cost/cold_share.hpp"
#include "penstock/report/log_chart.hpp"

namespace penstock::cli {
namespace {

using cost::Calibration;
using report::ChartSeries;

constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>*{{box-sizing:border-box}}body{{font:15px/1.45 system-ui,\"DejaVu "
    "Sans\",Verdana,Helvetica,Arial,sans-serif;max-width:1400px;margin:0 "
    "auto;padding:1rem;color:#1c1f23;background:#fff}}"
    "h1{{font-size:1.6rem;margin:0}}h2{{font-size:1.25rem;margin:1.6rem 0 .3rem}}"
    "pre{{overflow-x:auto;background:#f3f5f7;padding:.6rem;margin:.3rem 0;font-size:13px}}"
    ".words{{white-space:pre-wrap;overflow-wrap:anywhere}}"
    ".picture{{overflow-x:auto}}svg{{display:block;width:100%;max-width:790px;min-width:600px;height:auto}}"
    "@page{{margin:12mm}}@media print{{*{{print-color-adjust:exact}}body{{padding:0;font-size:11px}}"
    "pre{{font-size:7px;white-space:pre-wrap}}.words{{font-size:9px}}svg{{min-width:0;width:70%}}"
    ".picture{{break-inside:avoid}}h2{{break-after:avoid;margin-top:.8rem}}}}</style></"
    "head>\n<body>\n<h1>{0}</h1>\n";

std::string html(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  return out;
}

/// Lines of words are folded to the page, those of a table are not.
bool is_table(const std::string& text) {
  return text.find("\n--") != text.npos || text.starts_with("--");
}

/// A straight line bends on logarithmic axes.
void add_line(const cost::LinkSegment& segment, ChartSeries& out) {
  constexpr int kSteps = 16;
  const double from = std::max(1.0, static_cast<double>(segment.from.value())),
               to = std::max(from, static_cast<double>(segment.to.value()));
  for (int step = 0; step <= kSteps; ++step) {
    const double size = from * std::pow(to / from, step / static_cast<double>(kSteps));
    const double time = segment.latency.value + size * segment.per_byte.value;
    if (time > 0) out.line.emplace_back(size, time * 1e6);
  }
}

/// Time of messages by size, and the lines fitted through them.
std::vector<ChartSeries> links(const Calibration& c) {
  std::vector<ChartSeries> out;
  for (const cost::MeasuredLink& link : c.links) {
    ChartSeries one{
        fmt::format("{}{}", name(link.kind), link.ranks > 1 ? fmt::format(", {} ranks", link.ranks) : ""),
        {}};
    for (const cost::LinkPoint& point : link.points)
      if (point.bytes.value() > 0)
        one.points.emplace_back(static_cast<double>(point.bytes.value()), point.time.median.value() * 1e6);
    for (const cost::LinkSegment& segment : link.segments) add_line(segment, one);
    if (!one.points.empty()) out.push_back(std::move(one));
  }
  return out;
}

/// By kind of operator, the rate that each kernel reached by its FLOPs.
std::vector<ChartSeries> kernels(const Calibration& c) {
  std::map<std::string, ChartSeries> by_kind;
  for (const cost::MeasuredKernel& kernel : c.kernels)
    for (const cost::KernelPoint& point : kernel.points) {
      const double flops = kernel.work.flops[static_cast<std::size_t>(point.pass)].value() *
                           static_cast<double>(point.samples);
      const double time = point.back_to_back.median.value();
      if (flops <= 0 || time <= 0) continue;
      ChartSeries& one = by_kind[std::string(name(kernel.key.kind))];
      one.points.emplace_back(flops * 1e-9, flops / time * 1e-9);
    }
  std::vector<ChartSeries> out;
  for (auto& [kind, one] : by_kind) {
    one.name = fmt::format("{}: {} points", kind, one.points.size());
    out.push_back(std::move(one));
  }
  return out;
}

/// Whole models beside the estimate from their kernels; the line is where both are equal.
std::vector<ChartSeries> models(const Calibration& c) {
  ChartSeries out{"models", {}};
  const double share = cost::cold_share(c.models);
  double least = 0, most = 0;  // of both axes
  for (const cost::ModelSum& run : c.models) {
    const double measured = run.whole.median.value() * 1e3,
                 estimated = cost::at_share(run.cold_sum, run.back_to_back_sum, share).value() * 1e3;
    if (measured <= 0 || estimated <= 0) continue;
    out.points.emplace_back(measured, estimated);
    const double smaller = std::min(measured, estimated);
    least = least == 0 ? smaller : std::min(least, smaller);
    most = std::max({most, measured, estimated});
  }
  if (out.points.empty()) return {};
  constexpr double kBeyond = 1.5;  // a single model has a line too
  out.line = {{least / kBeyond, least / kBeyond}, {most * kBeyond, most * kBeyond}};
  return {std::move(out)};
}

std::string picture(const char* title, const char* x, const char* y, std::vector<ChartSeries> series) {
  if (series.empty()) return "";
  return "<div class=\"picture\">" + report::log_chart_svg({title, x, y, std::move(series)}) + "</div>\n";
}

}  // namespace

std::string calibration_page(const Calibration& calibration, const PageTexts& texts) {
  std::string out = fmt::format(fmt::runtime(kHead), html("Calibration of " + calibration.identity.device));
  for (const auto& [title, text] : texts)
    if (!text.empty())
      out += fmt::format("<h2>{}</h2>\n<pre{}>{}</pre>\n", html(title),
                         is_table(text) ? "" : " class=\"words\"", html(text));
  out += "<h2>Pictures</h2>\n";
  out += picture("Kernels, back to back", "GFLOP of one pass", "GFLOP/s", kernels(calibration));
  out += picture("Messages: points measured, lines fitted", "bytes", "us", links(calibration));
  out += picture("Whole models: on the line estimates are right", "measured, ms",
                 "estimated from kernels, ms", models(calibration));
  return out + "</body></html>\n";
}

}  // namespace penstock::cli
