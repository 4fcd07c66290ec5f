#include "penstock/report/paper_table.hpp"

#include <doctest/doctest.h>

#include "penstock/report/column_choice.hpp"
#include "penstock/report/comparison.hpp"

using namespace penstock::report;

namespace {

CellResult good() {
  CellResult row;
  row.model = "mmt";
  row.cluster = "summit";
  row.devices = 8;
  row.planner = "graphpipe";
  row.mini_batch = 128;
  row.pipeline_parallel = row.stages = 3;
  row.data_parallel = {1, 4}, row.tensor_parallel = {1, 1}, row.zero = {0, 0}, row.recompute = 2;
  row.micro_batch = {2, 8}, row.schedule = "1f1b";
  row.tflops_per_device = 6.5, row.mfu = 0.414;
  row.samples_per_s = 136.64;
  row.bubble = 0.137;
  row.gap = 0.2553;
  row.peak_memory_bytes = std::int64_t{3} << 29;
  row.status = "ok";
  return row;
}

CellResult bad(const char* model) {
  CellResult row;
  row.model = model;
  row.status = "infeasible: no room";
  return row;
}

}  // namespace

TEST_CASE("Markdown: one line per row, numbers to the right, a reason instead of a throughput") {
  const std::vector rows{good(), bad("a|b_<c>")};
  CHECK(to_markdown(rows, {"model", "devices", "samples_per_s", "data_parallel", "mfu"}) ==
        "| Model | Devices | Samples/s | DP | MFU |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| mmt | 8 | 136.6 | 1-4 | 41.4% |\n"
        "| a\\|b\\_\\<c\\> | 0 | infeasible | - | - |\n");
}

TEST_CASE("LaTeX: a booktabs tabular in which nothing of a name is a command") {
  const std::vector rows{good(), bad("\\a_{b}%$#&~^<>")};
  CHECK(to_latex(rows, {"model", "samples_per_s", "tflops_per_device", "bubble", "peak_memory_bytes"}) ==
        "\\begin{tabular}{lrrrr}\n\\toprule\n"
        "Model & Samples/s & TFLOP/s per GPU & Bubble & Memory \\\\\n\\midrule\n"
        "mmt & 136.6 & 6.50 & 13.7\\% & 1.50 GiB \\\\\n"
        "\\textbackslash{}a\\_\\{b\\}\\%\\$\\#\\&\\textasciitilde{}\\textasciicircum{}\\textless{}"
        "\\textgreater{} & infeasible & - & - & - \\\\\n"
        "\\bottomrule\n\\end{tabular}\n");
}

TEST_CASE("a paper gets at most nine columns; values that all rows share are written once") {
  CellResult other = good();
  other.planner = "spp";
  other.samples_per_s = 68.32;
  std::vector rows{other, good()};
  add_ratios(rows, "spp");
  const std::string latex = to_latex(rows);
  CHECK(
      latex.starts_with("% The same in all rows: cluster summit, devices 8, mini-batch 128.\n"
                        "\\begin{tabular}{llrrlrrrr}\n\\toprule\n"
                        "Model & Planner & Samples/s & Ratio & Plan & MFU & Memory & Bubble & Gap \\\\\n"));
  CHECK(latex.find("mmt & graphpipe & 136.6 & 2.00x & ") != std::string::npos);
  CHECK(latex.find("mmt & spp & 68.3 & - & ") != std::string::npos);
  CHECK(to_markdown(rows).ends_with("\nThe same in all rows: cluster summit, devices 8, mini-batch 128.\n"));
}

TEST_CASE(
    "what tells rows apart has a column: devices and settings, not a mini-batch that grows with devices") {
  CellResult larger = good(), fifo = good();
  larger.devices = 16, larger.mini_batch = 256;
  fifo.setting = "network=fifo";
  const std::vector names = paper_columns(std::vector{good(), larger, fifo});
  CHECK(std::vector(names.begin(), names.begin() + 4) ==
        std::vector<std::string>{"model", "devices", "setting", "planner"});
  CHECK(names.size() <= 9);
  CellResult more = good();
  more.mini_batch = 512;
  CHECK(paper_columns(std::vector{good(), more}).at(1) == "mini_batch");
}
