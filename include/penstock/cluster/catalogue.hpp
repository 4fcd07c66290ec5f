#pragma once
// Built-in cluster files: the text of those in experiments/clusters.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

struct BuiltIn {
  std::string name;       ///< name of the file without its extension
  std::string_view text;  ///< content of the file
  /// Returns the first sentence of the comment at the head of the file.
  std::string summary() const;
};

/// All built-in clusters, sorted by name.
const std::vector<BuiltIn>& catalogue();

/// True if `name` contains '.' or '/'; otherwise it names a cluster.
bool is_file_name(std::string_view name);

/// Returns the text of a built-in cluster, of a short form (short_form.hpp), or of a file. Throws BadInput if
/// there is none of that name.
std::string cluster_text(const std::string& name);

}  // namespace penstock::cluster
