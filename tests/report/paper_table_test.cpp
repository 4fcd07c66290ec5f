#include "penstock/report/paper_table.hpp"

#include <doctest/doctest.h>

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
  CHECK(to_markdown(rows) ==
        "| model | cluster | devices | mini-batch | planner | samples/s | PP | DP | TP | ZeRO | recompute | "
        "micro-batch | schedule | TFLOP/s/GPU | MFU | bubble | gap | peak memory |\n"
        "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | "
        "---: | "
        "---: | ---: | ---: |\n"
        "| mmt | summit | 8 | 128 | graphpipe | 136.6 | 3 | 1-4 | 1 | 0 | 2/3 | 2-8 | 1f1b | 6.50 | 41.4% | "
        "13.7% | 25.5% | 1.50 GiB |\n"
        "| a\\|b\\_\\<c\\> |  | 0 | 0 |  | infeasible | - | - | - | - | - | - | - | - | - | - | - | - |\n");
}

TEST_CASE("LaTeX: a booktabs tabular in which nothing of a name is a command") {
  const std::vector rows{good(), bad("\\a_{b}%$#&~^<>")};
  CHECK(to_latex(rows) ==
        "\\begin{tabular}{llrrlrrrrrrrlrrrrr}\n\\toprule\n"
        "model & cluster & devices & mini-batch & planner & samples/s & PP & DP & TP & ZeRO & recompute & "
        "micro-batch & schedule & TFLOP/s/GPU & MFU & bubble & gap & peak memory \\\\\n\\midrule\n"
        "mmt & summit & 8 & 128 & graphpipe & 136.6 & 3 & 1-4 & 1 & 0 & 2/3 & 2-8 & 1f1b & 6.50 & 41.4\\% & "
        "13.7\\% & 25.5\\% & 1.50 GiB \\\\\n"
        "\\textbackslash{}a\\_\\{b\\}\\%\\$\\#\\&\\textasciitilde{}\\textasciicircum{}\\textless{}"
        "\\textgreater{} &  & "
        "0 & 0 &  & infeasible & - & - & - & - & - & - & - & - & - & - & - & - \\\\\n"
        "\\bottomrule\n\\end{tabular}\n");
}

TEST_CASE("rows of an experiment with further axes have a column for them, empty where a row has none") {
  CellResult fifo = good();
  fifo.setting = "network=fifo";
  const std::vector rows{fifo, good()};
  CHECK(to_markdown(rows).starts_with(
      "| model | cluster | devices | mini-batch | setting | planner | samples/s | PP |"));
  CHECK(to_markdown(rows).find("\n| mmt | summit | 8 | 128 | network=fifo | graphpipe | 136.6 | 3 |") !=
        std::string::npos);
  CHECK(to_markdown(rows).find("\n| mmt | summit | 8 | 128 |  | graphpipe | 136.6 | 3 |") !=
        std::string::npos);
  CHECK(to_latex(rows).starts_with("\\begin{tabular}{llrrllrrrrrrrlrrrrr}\n"));
}
