// penstock import kernels: public tables of kernel times become costs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import_command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/plausible.hpp"
#include "penstock/experiment/simumax_system.hpp"
#include "penstock/report/csv_record.hpp"

namespace penstock::cli {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

struct ImportKernelsFlags {
  std::vector<std::string> files;
  std::string output, device;
};

/// Content of all files together.
struct KernelTables {
  std::string device;
  std::vector<cost::ProductTime> products, grouped;
  std::vector<cost::AttentionTime> attention;
  std::vector<cluster::CollectiveTime> collectives;
  std::optional<cost::StreamingTime> streaming;
  std::size_t others = 0;  ///< rows of other numbers, or of attention that shares keys or slides a window
};

/// Milliseconds, of so many FLOPs on the tables' device.
double latency(const report::CsvRecord& row, double flops, const KernelTables& tables) {
  const double seconds = row.positive("latency") * 1e-3;
  for (const std::string& wrong : {cost::above_peak(flops, seconds, tables.device),
                                   cost::below_any_kernel(seconds), cost::above_any_kernel(seconds)})
    if (!wrong.empty()) row.fail("latency", "expected milliseconds; this is " + wrong);
  return seconds;
}

void take_product(const report::CsvRecord& row, KernelTables& tables) {
  if (row.text("gemm_dtype") != "bfloat16") {
    ++tables.others;
    return;
  }
  const auto size = [&](const char* column) { return row.count(column, 1, kMostBytes); };
  cost::ProductTime out{size("m"), size("n"), size("k"), 0};
  out.seconds = latency(row, cost::least_flops(out), tables);
  tables.products.push_back(out);
}

void take_attention(const report::CsvRecord& row, KernelTables& tables) {
  const auto size = [&](const char* column) { return row.count(column, 1, kMostBytes); };
  const std::int64_t heads = size("num_heads"), shared = row.count("num_key_value_heads", 0, kMostBytes);
  // Generation is of one new token over all keys that are kept, which no training step has. Keys and values
  // that are kept in other numbers take another time.
  const bool context = !row.has("op_name") || !row.text("op_name").starts_with("generation"),
             cache = !row.has("kv_cache_dtype") || row.text("kv_cache_dtype") == "bfloat16",
             windows = row.has("window_size") && row.count("window_size", 0, kMostBytes) > 0;
  const bool plain = context && cache && !windows && row.text("attn_dtype") == "bfloat16" &&
                     (shared == 0 || shared == heads);
  if (!plain) {
    ++tables.others;
    return;
  }
  cost::AttentionTime out{size("batch_size"), size("isl"), heads, size("head_dim"), 0};
  out.seconds = latency(row, cost::least_flops(out), tables);
  tables.attention.push_back(out);
}

/// Counted in numbers of two bytes; AIConfigurator's word for an all-to-all is one word.
void take_collective(const report::CsvRecord& row, KernelTables& tables) {
  if (row.text("nccl_dtype") != "half") {
    ++tables.others;
    return;
  }
  const std::string kind = row.word("op_name", {"all_reduce", "all_gather", "reduce_scatter", "alltoall"});
  const cluster::CollectiveTime out{cluster::collective_kind(kind == "alltoall" ? "all_to_all" : kind),
                                    row.count("num_gpus", 2, kMostBytes),
                                    2 * row.count("message_size", 1, kMostBytes / 2),
                                    row.positive("latency") * 1e-3};
  if (const auto wrong = cost::above_any_kernel(out.seconds); !wrong.empty())
    row.fail("latency", "expected milliseconds; this is " + wrong);
  if (const auto wrong = cost::above_link_bandwidth(cost::least_sent(out), out.seconds); !wrong.empty())
    row.fail("latency", "expected milliseconds; this is " + wrong);
  tables.collectives.push_back(out);
}

/// All files are of one device.
void take_device(const std::string& device, KernelTables& tables, const auto& refuse) {
  if (tables.device.empty()) tables.device = device;
  if (device != tables.device) refuse(fmt::format("'{}' in a table of '{}'", device, tables.device));
}

void take_system(const std::string& file, KernelTables& tables) {
  const auto system = experiment::parse_simumax_system(core::read_file(file), file);
  take_device(system.costs.device(), tables, [&](const std::string& why) {
    throw core::BadInput({file, 0, "sys_name"}, why);
  });
  const auto& products = system.costs.products();
  const auto& attention = system.costs.attention();
  const auto& grouped = system.costs.grouped();
  tables.grouped.insert(tables.grouped.end(), grouped.begin(), grouped.end());
  tables.products.insert(tables.products.end(), products.begin(), products.end());
  tables.attention.insert(tables.attention.end(), attention.begin(), attention.end());
  if (const auto& found = system.costs.streaming())  // of two the slower
    tables.streaming = tables.streaming
                           ? cost::StreamingTime{std::min(tables.streaming->bandwidth, found->bandwidth),
                                                 std::max(tables.streaming->latency, found->latency)}
                           : *found;
  tables.others += system.left_out;
}

void take(const std::string& file, KernelTables& tables) {
  if (file.ends_with(".json")) return take_system(file, tables);
  const std::string text = core::read_file(file);
  if (text.starts_with("PAR1"))
    throw core::BadInput(
        {file, 0, ""},
        "a Parquet file: expected CSV (penstock import kernels --help shows how to convert it)");
  const auto rows = report::csv_records(text, file);
  if (rows.empty()) throw core::BadInput({file, 1, ""}, "expected rows below a header");
  for (const report::CsvRecord& row : rows) {
    if (row.has("device"))
      take_device(row.text("device"), tables, [&](const std::string& why) { row.fail("device", why); });
    if (row.has("nccl_dtype"))
      take_collective(row, tables);
    else
      row.has("gemm_dtype") ? take_product(row, tables) : take_attention(row, tables);
  }
}

core::ExitCode run(const ImportKernelsFlags& flags) {
  KernelTables tables;
  tables.device = flags.device;
  for (const std::string& file : flags.files) take(file, tables);
  if (tables.device.empty())
    throw core::BadInput(
        fmt::format("{}: no table has the column device: name it by --device", fmt::join(flags.files, ", ")));
  if (tables.products.empty())
    throw core::BadInput(fmt::format("{}: no product in bfloat16", fmt::join(flags.files, ", ")));
  double best = 0;
  for (const cost::ProductTime& product : tables.products)
    if (const double flops = cost::least_flops(product); flops >= cost::kLargeFlops)
      best = std::max(best, flops / product.seconds);
  if (const auto wrong = cost::far_below_peak(best, tables.device); !wrong.empty())
    throw core::BadInput(fmt::format("{}: latency: expected milliseconds; products reach {}",
                                     fmt::join(flags.files, ", "), wrong));
  const cost::TableCosts costs(tables.device, std::move(tables.products), std::move(tables.attention),
                               tables.streaming, std::move(tables.collectives), std::move(tables.grouped));
  core::write_file(flags.output, cost::to_yaml(costs));
  const std::size_t collectives = costs.collectives() ? costs.collectives()->rows().size() : 0;
  print(fmt::format("{}: {} products{}, {} of attention{}; {} rows left out\n", costs.device(),
                    costs.products().size(),
                    costs.grouped().empty() ? "" : fmt::format(", {} grouped", costs.grouped().size()),
                    costs.attention().size(),
                    collectives > 0 ? fmt::format(", {} collectives", collectives) : "", tables.others));
  return core::ExitCode::done;
}

}  // namespace

void add_import_kernels(CLI::App& import, Action& action) {
  auto* command = import.add_subcommand("kernels", "Read public tables of kernel times.");
  command->footer(
      "Reads the tables of ai-dynamo/aiconfigurator as CSV: of products the columns device, gemm_dtype, m, "
      "n, k "
      "and latency (ms); of attention device, attn_dtype, batch_size, isl, num_heads, num_key_value_heads, "
      "head_dim and latency, and where they are there op_name, window_size and kv_cache_dtype (attention of "
      "contexts, "
      "without windows, whose keys are kept in bfloat16); of NCCL device, op_name, nccl_dtype, num_gpus, "
      "message_size and "
      "latency. Rows in bfloat16, of NCCL in half, are kept. Their Parquet files become CSV by\n"
      "  python3 -c \"import sys, pandas; pandas.read_parquet(sys.argv[1]).to_csv(sys.argv[2], "
      "index=False)\" A B\n"
      "A file that ends in .json is a system of MooreThreads/SimuMax (configs/system): its products, grouped "
      "ones and attention by exact shape.\n"
      "Of two times of one shape the slower one counts.\n\n"
      "Example:\n"
      "  penstock import kernels a100_gemm.csv a100_attention.csv -o a100_tables.yaml\n"
      "  penstock plan --model gpt -p element_bytes=2 --cluster dgx_a100 --mini-batch 64 \\\n"
      "      --costs a100_tables.yaml");
  auto flags = std::make_shared<ImportKernelsFlags>();
  command->add_option("TABLE", flags->files, "tables of one device")->required()->type_name("CSV|JSON");
  command
      ->add_option("--device", flags->device,
                   "name of the tables' device, for tables without the column; others must have this one")
      ->type_name("NAME");
  command->add_option("-o,--output", flags->output, "the costs file")->required()->type_name("FILE");
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
