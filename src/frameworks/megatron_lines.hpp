#pragma once
// Lines of a bash array that Megatron-LM is given, and values that it has no argument for.

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "writers.hpp"

namespace penstock::frameworks {

class MegatronLines {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    text_ += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  /// Lists a value that has no argument.
  void leave_out(std::string what) { left_out_.push_back(std::move(what)); }
  std::string text() { return std::move(text_); }
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::string text_;
  std::vector<std::string> left_out_;
};

/// Arguments of the families that pretrain_gpt.py builds. Values of any other model are left out.
void add_megatron_model(MegatronLines& out, const Handover& handover);

/// Parts of a model of family `decoder` that Megatron-core 0.19 has no words for; none of other families.
std::vector<std::string> megatron_unknown_parts(const plan::ModelRef& model);

}  // namespace penstock::frameworks
