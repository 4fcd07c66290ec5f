#pragma once
// Made-up measurements of small training runs.

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penstock::support {

/// One record per map of differences from a GPT of 4 layers on 2 x 2 devices; columns that are not read are
/// there too. The id counts rows from 1.
inline std::string published_csv(const std::vector<std::map<std::string, std::string>>& rows) {
  static const std::vector<std::pair<std::string, std::string>> usual = {{"set", "made_up"},
                                                                         {"id", "1"},
                                                                         {"note", "none"},
                                                                         {"group", "g"},
                                                                         {"cluster", "summit"},
                                                                         {"devices", "4"},
                                                                         {"layers", "4"},
                                                                         {"hidden", "64"},
                                                                         {"heads", "4"},
                                                                         {"kv_heads", "4"},
                                                                         {"ffn", "256"},
                                                                         {"sequence", "32"},
                                                                         {"vocabulary", "96"},
                                                                         {"block", "gpt"},
                                                                         {"positions", "table"},
                                                                         {"attention", "plain"},
                                                                         {"element_bytes", "2"},
                                                                         {"layers_per_stage", ""},
                                                                         {"tp", "2"},
                                                                         {"pp", "2"},
                                                                         {"dp", "1"},
                                                                         {"cp", "1"},
                                                                         {"ep", "1"},
                                                                         {"vpp", "1"},
                                                                         {"parameters", ""},
                                                                         {"micro_batch", "1"},
                                                                         {"mini_batch", "8"},
                                                                         {"schedule", "1f1b"},
                                                                         {"recompute", "full"},
                                                                         {"zero", "0"},
                                                                         {"ignored", ""},
                                                                         {"measured_s", "0.5"},
                                                                         {"measured_gib", ""}};
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string text;
    for (const auto& [column, value] : usual) text += (text.empty() ? "" : ",") + cell(column, value);
    out += text + "\n";
  };
  line([](const std::string& column, const std::string&) { return column; });
  int number = 0;
  for (const auto& row : rows) {
    const std::string id = std::to_string(++number);
    line([&](const std::string& column, const std::string& value) {
      return row.contains(column) ? row.at(column) : column == "id" ? id : value;
    });
  }
  return out;
}

}  // namespace penstock::support
