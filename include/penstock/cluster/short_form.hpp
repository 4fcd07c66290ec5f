#pragma once
// A cluster in one word: 8xH100x32 is 32 nodes of 8 H100.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

/// A GPU that can be rented, with what its servers usually have around it. Numbers are rates of a data sheet
/// without sparsity.
struct Rented {
  std::string_view name;     ///< as the short form calls it
  std::string_view type;     ///< of the cluster file, by which costs know it
  std::string_view sheet;    ///< of the type, as the cluster file states it
  std::string_view link;     ///< of a device to its node's switch, likewise
  int adapter;               ///< bandwidth of its share of network adapters, MB/s
  int most;                  ///< devices that one switch joins
  std::string_view summary;  ///< in words
  std::string_view source;
};

const std::vector<Rented>& rented();

struct ShortForm {
  int devices = 0;  ///< of a node
  const Rented* type = nullptr;
  int nodes = 1;
  bool rails = false;  ///< each device's adapter stands on a switch of its own number
};

/// "8xH100x32": devices of a node, their name, nodes (one where left out); with "-rails" behind it their
/// adapters stand on one switch for each number of a device. Letters of a name may be small. Nothing for a
/// text that does not begin as one, a number and an x. Throws BadInput for an unknown name, and for more
/// devices than there are or a node takes.
std::optional<ShortForm> parse_short_form(std::string_view text);

/// The cluster file that it stands for; all adapters of a node are one uplink, unless they are on rails.
std::string to_yaml(const ShortForm& form, std::string_view name);

}  // namespace penstock::cluster
