#pragma once
// Electric power of devices.

#include <optional>
#include <string_view>

namespace penstock::cluster {

/// Maximum power of a device by its data sheet, in watts.
struct DevicePower {
  std::string_view type;  ///< name of the device type in cluster files and short forms, in lower case
  double watts;
  std::string_view source;
};

/// By the type's name, upper or lower case. None: no data sheet states it, or it was not checked.
std::optional<DevicePower> data_sheet_power(std::string_view type);

}  // namespace penstock::cluster
