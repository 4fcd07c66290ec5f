#pragma once
// Cluster files that the program brings along: those of experiments/clusters, as text.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

struct BuiltIn {
  std::string name;       ///< as the file's, without its ending
  std::string_view text;  ///< the file
  /// The first sentence of the comment at the file's head.
  std::string summary() const;
};

/// All built-in clusters, in the order of their names.
const std::vector<BuiltIn>& catalogue();

/// Without '.' and '/' it is the name of a cluster, else of a file.
bool is_file_name(std::string_view name);

/// Text of a cluster that is built in, of a short form (short_form.hpp), or of a file. Throws BadInput where
/// there is none of that name.
std::string cluster_text(const std::string& name);

}  // namespace penstock::cluster
