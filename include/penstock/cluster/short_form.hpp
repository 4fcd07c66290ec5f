#pragma once
// A cluster in one word: 8xH100x32 is 32 nodes of 8 H100.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

/// A GPU that can be rented, with the usual hardware of its servers. Rates are those of the data sheet,
/// without sparsity.
struct RentedGpu {
  std::string_view name;     ///< name in the short form
  std::string_view type;     ///< name of the type in the cluster file; costs look it up
  std::string_view sheet;    ///< data sheet of the type, as YAML of the cluster file
  std::string_view link;     ///< link from a device to the switch of its node, as YAML of the cluster file
  int adapter;               ///< bandwidth of the network adapters, MB/s per device
  int most;                  ///< maximum number of devices that one switch joins
  std::string_view summary;  ///< one line in words
  std::string_view source;
};

const std::vector<RentedGpu>& rented();

struct ShortForm {
  int devices = 0;  ///< devices per node
  const RentedGpu* type = nullptr;
  int nodes = 1;
  bool rails = false;  ///< each device's adapter connects to the switch of its number
};

/// Parses "8xH100x32": devices per node, name, number of nodes (default 1). The suffix "-rails" connects
/// adapters to one switch per device number. Case of names does not matter. Returns nothing if the text does
/// not begin with a number and an x. Throws BadInput for an unknown name, for too many devices in total, or
/// for more than a node takes.
std::optional<ShortForm> parse_short_form(std::string_view text);

/// Returns the equivalent cluster file. All adapters of a node form one uplink unless `rails` is set.
std::string to_yaml(const ShortForm& form, std::string_view name);

}  // namespace penstock::cluster
