#pragma once
// --page FILE: an answer as one HTML page.

#include <string>

#include "command.hpp"
#include "penstock/report/page.hpp"

namespace penstock::cli {

class PageOutput {
 public:
  void add(CLI::App& command);
  bool given() const { return !file_.empty(); }
  void check(
      bool force) const;  ///< throws, unless forced, where a file that is no page of Penstock's would be lost
  void write(const report::Page& page) const;

 private:
  std::string file_;
};

}  // namespace penstock::cli
