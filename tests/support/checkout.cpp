#include "support/checkout.hpp"

namespace penstock::support {

std::string checkout(const std::string& below) {
  return PENSTOCK_SOURCE + below;
}

}  // namespace penstock::support
